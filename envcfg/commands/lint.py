"""``envcfg lint``: what is wrong in job scripts, rank wrappers and environments."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from envcfg.characters import one_line
from envcfg.commands.formats import format_option, put_result
from envcfg.commands.options.option import add_option
from envcfg.errors import UsageError, suggest
from envcfg.parser import Formatter

if TYPE_CHECKING:
    from envcfg.lint.model import Model
    from envcfg.lint.source import Sources
    from envcfg.profile.model import Profile

_EPILOG = """\
examples:
  envcfg lint job.sh
  envcfg lint job.sh launch.sh              # read together, as one starts the other
  envcfg lint --profile lumi-g jobs/        # all scripts of a folder, with what LUMI needs
  env | envcfg lint -                       # an environment
  envcfg lint --select EC4 --ignore EC419 job.sh
  envcfg lint --format github *.sbatch      # in a workflow of GitHub's

A comment on the line, or alone on the line above, leaves a finding out:
  # envcfg: ignore EC419

exit codes: 0 nothing is wrong, 1 a warning or an error, 4 a file cannot be read
"""


def add_parser(commands: argparse._SubParsersAction[Any]) -> None:
    """Add the options of ``lint``."""
    parser = commands.add_parser(
        "lint",
        help="find what is wrong in job scripts, rank wrappers and environments",
        description=(
            "Find what is wrong in job scripts, rank wrappers and environments, and "
            "say why. Nothing is run; what a script does not show itself is not guessed."
        ),
        usage="envcfg lint FILE|FOLDER|-... [--profile NAME|FILE] [options]",
        epilog=_EPILOG,
        formatter_class=Formatter,
        allow_abbrev=False,
    )
    parser.add_argument(
        "files",
        metavar="FILE",
        nargs="+",
        help="script, output of env, folder, or - for standard input",
    )
    parser.add_argument(
        "--profile",
        metavar="NAME|FILE",
        help="the system (default: the one of which the scripts show two signs, if any)",
    )
    for name, what in (("select", "only rules"), ("ignore", "no rules")):
        parser.add_argument(
            f"--{name}",
            metavar="RULE[,RULE...]",
            action="append",
            default=[],
            help=f"{what} with these names, or that begin so",
        )
    add_option(parser, format_option("what to print (default: text)", default="text"))
    parser.add_argument(
        "--json",
        action="store_const",
        const="json",
        dest="format",
        help="as --format json",
    )


def run(
    options: argparse.Namespace, more: Sequence[str] | None, _: Sequence[str]
) -> int:
    """Read the scripts, and print what is wrong."""
    from envcfg.lint.judge import judge
    from envcfg.lint.rule import chosen, load_rules
    from envcfg.lint.source import Sources, read_sources
    from envcfg.report.findings import Result

    if more:
        msg = "envcfg lint runs no command"
        raise UsageError(msg, hint=f"leave out -- {more[0]}")
    select, ignore = _rules(options.select), _rules(options.ignore)
    sources = Sources()
    given = read_sources(options.files, sources)
    profile_of = _profiles(options.profile, sources)
    rules = chosen(load_rules(), select, ignore)
    found = judge(given, sources, rules=rules, profile_of=profile_of)
    result = Result({path: [r.finding for r in each] for path, each in found.items()})
    return put_result(result, options.format, strict=True)


def _rules(given: Sequence[str]) -> list[str]:
    from envcfg.lint.rule import load_rules

    names = [each.strip() for text in given for each in text.split(",") if each.strip()]
    rules = load_rules()
    known = [*rules, *(each.name for each in rules.values())]
    for name in names:
        if not any(each.startswith(name) for each in known):
            msg = f"there is no rule {name!r}"
            raise UsageError(msg, hint=suggest(name, known))
    return names


def _profiles(name: str | None, sources: Sources) -> Callable[[Model], Profile | None]:
    """Return what says for which system a script is: the one given, or by its signs."""
    from envcfg.commands.options.selection import open_catalog
    from envcfg.lint.system import recognise

    catalog = open_catalog(enforce=False)
    if name is not None:
        given = catalog.load(name)
        return lambda _: given
    known: dict[str, Profile] = {}

    def find(model: Model) -> Profile | None:
        found = recognise([each for each in sources.all if each.base in model.read])
        if found is None or found.profile not in catalog.names():
            return None
        if found.profile not in known:
            known[found.profile] = catalog.load(found.profile)
        signs = ", ".join(found.signs)
        said = f"{one_line(model.path)} is for {found.profile}, by {signs}"
        sys.stderr.write(f"envcfg: note: {said}; --profile says otherwise\n")
        return known[found.profile]

    return find
