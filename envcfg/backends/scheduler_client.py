"""The scheduler's own commands: questions with a time limit, and submission without one.

One command of envcfg has one time limit for all its questions, because a scheduler may
hang.
"""

import os
import time
from collections.abc import Callable, Sequence

from envcfg.common.characters import whole_number
from envcfg.common.child_process import (
    NOTHING,
    Answer,
    end,
    file_of,
    rounds,
    run_all,
    start,
)
from envcfg.common.interrupts import PostponedSignals

SECONDS = 2.0  # for all questions of one command of envcfg
_VARIABLE = "ENVCFG_SCHEDULER_SECONDS"  # replaces SECONDS for a slow scheduler
_NOTICE = 10.0  # seconds until the first notice of a slow submission


class _Limits:
    """The remaining time for the questions of this command."""

    seconds: float = SECONDS


def renew_limits() -> None:
    """Start a new command: its questions get the whole time again."""
    _Limits.seconds = whole_number(os.environ.get(_VARIABLE, "")) or SECONDS


def query(argv: Sequence[str], data: bytes = b"") -> Answer:
    """Return the answer to one question; *data*: its stdin."""
    with file_of(data) as stdin:
        return query_all([argv], stdin=stdin)[0]


def query_all(
    questions: Sequence[Sequence[str]],
    seconds: float | None = None,
    stdin: int = NOTHING,
) -> list[Answer]:
    """Return the answers to several questions, which are asked at the same time.

    Args:
        questions: the words of each command; no words: an empty answer.
        seconds: the time limit for all of them; None: the remaining time of this
            command.
        stdin: the open stdin of each.
    """
    wait = _Limits.seconds if seconds is None else min(seconds, _Limits.seconds)
    # After one slow answer, later questions would only add to the delay.
    if wait <= 0:
        fault = "was not asked, because the scheduler did not answer before"
        return [
            Answer(None, fault=f"{argv[0]} {fault}") if argv else Answer(0)
            for argv in questions
        ]
    began = time.monotonic()
    try:
        return run_all(questions, wait, stdin)
    finally:
        # The time is subtracted even after an error, so that a loop of questions ends.
        _Limits.seconds -= time.monotonic() - began


def hand_over(
    argv: Sequence[str],
    data: bytes,
    *,
    wait: Callable[[int], object],
    interrupt: Callable[[], object],
) -> Answer:
    """Give *data* to a command that submits a job, on its stdin; return the answer.

    There is no time limit, because a killed command may already have submitted the job.
    Only the end of its output is kept: the job's id may be in the last line.

    Args:
        wait: called with the elapsed seconds, at growing intervals.
        interrupt: called if a signal ends the command before it has answered.
    """
    notice = _NOTICE
    with PostponedSignals() as signals, file_of(data) as stdin:
        child = start(argv, stdin)
        if isinstance(child, Answer):
            return child
        for past in rounds([child]):
            if signals.has_come:
                break
            if past >= notice:
                wait(int(past))
                notice *= 2
        if not child.has_exited:
            interrupt()
            end([child], "was interrupted")
        child.close()
    return child.answer()
