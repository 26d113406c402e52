"""Syntax errors according to bash itself: ``bash -n`` reads a text and runs nothing of it.

Bash inherits no variable, so that no BASH_ENV, SHELLOPTS or function reaches it. It may
use little time and memory, start no process and write no file.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import NamedTuple

from envcfg.common.child_process import run
from envcfg.job.request.admission import HOLE

_SECONDS = 3
# The shell that sets the limits becomes the bash that reads the text.
_READ = (
    f"{{ ulimit -t {_SECONDS}; ulimit -v 1500000; ulimit -c 0 -f 0; ulimit -u 0; }} "
    '2>/dev/null; exec "$BASH" -n "$@"'
)
_ENVIRONMENT = {"LC_ALL": "C"}
_OLDEST = (4, 4)  # oldest accepted version: earlier ones lack parts of the syntax
_SAID = re.compile(r"[^\n]*?: line (\d+): ([^\n]+)")
_MOST = 200  # characters of a message


class Refusal(NamedTuple):
    """The message of bash on a text."""

    line: int  # the number of the line that it names, from 1
    message: str
    is_warning: bool = False  # True if bash accepts the text


class NoBashError(Exception):
    """No bash on this machine can decide."""


def find_refusal(chars: str) -> Refusal | None:
    """Return the syntax error that bash finds in a text of bytes; None: no error.

    Unknown parts are replaced by a word, and after an error by nothing: bash must refuse
    both.

    Raises:
        NoBashError: bash is missing, too old, or did not reach the end of the text.
    """
    from shutil import which

    # PATH is read each time, because a later call may have another one.
    path = which("bash")
    if path is None:
        raise NoBashError
    refusal = _ask_bash(path, chars.replace(HOLE, "x"))
    if refusal and HOLE in chars:
        return refusal if _ask_bash(path, chars.replace(HOLE, "")) else None
    return refusal


@lru_cache(maxsize=512)
def _ask_bash(path: str, chars: str) -> Refusal | None:
    # Patterns such as !(a) need "shopt", which is not executed here.
    options = ("-O", "extglob") if "extglob" in chars else ()
    status, answer = _run(path, (_READ, "bash", *options), chars.encode("latin-1"))
    match = _SAID.match(answer)
    if match is None and status == 0:
        return None
    # An older bash may refuse correct text, so only its silence counts.
    if match is None or not (_version(path) or ()) >= _OLDEST:
        raise NoBashError
    message = match[2].removeprefix("warning: ")[:_MOST]
    return Refusal(int(match[1]), message, is_warning=message != match[2][:_MOST])


@cache
def _version(path: str) -> tuple[int, int] | None:
    """Return the version of bash; None: unknown."""
    command = 'printf %s.%s "${BASH_VERSINFO[0]}" "${BASH_VERSINFO[1]}"'
    _, answer = _run(path, (f"{command} >&2",), b"")
    match = re.fullmatch(r"(\d+)\.(\d+)", answer)
    return (int(match[1]), int(match[2])) if match else None


def _run(path: str, words: tuple[str, ...], given: bytes) -> tuple[int, str]:
    """Run bash with a command and its words; return its exit status and its stderr."""
    answer = run([path, "-c", *words], 2 * _SECONDS, given, _ENVIRONMENT)
    if answer.exit_code is None:
        raise NoBashError(answer.fault)
    return answer.exit_code, answer.err
