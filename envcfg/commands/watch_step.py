"""``envcfg check-log --watch-step``: what a script of ``wrap --verify`` starts.

Its standard input is a pipe of the step's shell, which writes the exit code there when the
step has ended; where that shell is gone the pipe ends, and so does this. Signals are the
step's business. Its stderr is the job's output; stdout has one word for the shell.
"""

from __future__ import annotations

import argparse
import os
import select
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from itertools import zip_longest

from envcfg.characters import one_line
from envcfg.commands.printing import tell
from envcfg.core.watch import Hands, Watched, watch
from envcfg.errors import EnvcfgError
from envcfg.log.expectations import Expectations

_STDIN = 0
_LONG = 3600.0  # seconds
_WORD = 64  # bytes: an exit code is shorter


def run_watch(
    options: argparse.Namespace, names: Sequence[str], expect: Expectations
) -> int:
    """Watch the step whose NCCL log and output *names* are; never fail."""
    parent = os.getppid()

    def stop() -> None:
        if os.getppid() == parent:  # else the shell is gone, and its number another's
            os.kill(parent, signal.SIGTERM)

    try:
        seconds, then = options.on_silence or (0, "")
        folders = [each for each in names if os.path.isdir(each)]
        watched = Watched(
            folder=next(iter(folders), ""),
            outputs=_outputs([n for n in names if n not in folders], options.since),
            expect=expect,
            verify=options.watch_step,
            silence=seconds,
            stops_silent=then == "stop",
        )
        if seconds and not watched.outputs:
            tell("--on-silence does nothing: the output of this step is no file")
        word = watch(watched, Hands(_wait, _say, stop, _ask))
    except Exception as err:  # noqa: BLE001  # it must not end a job that is good
        tell(f"nothing more is watched: {one_line(repr(err))}")
        word = ""
        while _wait(_LONG) is None:
            continue
    sys.stdout.write(f"{word}\n")
    return 0


def _outputs(names: Sequence[str], starts: Sequence[int]) -> dict[str, int]:
    """Return the files that are written to, by their own names, and where to begin."""
    found: dict[str, int] = {}
    for name, start in zip_longest(names, starts, fillvalue=0):
        path = os.path.realpath(str(name))
        if os.path.isfile(path):
            found.setdefault(path, int(start))
    return found


def _wait(seconds: float) -> str | None:
    if not select.select([_STDIN], [], [], seconds)[0]:
        return None
    return os.read(_STDIN, _WORD).decode("ascii", "replace").strip()


def _say(text: str) -> None:
    with suppress(OSError):  # the disk is full
        sys.stderr.write(f"envcfg: {one_line(text)}\n")
        sys.stderr.flush()


def _ask() -> tuple[list[str], bool]:
    from envcfg.commands.hang import look_at
    from envcfg.report.hang import hang_lines

    try:
        seen, judgement = look_at(None)
    except EnvcfgError as err:
        return [f"note: envcfg hang cannot tell: {err.message}"], False
    lines = [f"  {text}" for _, text in hang_lines(seen, judgement)]
    return lines, judgement.verdict == "named"
