"""The options that select the rules of lint, on the command line and in files."""

from functools import partial

from envcfg.core.option import Option, Table
from envcfg.core.option_values import read_pair

RULES = "RULE[,RULE...]"
_rules = partial(Option, kind="many", metavar=RULES)
LINT: Table = {
    "which rules count": (
        _rules("--select", "only rules with these names, or that begin so"),
        _rules("--ignore", "no rules with these names, or that begin so"),
        Option(
            "--per-file-ignore",
            "no such rules in files of this name, or path: 'tests/*.sh=EC106'",
            kind="many",
            metavar=f"GLOB={RULES}",
            read=read_pair,
            write="=".join,
        ),
    )
}
