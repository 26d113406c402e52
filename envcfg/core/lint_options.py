"""The options that select the rules of lint, on the command line and in files."""

from functools import partial

from envcfg.core.option import Option, Table

_rules = partial(Option, kind="many", metavar="RULE[,RULE...]")
LINT: Table = {
    "which rules count": (
        _rules("--select", "only rules with these names, or that begin so"),
        _rules("--ignore", "no rules with these names, or that begin so"),
    )
}
