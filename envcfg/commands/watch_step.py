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
import time
from collections.abc import Callable, Sequence
from contextlib import suppress

from envcfg.characters import one_line
from envcfg.commands.printing import tell
from envcfg.core.watch import LastWords, Network, Silence
from envcfg.errors import EnvcfgError
from envcfg.hang.records import Evidence
from envcfg.hang.rules import span
from envcfg.log.expectations import Expectations

_STDIN = 0
_PAUSE = 1.0  # seconds between two looks, at least
_HASTE, _REST = 4, 50  # times as long as a look took, before and after a verdict
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
        word = _watch(options, names, expect, stop)
    except Exception as err:  # noqa: BLE001  # it must not end a job that is good
        tell(f"nothing more is watched: {one_line(repr(err))}")
        word = ""
        while _wait(_LONG) is None:
            continue
    sys.stdout.write(f"{word}\n")
    return 0


# The shell writes the exit code of the step into the pipe, and closes it where it ends:
# until then there is a look, and a pause that grows with what a look costs. The network
# is asked first: a step that it stops is not also called silent. Once stopped, nothing
# is looked at any more, as the end of the step is at hand; without a code the shell was
# killed, and nobody is left to read what ended the step.
def _watch(
    options: argparse.Namespace,
    names: Sequence[str],
    expect: Expectations,
    stop: Callable[[], None],
) -> str:
    """Watch until the step ends; return ``stopped``, ``verified``, or nothing."""
    folder = next((each for each in names if os.path.isdir(each)), "")
    paths = [os.path.realpath(each) for each in names if each != folder]
    files = dict(zip(paths, options.since, strict=False))
    outputs = {path: at for path, at in files.items() if os.path.isfile(path)}
    seconds, then = options.on_silence or (0, "")
    if seconds and not outputs:
        tell("--on-silence does nothing: the output of this step is not a file")
        seconds = 0
    network = Network(folder, outputs, expect, options.watch_step, _say)
    silence = Silence([*outputs, *filter(None, [folder])], seconds)
    pause, stopped, last_words, seen = _PAUSE, False, None, None
    while (ended := _wait(pause)) is None:
        if stopped:
            continue
        began = time.thread_time()
        network.look()
        stopped = network.is_bad and options.watch_step == "stop"
        silent = silence.seconds()
        spent = time.thread_time() - began
        if silent and not stopped:
            seen, lines, is_held_up = _ask(seen)
            for line in (f"silent for {span(silent)}; envcfg hang says:", *lines):
                _say(line)
            stopped = is_held_up and then == "stop"
            if stopped:
                _say("error: the step is stopped: it is silent, and held up as above")
                last_words = LastWords([*outputs])
                _abort()
            silence.begin_anew()
        if stopped:
            stop()
        pause = max(_PAUSE, spent * (_HASTE if network.is_open else _REST))
    if ended and not stopped:
        network.end(int(ended))
    elif ended and last_words and (said := last_words.stacks()):
        _say(f"when it was stopped: {said}")
    return "stopped" if stopped else "verified" if ended and network.is_good else ""


def _wait(seconds: float) -> str | None:
    if not select.select([_STDIN], [], [], seconds)[0]:
        return None
    return os.read(_STDIN, _WORD).decode("ascii", "replace").strip()


def _say(text: str) -> None:
    with suppress(OSError):  # the disk is full
        sys.stderr.write(f"envcfg: {one_line(text)}\n")
        sys.stderr.flush()


def _abort() -> None:
    """Let the ranks write where they are; those of Python alone can."""
    from envcfg.commands.job_target import find_job, job_name
    from envcfg.hang.step import abort

    with suppress(EnvcfgError):
        job, hosts, _ = find_job(job_name(None, "hang"), None, "hang")
        abort(job.id, hosts)


def _ask(earlier: Evidence | None) -> tuple[Evidence | None, list[str], bool]:
    """Return what is seen of the job, the report, and whether somebody holds it up."""
    from envcfg.commands.hang import look_at
    from envcfg.report.hang import hang_lines

    try:
        seen, judgement = look_at(None, earlier=earlier)
    except EnvcfgError as err:
        return earlier, [f"note: envcfg hang cannot tell: {err.message}"], False
    lines = [f"  {text}" for _, text in hang_lines(seen, judgement)]
    return seen, lines, judgement.verdict == "named"
