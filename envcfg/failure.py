"""How envcfg fails: it says so on stderr, and with ``wrap`` prints a script that fails.

``source <(envcfg wrap ...)`` succeeds when nothing is printed, and the job would go on. So
this module needs what the interpreter has loaded by itself, and no more; what cannot be
said on stderr is left unsaid; and a script is printed when in doubt.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # typing has the same, and takes a millisecond
if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

STDOUT, STDERR = 1, 2


class Wanted:
    """What is known of this run's command line.

    Attributes:
        script: stdout is to be a script; None: nobody has read the command line yet.
        color: ``always``, ``never``; else the environment and the stream decide.
    """

    script: bool | None = None
    color: str | None = None


def fail(lines: Sequence[str], exit_code: int) -> int:
    """Say *lines*; where a script is asked for, print one that fails; return the code."""
    _try_to_put(STDERR, "".join(f"{line}\n" for line in lines))
    wanted = Wanted.script
    if wanted is None:
        wanted = may_want_script(sys.argv[1:])
    stdout = stream_descriptor(STDOUT)
    if wanted and not (stdout is not None and os.isatty(stdout)):
        _try_to_put(STDOUT, failing_script(lines, exit_code))
    return exit_code


def failing_script(lines: Sequence[str], exit_code: int) -> str:
    """Return bash that reports *lines* and fails, sourced, evaluated or run."""
    words = " ".join("'" + line.replace("'", "'\\''") + "'" for line in lines)
    return f"""\
#!/usr/bin/env bash
# shellcheck disable=SC1003,SC2016 # quoted texts are meant as they stand
# envcfg wrap has no step for this shell. A shell that nobody sits at ends here, so that a
# job does not go on without its step.
printf '%s\\n' {words} >&2
if [[ $- != *i* ]]; then exit {exit_code}; fi
return {exit_code}
"""


def may_want_script(words: Sequence[str], commands: Collection[str] = ()) -> bool:
    """Tell whether a command line that nobody has read may ask for a script on stdout.

    Args:
        words: what stands behind ``envcfg``.
        commands: the names of all commands; none where even they are not known yet.
    """
    head = list(words)
    if "--" in head:
        del head[head.index("--") :]
    if head and (head[0] in commands or head[0] == "help"):
        return head[0] == "wrap"
    if "wrap" in head:  # behind an option that is none
        return True
    if not commands or any(word in commands for word in head):
        return False
    # A misspelt name. Of another command no script is wanted: it might be submitted.
    from difflib import get_close_matches

    first = head[0] if head else ""
    if first[:1] == "-":  # of envcfg's own options, else of wrap, which was forgotten
        return not get_close_matches(first, ["--help", "--version"], cutoff=0.75)
    return get_close_matches(first, commands, n=1) in ([], ["wrap"])


def put(descriptor: int, data: bytes) -> None:
    """Write all of *data* to an open file, in as few pieces as the system takes.

    Raises:
        OSError: it cannot be written.
    """
    left = memoryview(data)
    while left:
        try:
            left = left[os.write(descriptor, left) :]
        except BlockingIOError:  # noqa: PERF203  # somebody else has made the pipe so
            from select import select

            select([], [descriptor], [])


def put_stream(number: int, data: bytes) -> None:
    """Write all of *data* to stdout or stderr, whatever stands there for a caller of ours.

    Nothing is flushed: what fails may be a flush.

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
    """Return the open file of stdout or stderr; None of a StringIO and its like."""
    stream = sys.stdout if number == STDOUT else sys.stderr
    if stream is None:  # it is closed
        return number
    try:
        return stream.fileno()
    except (AttributeError, OSError, ValueError):
        return None


def _try_to_put(number: int, text: str) -> None:
    try:  # noqa: SIM105  # contextlib would have to be imported
        put_stream(number, text.encode("utf-8", "backslashreplace"))
    except (OSError, ValueError):
        pass  # there is no other place to say it
