"""The command line: parse, dispatch, and turn every failure into an exit code.

Exceptions are caught and exit codes are chosen only here. Each command is imported when
it is chosen, so ``--help`` and other commands stay fast.
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
from envcfg.backends.scheduler_client import renew_limits
from envcfg.commands import NAMES, ROLES, add_command, load, run, texts
from envcfg.commands.arguments.parser import ParseError, Parser
from envcfg.common.characters import fold, one_line, screen_width, text_width
from envcfg.common.errors import (
    EXIT_BUG,
    EXIT_CANNOT,
    EnvcfgError,
    UsageError,
)
from envcfg.common.failure import STDERR, CommandLine, fail, may_want_script
from envcfg.common.interrupts import BlockedSignals, interruption, raise_signals


def main(argv: Sequence[str] | None = None) -> int:
    """Run envcfg with *argv* (default: the process's) and return its exit code.

    A program may call it repeatedly, in any thread and with any ``sys.stdout``.
    Programs started by a command (srun, ``--on-bad``) write to the open files of the
    process.
    """
    # Unix arguments are bytes; here they are UTF-8, with escapes for invalid bytes.
    raw = sys.argv[1:] if argv is None else argv
    words = [os.fsencode(word).decode("utf-8", "surrogateescape") for word in raw]
    # A caller may run several commands, so the state of the last one is cleared.
    CommandLine.script = CommandLine.color = None
    renew_limits()
    with _mended_streams():
        return _run(words)


def _run(words: list[str]) -> int:
    try:
        try:
            code = _dispatch(words)
        finally:
            # The handlers are removed before the last output, so that a late signal
            # ends the process at once.
            raise_signals(False)
        sys.stdout.flush()
    except EnvcfgError as err:
        from envcfg.commands.printing import site_contact

        code = _fail(words, [*err.lines(), *site_contact(err)], err.exit_code)
    except KeyboardInterrupt as err:
        code = _fail(words, *interruption(getattr(err, "number", 2)))
    except BrokenPipeError:
        code = 141  # the reader has closed the pipe
    except OSError as err:  # errors of a command's own files have their own messages
        where = f" {one_line(str(err.filename))}" if err.filename else ""
        code = _fail(words, [f"envcfg: error: {err.strerror}{where}"], EXIT_CANNOT)
    except Exception as err:  # noqa: BLE001  # the last resort
        import traceback

        # A traceback can quote text of a hostile file, so each line is made safe.
        for line in traceback.format_exc().splitlines():
            print(one_line(line), file=sys.stderr)
        message = f"envcfg: error: this is a bug in envcfg {__version__}: {err!r}"
        code = _fail(
            words, [message, "  hint: please report the lines above"], EXIT_BUG
        )
    with suppress(OSError, ValueError):  # the failure of stdout is already reported
        sys.stdout.flush()
    sys.stderr.flush()
    return code


def build_parser(only: str | None = None) -> Parser:
    """Return the parser of all commands, or of one: the others are not even imported.

    Args:
        only: the first word, if it is enough to choose the needed parsers.
    """
    text_width.cache_clear()  # the terminal may have been resized since the last run
    parser = Parser(prog="envcfg", texts=lambda: texts()["envcfg"])
    parser.add_argument(
        "-V", "--version", action="version", version=f"envcfg {__version__}"
    )
    commands = parser.add_subparsers(
        dest="command_name", metavar="COMMAND", prog="envcfg", parser_class=Parser
    )
    is_command = only in NAMES or (only or "").startswith("-")
    for name in NAMES:
        # Building all parsers takes longer than most commands.
        if is_command and name != only:
            continue
        add_command(commands, name, load(name).add_options, is_listed=not is_command)
    if only is None:
        parser.roles = ROLES
    return parser


def _dispatch(words: list[str]) -> int:
    """Run one command line; return its exit code.

    Only the parser of the command is built, because that is most of the start-up.
    Whether a script goes to stdout is noted early, even for an invalid line: an error
    must then end the job that sources it. Defaults are mentioned last, and only after
    an error.
    """
    head, separated, tail = split_command(words)
    if head[:1] == ["help"]:
        # "envcfg help wrap" is the same as "envcfg wrap --help".
        head = [*(word for word in head if word != "help"), "--help"]
    only = head[0] if head and head[0] in {*NAMES, "-V", "--version"} else None
    try:
        options = build_parser(only).parse_args(head)
    except ParseError as err:
        # The options before the error tell whether a shell waits for a script.
        if hasattr(err.taken, "wants_script"):
            CommandLine.script = err.taken.wants_script(err.taken)
        raise
    except SystemExit as end:  # after --help or --version
        return int(end.code or 0)
    CommandLine.color = getattr(options, "color", None)
    if twice := getattr(options, "given_twice", None):
        from envcfg.commands.printing import say
        from envcfg.common.findings import Finding

        message = "is given twice, with different values: the last one counts"
        names = dict.fromkeys(twice)
        say(Finding("option-twice", "note", name, message) for name in names)
    if options.command_name is None:
        # At a terminal, the complete help is more useful than the error alone.
        if sys.stderr.isatty():
            sys.stderr.write(build_parser().format_help() + "\n")
        msg = "no command given"
        raise UsageError(msg, hint="envcfg wrap --help")
    CommandLine.script = hasattr(options, "wants_script") and options.wants_script(
        options
    )
    options.build_parser = build_parser  # lint parses other commands with it
    if not gc.isenabled():  # see __main__: imported objects stay until the end
        gc.freeze()
        gc.set_threshold(100_000, 10, 10)  # most objects from a log or script stay too
        gc.enable()
    options.command, options.argv = tail if separated else None, ["envcfg", *words]
    try:
        code = run(options)
    # A value from a file may be the cause of the error, and the user may not
    # remember the file.
    except EnvcfgError:
        if defaults := getattr(options, "defaults", ()):
            from envcfg.commands.printing import tell

            files = ", ".join(default.placed for default in defaults)
            tell(f"these come from files: {files}", "--no-default NAME leaves one out")
        raise
    # Scripts read stderr as messages of the run, so the next step is only for
    # terminals.
    if sys.stderr.isatty():
        from envcfg.commands.printing import say_next

        say_next(options, code)
    return code


def split_command(words: Sequence[str]) -> tuple[list[str], bool, list[str]]:
    """Split at the first ``--``: words of envcfg, whether there is a ``--``, command."""
    head = list(words)
    if "--" not in head:
        return head, False, []
    offset = head.index("--")
    return head[:offset], True, head[offset + 1 :]


def _fail(words: Sequence[str], lines: Sequence[str], exit_code: int) -> int:
    """Report the failure; if a script was requested, print a script that fails."""
    if CommandLine.script is None:
        CommandLine.script = may_want_script(words, NAMES)
    with suppress(OSError, ValueError):  # a caller's stderr may fail on earlier text
        sys.stderr.flush()
    width = screen_width(STDERR)
    with BlockedSignals() as output:
        fail([part for line in lines for part in fold(line, width)], exit_code)
        output.finish()
    return exit_code


class _Patient(io.FileIO):
    """stderr without errors: text that cannot be written is dropped."""

    def write(self, data: Any, /) -> int:  # noqa: ANN401  # any kind of buffer
        try:
            return super().write(data) or len(data)
        except OSError:
            return len(data)


@contextmanager
def _mended_streams() -> Iterator[None]:
    """Replace closed streams, and make all characters writable.

    Afterwards the streams are restored, because the process may belong to another
    program.
    """
    before = sys.stdin, sys.stdout, sys.stderr
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:
            mode = "r" if name == "stdin" else "w"
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115
    # Only the process's own stderr is replaced; a caller's stream is left alone.
    if (own := sys.__stderr__) is not None and sys.stderr is own:
        raw = io.BufferedWriter(_Patient(2, "w", closefd=False))
        sys.stderr = io.TextIOWrapper(raw, own.encoding, line_buffering=True)
    wrappers = [
        stream
        for stream in (sys.stdout, sys.stderr)
        if isinstance(stream, io.TextIOWrapper) and not stream.closed
    ]
    errors = [wrapper.errors for wrapper in wrappers]
    try:
        for wrapper in wrappers:
            # A character that the terminal cannot show must not end the command.
            wrapper.reconfigure(errors="backslashreplace")
        yield
    finally:
        sys.stdin, sys.stdout, sys.stderr = before
        for wrapper, was in zip(wrappers, errors, strict=True):
            with suppress(OSError, ValueError):  # it flushes, or is already closed
                wrapper.reconfigure(errors=was)
