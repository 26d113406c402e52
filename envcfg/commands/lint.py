"""``envcfg lint``: faults in job scripts, rank wrappers and environments."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from envcfg.commands.formats import add_format, put_result
from envcfg.commands.option_arguments import add_defaults, add_option, use_defaults
from envcfg.commands.printing import say, tell
from envcfg.common.characters import one_line
from envcfg.common.errors import EXIT_CANNOT, FindingsError, UsageError
from envcfg.common.failure import STDOUT, put_stream
from envcfg.common.findings import Finding, exit_code
from envcfg.core.lint_options import LINT
from envcfg.core.option_values import read_pair

if TYPE_CHECKING:
    from envcfg.commands.arguments.parser import Parser
    from envcfg.core.linting import Linter
    from envcfg.lint.fixes import FixResult, Texts
    from envcfg.profile.catalog import Policy

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
        help="the system (default: recognised by two signs in the scripts)",
    )
    for rows in LINT.values():
        for row in rows:
            add_option(parser, row)
    parser.add_argument(
        "--fact",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        type=read_pair,
        help="the system's Slurm, as in slurm=24.05 (default: what scontrol here says)",
    )
    for name, purpose in (
        ("fix", "repair what is certain, in the files themselves"),
        ("diff", "show what --fix would change, and change nothing"),
    ):
        parser.add_argument(f"--{name}", action="store_true", help=purpose)
    add_format(parser)
    rules = (row.name.replace("_", "-") for rows in LINT.values() for row in rows)
    add_defaults(parser, "profile", *rules)


def run(options: argparse.Namespace) -> int:
    """Read the scripts, and print their faults."""
    _check(options)
    from envcfg.lint.script_source import read_files

    _replace_select(options)
    use_defaults(options)
    profile = getattr(options, "given", {}).get("profile")
    linter = make_linter(
        options,
        profile,
        dict(options.fact),
        otherwise=options.profile,
        select=options.select,
        ignore=options.ignore,
    )
    texts: Texts = read_files(options.files)
    # --diff judges the original files: the report must match the files on disk.
    if options.diff:
        mended = linter.mend(texts)
        texts = {path: texts[path] for path in mended.texts}
        _show(_difference(texts, mended.texts))
    # After --fix, only the remaining faults are reported.
    elif options.fix:
        mended = linter.mend(texts)
        _write(texts, mended)
        texts = mended.texts
    result = linter.judge(texts, marks_repairs=not (options.fix or options.diff))
    options.repairs = result.repairs
    # Without a script among the files, nothing was checked.
    unread = [finding for finding in result.all if finding.rule == "not-a-script"]
    is_unread = bool(texts) and len(unread) == len(texts)
    # The repaired text is on stdout, so the findings go to stderr.
    if options.fix and not options.diff and "-" in texts:
        say(result.all)
    elif not options.diff:
        put_result(result, options.format, strict=True)
    return EXIT_CANNOT if is_unread else exit_code(result.all, strict=True)


def _replace_select(options: argparse.Namespace) -> None:
    """Let ``--select`` of the command line replace that of files."""
    rows = getattr(options, "defaults", ())
    count = sum(len(row.value) for row in rows if row.option.flag == "--select")
    if count and len(options.select) > count:
        options.select = options.select[count:]
        options.defaults = [row for row in rows if row.option.flag != "--select"]


def make_linter(
    options: argparse.Namespace,
    profile: str | None,
    facts: Mapping[str, str],
    otherwise: str | None = None,
    policy: Policy = "leave out",
    **rules: Sequence[Any],
) -> Linter:
    """Return a linter with the settings of a command's *options*.

    Args:
        profile: the system; None: recognised from each script.
        facts: facts of the system from the user; otherwise this machine is asked.
        otherwise: the system of scripts without signs.
        policy: as for ``Linter``.
        rules: the rules that apply, in the form of ``Linter``.
    """
    from envcfg.core.linting import Linter
    from envcfg.nodes.probe.slurm_job import slurm_version

    return Linter(
        profile=profile,
        otherwise=otherwise,
        policy=policy,
        # A stated version of Slurm wins: the script may be for another system.
        facts=facts if "slurm" in facts else {**slurm_version(), **facts},
        tell=tell,
        writable=options.allow_writable,
        read_line=partial(_read_line, options.build_parser),
        **rules,
    )


def _read_line(build: Callable[..., Parser], words: Sequence[str]) -> Iterator[Finding]:
    """Yield the warnings for a line of envcfg with these words.

    Raises:
        UsageError: envcfg would reject it.
    """
    from envcfg.core.step import check_changes

    # The real parser reads the line, so lint cannot disagree with the command.
    try:
        options = build(words[0]).parse_args(words)
    except FindingsError as err:  # its defaults are in a file of other users
        raise UsageError(err.message, hint=err.hint) from err
    yield from check_changes(getattr(options, "changes", ()))


def _check(options: argparse.Namespace) -> None:
    """Check that only one output goes to stdout."""
    shows = options.diff or (options.fix and "-" in options.files)
    if shows and options.format != "text":
        option = "--diff" if options.diff else "--fix of standard input"
        msg = f"{option} and --format both write to stdout"
        raise UsageError(msg, hint="leave one of them out")
    # A mixture would leave the user unsure which output belongs to which input.
    if options.fix and not options.diff and {"-"} < {*options.files}:
        msg = "--fix writes standard input to stdout, and files in their place"
        raise UsageError(msg, hint="repair one kind at a time")


def _write(texts: Texts, mended: FixResult) -> None:
    """Write the repaired files, then report the rules that were applied.

    Raises:
        OutputError: a file cannot be written; then no file is written.
    """
    from envcfg.common.safe_output import write_outputs
    from envcfg.core.linting import repair_output

    write_outputs(
        [
            (repair_output(path), data)
            for path, data in mended.texts.items()
            # Standard input is always written, even unchanged, because the next
            # program waits for it.
            if data != texts[path] or path == "-"
        ]
    )
    for path, counts in mended.rules.items():
        rules = ", ".join(
            rule if count == 1 else f"{count} x {rule}"
            for rule, count in sorted(counts.items())
        )
        tell(f"{path}: mended {rules}")


def _difference(before: Texts, after: Texts) -> Iterator[bytes]:
    """Yield the lines of a unified diff, in the form of ``patch``."""
    from difflib import diff_bytes, unified_diff

    for path, data in before.items():
        if data != after[path]:
            name = one_line(path).encode("utf-8", "surrogateescape")
            old, new = _lines(data), _lines(after[path])
            for line in diff_bytes(unified_diff, old, new, name, name):
                # diff marks a missing line end, and patch needs the mark to
                # reproduce the file.
                yield line if line.endswith(b"\n") else line + b"\n" + _UNENDED


def _lines(data: bytes) -> list[bytes]:
    # splitlines() would also split at other characters, such as a form feed.
    lines = [part + b"\n" for part in data.split(b"\n")]
    lines[-1] = lines[-1][:-1]
    return lines if lines[-1] else lines[:-1]


def _show(lines: Iterable[bytes]) -> None:
    # Without a terminal, the bytes are written unchanged, so that patch can read
    # them.
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
