"""``envcfg lint``: what is wrong in job scripts, rank wrappers and environments."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from envcfg.characters import one_line
from envcfg.commands.formats import add_format, put_result
from envcfg.commands.options import add_defaults, use_defaults
from envcfg.commands.printing import say, tell
from envcfg.core.values import read_pair
from envcfg.errors import UsageError
from envcfg.failure import STDOUT, put_stream
from envcfg.findings import Finding, exit_code

if TYPE_CHECKING:
    from envcfg.core.lint import Linter
    from envcfg.lint.mending import Mended, Texts
    from envcfg.parser import Parser

_NEXT = "envcfg wrap --from {files} -o new.sh adds what the system needs to its steps"
_UNENDED = b"\\ No newline at end of file\n"


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``lint``."""
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
    parser.add_argument(
        "--fact",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        type=read_pair,
        help="the system's Slurm, as in slurm=24.05 (default: what scontrol here says)",
    )
    for name, what in (
        ("fix", "repair what is certain, in the files themselves"),
        ("diff", "show what --fix would change, and change nothing"),
    ):
        parser.add_argument(f"--{name}", action="store_true", help=what)
    add_format(parser)
    add_defaults(parser, "profile")


def run(options: argparse.Namespace) -> int:
    """Read the scripts, and print what is wrong."""
    if options.command:
        msg = "envcfg lint runs no command"
        raise UsageError(msg, hint=f"leave out -- {options.command[0]}")
    _check(options)
    from envcfg.lint.source import read_files

    use_defaults(options)
    given = getattr(options, "given", {}).get("profile")
    more = {"select": options.select, "ignore": options.ignore}
    linter = make_linter(
        options, given, dict(options.fact), otherwise=options.profile, **more
    )
    texts: Texts = read_files(options.files)
    if options.diff:
        mended = linter.mend(texts)
        texts = {path: texts[path] for path in mended.texts}
        _show(_difference(texts, mended.texts))
    elif options.fix:
        mended = linter.mend(texts)
        _write(texts, mended)
        texts = mended.texts
    result = linter.judge(texts)
    if options.diff:
        return exit_code(result.all, strict=True)
    if options.fix and "-" in texts:
        say(result.all)
        return exit_code(result.all, strict=True)
    return put_result(result, options.format, strict=True)


def make_linter(
    options: argparse.Namespace,
    profile: str | None,
    facts: Mapping[str, str],
    otherwise: str | None = None,
    **rules: Sequence[str],
) -> Linter:
    """Return what judges scripts here, as a command with these *options* does.

    Args:
        profile: the system; None: as each script shows it.
        facts: what the user knows of it; else this machine is asked.
        otherwise: the system of scripts that do not show theirs.
        rules: those that count, as ``Linter`` takes them.
    """
    from envcfg.core.lint import Linter
    from envcfg.probe.slurm import slurm_version

    return Linter(
        profile=profile,
        otherwise=otherwise,
        facts=facts if "slurm" in facts else {**slurm_version(), **facts},
        tell=tell,
        read_line=partial(_read_line, options.build_parser),
        **rules,
    )


def _read_line(build: Callable[..., Parser], words: Sequence[str]) -> Iterator[Finding]:
    """Yield what is doubtful in a line of envcfg, of which these are the words.

    Raises:
        UsageError: envcfg would refuse it.
    """
    from envcfg.core.step import check_changes

    options = build(words[0]).parse_args(words)
    yield from check_changes(getattr(options, "changes", ()))


def _check(options: argparse.Namespace) -> None:
    """See that only one thing goes to stdout."""
    shows = options.diff or (options.fix and "-" in options.files)
    if shows and options.format != "text":
        what = "--diff" if options.diff else "--fix of standard input"
        msg = f"{what} and --format both write to stdout"
        raise UsageError(msg, hint="leave one of them out")
    if options.fix and not options.diff and {"-"} < {*options.files}:
        msg = "--fix writes standard input to stdout, and files in their place"
        raise UsageError(msg, hint="repair one kind at a time")


def _write(texts: Texts, mended: Mended) -> None:
    """Write the files anew that were mended, and say by which rules.

    Raises:
        OutputError: one cannot be written; then none is.
    """
    from envcfg.safe_output import Output, write_outputs

    for path, counts in mended.rules.items():
        said = ", ".join(
            rule if count == 1 else f"{count} x {rule}"
            for rule, count in sorted(counts.items())
        )
        tell(f"{one_line(path)}: mended {said}")
    write_outputs(
        [
            (Output(path, "--fix", "envcfg lint --fix job.sh", force=True), data)
            for path, data in mended.texts.items()
            if data != texts[path] or path == "-"
        ]
    )


def _difference(before: Texts, after: Texts) -> Iterator[bytes]:
    """Yield the lines of a unified diff, as ``patch`` takes them."""
    from difflib import diff_bytes, unified_diff

    for path, data in before.items():
        if data != after[path]:
            name = one_line(path).encode("utf-8", "surrogateescape")
            old, new = _lines(data), _lines(after[path])
            for line in diff_bytes(unified_diff, old, new, name, name):
                yield line if line.endswith(b"\n") else line + b"\n" + _UNENDED


def _lines(data: bytes) -> list[bytes]:
    lines = [each + b"\n" for each in data.split(b"\n")]
    lines[-1] = lines[-1][:-1]
    return lines if lines[-1] else lines[:-1]


def _show(lines: Iterable[bytes]) -> None:
    if not sys.stdout.isatty():
        sys.stdout.flush()
        put_stream(STDOUT, b"".join(lines))
        return
    from envcfg.report.styled import put

    styles = {b"+": "green", b"-": "red", b"@": "cyan"}
    put(
        (styles.get(line[:1], ""), line.decode("utf-8", "replace").rstrip("\r\n"))
        for line in lines
    )
