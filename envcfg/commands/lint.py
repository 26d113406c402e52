"""``envcfg lint``: what is wrong in job scripts, rank wrappers and environments."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from envcfg.budget import Budget
from envcfg.characters import one_line
from envcfg.commands.formats import add_format, put_result
from envcfg.commands.printing import say
from envcfg.errors import UsageError, suggest
from envcfg.findings import Finding, exit_code
from envcfg.parser import Formatter

if TYPE_CHECKING:
    from envcfg.lint.model import Model
    from envcfg.lint.source import Sources
    from envcfg.profile.model import Profile
    from envcfg.report.findings import Result

    ProfileOf = Callable[[Sources], Callable[[Model], Profile | None]]

_EPILOG = """\
examples:
  envcfg lint job.sh
  envcfg lint job.sh launch.sh              # read together, as one starts the other
  envcfg lint --profile lumi-g jobs/        # all scripts of a folder, with what LUMI needs
  env | envcfg lint -                       # an environment
  envcfg lint --select EC4 --ignore EC419 job.sh
  envcfg lint --diff job.sh                 # what --fix would change
  envcfg lint --fix job.sh
  envcfg lint --format github *.sbatch      # in a workflow of GitHub's

A comment on the line, or alone on the line above, leaves a finding out:
  # envcfg: ignore EC419

exit codes: 0 nothing is wrong (with --fix: is left), 1 a warning or an error,
            4 a file cannot be read or written
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
    for name, what in (
        ("fix", "mend what can be mended without a doubt, in the files themselves"),
        ("diff", "show what --fix would change, and change nothing"),
    ):
        parser.add_argument(f"--{name}", action="store_true", help=what)
    add_format(parser)


def run(
    options: argparse.Namespace, more: Sequence[str] | None, _: Sequence[str]
) -> int:
    """Read the scripts, and print what is wrong."""
    from envcfg.lint.rule import chosen, load_rules
    from envcfg.lint.source import read_files

    if more:
        msg = "envcfg lint runs no command"
        raise UsageError(msg, hint=f"leave out -- {more[0]}")
    _check(options)
    select, ignore = _rules(options.select), _rules(options.ignore)
    rules = chosen(load_rules(), select, ignore)
    profile_of = _profiles(options.profile, sys.stderr.write)
    texts: Mapping[str, bytes] = read_files(options.files)
    if options.fix or options.diff:
        from envcfg.commands.mending import put_mended, read_unlike

        with _budget(texts):
            texts = put_mended(
                read_unlike(texts), rules, profile_of, is_shown=options.diff
            )
    result = _judged(texts, rules, profile_of)
    if options.diff:
        return exit_code(result.all, strict=True)
    if options.fix and "-" in texts:
        say(result.all)
        return exit_code(result.all, strict=True)
    return put_result(result, options.format, strict=True)


def find_faults(
    files: Sequence[str],
    *,
    profile: str | None = None,
    select: Sequence[str] = (),
    ignore: Sequence[str] = (),
) -> Result:
    """Return what is wrong in *files*; nothing is printed.

    Raises:
        UsageError: there is no such rule; also ``ProfileError``.
        OutputError: a file cannot be read.
    """
    from envcfg.lint.rule import chosen, load_rules
    from envcfg.lint.source import read_files

    rules = chosen(load_rules(), _rules(select), _rules(ignore))
    return _judged(read_files(files), rules, _profiles(profile, lambda _: None))


def _judged(
    texts: Mapping[str, bytes], rules: Collection[str], profile_of: ProfileOf
) -> Result:
    from envcfg.lint.judge import judge
    from envcfg.lint.source import Sources
    from envcfg.report.findings import Result

    sources = Sources()
    given = [sources.add(path, data) for path, data in texts.items()]
    with _budget(texts):
        found = judge(given, sources, rules=rules, profile_of=profile_of(sources))
    said = {path: [r.finding for r in each] for path, each in found.items()}
    unread = {each.path: [_unread(each.path)] for each in given if each.kind == "other"}
    return Result(said | unread)


def _budget(texts: Mapping[str, bytes]) -> Budget:
    """Return what reading *texts* may cost: ten times what the largest script takes."""
    what = next(iter(texts)) if len(texts) == 1 else f"{len(texts)} scripts"
    return Budget(what, seconds=30 + len(texts), megabytes=500)


def _unread(path: str) -> Finding:
    message = (
        "nothing in it was looked at: it is no script of bash, and no output of env"
    )
    fix = "give the scripts of bash that the job runs"
    return Finding("not-a-script", "note", path, message, fix)


def _check(options: argparse.Namespace) -> None:
    """See that only one thing goes to stdout."""
    shows = options.diff or (options.fix and "-" in options.files)
    if shows and options.format != "text":
        what = "--diff" if options.diff else "--fix of standard input"
        msg = f"{what} and --format both write to stdout"
        raise UsageError(msg, hint="leave one of them out")
    if options.fix and not options.diff and {"-"} < {*options.files}:
        msg = "--fix writes standard input to stdout, and files in their place"
        raise UsageError(msg, hint="mend one kind at a time")


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


def _profiles(name: str | None, tell: Callable[[str], object]) -> ProfileOf:
    """Return what says for which system a script is: the one given, or by its signs.

    Args:
        name: of the one given.
        tell: takes a line that says by which signs a system was recognised.
    """
    from envcfg.commands.options.selection import open_catalog
    from envcfg.lint.system import recognise

    catalog = open_catalog(enforce=False)
    if name is not None:
        given = catalog.load(name)
        return lambda _: lambda _: given
    known: dict[str, Profile] = {}
    said: set[str] = set()

    def find(sources: Sources, model: Model) -> Profile | None:
        found = recognise([each for each in sources.all if each.base in model.read])
        if found is None or found.profile not in catalog.names():
            return None
        if found.profile not in known:
            known[found.profile] = catalog.load(found.profile)
        if model.path not in said:
            said.add(model.path)
            signs = ", ".join(found.signs)
            what = f"{one_line(model.path)} is for {found.profile}, by {signs}"
            tell(f"envcfg: note: {what}; --profile says otherwise\n")
        return known[found.profile]

    return lambda sources: lambda model: find(sources, model)
