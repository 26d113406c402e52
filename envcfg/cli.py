"""The command line: parse, dispatch, and turn every failure into an exit code.

Only here are exceptions caught and exit codes given. Commands are imported when they are
chosen, so that ``--help`` and each command pay for nothing else.
"""

from __future__ import annotations

import gc
import io
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from envcfg import __version__
from envcfg.characters import one_line, text_width
from envcfg.commands import NAMES, ROLES, add_command, load, texts
from envcfg.errors import (
    EXIT_BUG,
    EXIT_CANNOT,
    EnvcfgError,
    UsageError,
)
from envcfg.failure import Wanted, fail, may_want_script
from envcfg.interrupts import Held, interruption, raise_signals
from envcfg.parser import ParseError, Parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run envcfg with *argv* (default: the process's) and return its exit code.

    A program may call it again and again, in any thread and with any ``sys.stdout``; what
    commands start (srun, ``--on-bad``) writes to the files that the process has open.
    """
    # Arguments are bytes to Unix; here they are UTF-8 with escapes for what is not.
    raw = sys.argv[1:] if argv is None else argv
    words = [os.fsencode(word).decode("utf-8", "surrogateescape") for word in raw]
    Wanted.script = Wanted.color = None
    with _mended_streams():
        return _run(words)


def _run(words: list[str]) -> int:
    try:
        try:
            code = _dispatch(words)
        finally:
            raise_signals(False)
        sys.stdout.flush()
    except EnvcfgError as err:
        code = _fail(words, err.lines(), err.exit_code)
    except KeyboardInterrupt as err:
        code = _fail(words, *interruption(getattr(err, "number", 2)))
    except BrokenPipeError:
        code = 141  # nobody reads any more
    except OSError as err:  # the files of each command have messages of their own
        where = f" {one_line(str(err.filename))}" if err.filename else ""
        code = _fail(words, [f"envcfg: error: {err.strerror}{where}"], EXIT_CANNOT)
    except Exception as err:  # noqa: BLE001  # the last resort, which tells what to do
        import traceback

        for line in traceback.format_exc().splitlines():
            print(one_line(line), file=sys.stderr)
        what = f"envcfg: error: this is a bug in envcfg {__version__}: {err!r}"
        code = _fail(words, [what, "  hint: please report the lines above"], EXIT_BUG)
    with suppress(OSError, ValueError):  # whose stdout fails has been told
        sys.stdout.flush()
    sys.stderr.flush()
    return code


def build_parser(only: str | None = None) -> Parser:
    """Return the parser of all commands, or of one: the others are not even imported.

    Args:
        only: the first word, where it decides what else is needed.
    """
    text_width.cache_clear()  # of a run before this one
    parser = Parser(prog="envcfg", texts=lambda: texts()["envcfg"])
    parser.add_argument(
        "-V", "--version", action="version", version=f"envcfg {__version__}"
    )
    commands = parser.add_subparsers(
        dest="command_name", metavar="COMMAND", prog="envcfg", parser_class=Parser
    )
    known = only in NAMES or (only or "").startswith("-")
    for name in NAMES:
        if known and name != only:
            continue
        add_command(commands, name, load(name).add_options, is_listed=not known)
    if only is None:
        parser.roles = ROLES
    return parser


def _dispatch(words: list[str]) -> int:
    """Run one command line; return its exit code.

    The parser of the command alone is built, as that is most of the start-up. Whether a
    script is wanted on stdout is noted as soon as it is known, also of a line that cannot
    be parsed: what goes wrong from then on must end the job that sources it. What is said
    of defaults stands last, as only an error makes it worth a line.
    """
    head, separated, tail = split_command(words)
    if head[:1] == ["help"]:
        head = [*(word for word in head if word != "help"), "--help"]
    only = head[0] if head and head[0] in {*NAMES, "-V", "--version"} else None
    try:
        options = build_parser(only).parse_args(head)
    except ParseError as err:
        if hasattr(err.taken, "wants_script"):
            Wanted.script = err.taken.wants_script(err.taken)
        raise
    except SystemExit as end:  # after --help or --version
        return int(end.code or 0)
    Wanted.color = getattr(options, "color", None)
    if twice := getattr(options, "given_twice", None):
        from envcfg.commands.printing import say
        from envcfg.findings import Finding

        what = "is given twice, with different values: the last one counts"
        names = dict.fromkeys(twice)
        say(Finding("option-twice", "note", name, what) for name in names)
    if options.command_name is None:
        if sys.stderr.isatty():
            sys.stderr.write(build_parser().format_help() + "\n")
        msg = "no command given"
        raise UsageError(msg, hint="envcfg wrap --help")
    Wanted.script = hasattr(options, "wants_script") and options.wants_script(options)
    options.build_parser = build_parser  # for the command that is about all of them
    if not gc.isenabled():  # see __main__: what is imported by now stays
        gc.freeze()
        gc.set_threshold(100_000, 10, 10)  # most of what a log or script gives stays
        gc.enable()
    options.command, options.argv = tail if separated else None, ["envcfg", *words]
    try:
        code: int = load(options.command_name).run(options)
    except EnvcfgError:
        defaults = getattr(options, "defaults", ())
        if defaults and all(each.is_trusted for each in defaults):
            from envcfg.commands.printing import tell

            said = ", ".join(each.placed for each in defaults)
            tell(f"these come from files: {said}", "--no-default NAME leaves one out")
        raise
    if sys.stderr.isatty():
        from envcfg.commands.printing import say_next

        say_next(options, code)
    return code


def split_command(words: Sequence[str]) -> tuple[list[str], bool, list[str]]:
    """Split at the first ``--``: what is ours, whether there was one, the command."""
    head = list(words)
    if "--" not in head:
        return head, False, []
    at = head.index("--")
    return head[:at], True, head[at + 1 :]


def _fail(words: Sequence[str], lines: Sequence[str], exit_code: int) -> int:
    """Say what failed; where a script was asked for, print one that fails."""
    if Wanted.script is None:
        Wanted.script = may_want_script(words, NAMES)
    with suppress(
        OSError, ValueError
    ):  # a caller's stderr may keep what was said before
        sys.stderr.flush()
    with Held() as held:
        fail(lines, exit_code)
        held.finish()
    return exit_code


class _Patient(io.FileIO):
    """stderr: what cannot be written there is lost, and nothing else with it."""

    def write(self, data: Any, /) -> int:  # noqa: ANN401  # any kind of buffer
        try:
            return super().write(data) or len(data)
        except OSError:
            return len(data)


@contextmanager
def _mended_streams() -> Iterator[None]:
    """Give closed streams a place to write to, and let no character fail.

    Afterwards they are as they were: the process may be another program's.
    """
    before = sys.stdin, sys.stdout, sys.stderr
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:
            mode = "r" if name == "stdin" else "w"
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115
    if (own := sys.__stderr__) is not None and sys.stderr is own:
        raw = io.BufferedWriter(_Patient(2, "w", closefd=False))
        sys.stderr = io.TextIOWrapper(raw, own.encoding, line_buffering=True)
    wrappers = [
        each
        for each in (sys.stdout, sys.stderr)
        if isinstance(each, io.TextIOWrapper) and not each.closed
    ]
    errors = [each.errors for each in wrappers]
    try:
        for each in wrappers:
            each.reconfigure(errors="backslashreplace")
        yield
    finally:
        sys.stdin, sys.stdout, sys.stderr = before
        for each, was in zip(wrappers, errors, strict=True):
            with suppress(OSError, ValueError):  # it writes what is left, or is closed
                each.reconfigure(errors=was)
