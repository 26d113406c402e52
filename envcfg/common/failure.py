"""The failures of envcfg: a message on stderr, and with ``wrap`` a script that fails.

``source <(envcfg wrap ...)`` succeeds when nothing is printed, and the job would
continue. Therefore this module needs only modules that the interpreter has already
loaded. A message that stderr cannot take is dropped, and in doubt a script is printed.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # importing typing for it takes a millisecond
if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

STDOUT, STDERR = 1, 2


class CommandLine:
    """The known facts about the command line of this run."""

    # Whether stdout must be a script; None: the command line is not parsed yet.
    script: bool | None = None
    # `always`, `never`; otherwise the environment and the stream decide.
    color: str | None = None


def fail(lines: Sequence[str], exit_code: int) -> int:
    """Print *lines*; print a failing script if one was requested; return the code."""
    _try_to_put(STDERR, "".join(f"{line}\n" for line in lines))
    needed = CommandLine.script
    if needed is None:
        needed = may_want_script(sys.argv[1:])
    stdout = stream_descriptor(STDOUT)
    if needed and not (stdout is not None and os.isatty(stdout)):
        _try_to_put(STDOUT, failing_script(lines, exit_code))
    return exit_code


def failing_script(lines: Sequence[str], exit_code: int) -> str:
    """Return bash that reports *lines* and fails, sourced, evaluated or run."""
    words = " ".join("'" + line.replace("'", "'\\''") + "'" for line in lines)
    return f"""\
#!/usr/bin/env bash
# shellcheck disable=SC1003,SC2016 # the quoted texts are literal
# envcfg has no step for this shell. A non-interactive shell exits here, so a job does not
# continue without its step.
printf '%s\\n' {words} >&2
if [[ $- != *i* ]]; then exit {exit_code}; fi
return {exit_code}
"""


def may_want_script(words: Sequence[str], commands: Collection[str] = ()) -> bool:
    """Return whether an unparsed command line may request a script on stdout.

    Args:
        words: the words after ``envcfg``.
        commands: the names of all commands; empty if they are not known yet.
    """
    head = list(words)
    if "--" in head:
        del head[head.index("--") :]
    if head and (head[0] in commands or head[0] == "help"):
        return head[0] == "wrap"
    if "wrap" in head:  # after an unknown option
        return True
    if not commands or any(word in commands for word in head):
        return False
    # A misspelt name. A script for another command is not wanted, because it might
    # be submitted.
    from difflib import get_close_matches

    first = head[0] if head else ""
    if first[:1] == "-":  # an option of envcfg, or of a forgotten wrap
        return not get_close_matches(first, ["--help", "--version"], cutoff=0.75)
    return get_close_matches(first, commands, n=1) in ([], ["wrap"])


def put(descriptor: int, data: bytes) -> None:
    """Write all of *data* to an open file, in as few calls as possible.

    Raises:
        OSError: it cannot be written.
    """
    remaining = memoryview(data)
    while remaining:
        try:
            remaining = remaining[os.write(descriptor, remaining) :]
        except BlockingIOError:  # noqa: PERF203  # the pipe is non-blocking
            from select import select

            select([], [descriptor], [])


def put_stream(number: int, data: bytes) -> None:
    """Write all of *data* to stdout or stderr, even if a caller has replaced them.

    Nothing is flushed, because the failure may be a flush.

    Args:
        number: ``STDOUT`` or ``STDERR``.

    Raises:
        OSError: it cannot be written.
    """
    stream = sys.stdout if number == STDOUT else sys.stderr
    descriptor = stream_descriptor(number)
    if descriptor is not None:
        put(descriptor, data)
    elif hasattr(stream, "buffer"):
        stream.buffer.write(data)
    else:
        stream.write(data.decode("utf-8", "surrogateescape"))


def stream_descriptor(number: int) -> int | None:
    """Return the open file of stdout or stderr; None for a StringIO and the like."""
    stream = sys.stdout if number == STDOUT else sys.stderr
    if stream is None:  # it is closed
        return number
    try:
        return stream.fileno()
    except (AttributeError, OSError, ValueError):
        return None


def _try_to_put(number: int, text: str) -> None:
    try:  # noqa: SIM105  # contextlib would need an import
        put_stream(number, text.encode("utf-8", "backslashreplace"))
    except (OSError, ValueError):
        pass  # there is no other place for the message
