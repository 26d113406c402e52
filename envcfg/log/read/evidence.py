"""The order of evidence: whether a line about an end counts, and what removes it.

1. Messages of the launcher and the scheduler. Nothing removes them.
2. Exceptions, signals and aborts of a rank. Only later steps of the same process do.
3. Output of the program: steps, good ends, quotes, fences. It removes nothing by itself.
"""

from typing import Literal

from envcfg.log.read.endings import Endings
from envcfg.log.read.exceptions import End, LogException
from envcfg.log.read.life_signs import JobProgress
from envcfg.log.read.line_owner import Owner
from envcfg.log.read.steps import is_long, is_run, runs_of

# The event ended the job; it may have ended the job; the job went on after it.
Weight = Literal["counts", "doubt", "none"]
_FEW = 5  # lines that may follow the last words of a program


def weigh(
    event: LogException | End, endings: Endings, life: JobProgress, *, alone: bool
) -> Weight:
    """Return whether *event* ended the job.

    Args:
        event: exception, or line about an end.
        endings: all ends in the log, and what follows each of them.
        life: progress in the forms of known frameworks.
        alone: True if no certain line reports an end.
    """
    is_fenced = isinstance(event, End) and event.is_fenced
    if isinstance(event, End) and event.is_of_launcher and not is_fenced:
        return "counts"
    spot = event.sighting.spot
    lines, steps = endings.tracebacks.after(event)
    runs = [*runs_of([*steps, *life.steps_after(spot)])]
    writer = endings.writer_of(event)
    if any(_is_same(run[0].owner, writer) and is_long(spot, run) for run in runs):
        return "doubt" if isinstance(event, End) and event.is_quote else "none"
    is_service = isinstance(event, End) and event.rule.phase == "teardown"
    if is_service and life.has_ended_before(spot):
        return "none"
    rest: Weight
    # Programs go on after such lines without a report of it.
    if isinstance(event, LogException) and event.is_caught:
        rest = "doubt" if alone else "counts"
        return "none" if runs or (alone and lines) else rest
    is_of_tool = isinstance(event, End) and event.rule.severity == "note"
    if isinstance(event, End) and (event.rule.event == "lacking" or is_of_tool):
        is_up = any(nccl > spot for nccl in endings.nccl if nccl.source == spot.source)
        rest = "doubt" if runs or (alone and lines) else "counts"
        return "none" if any(map(is_run, runs)) or (alone and is_up) else rest
    is_old = isinstance(event, End) and event.is_doubtful and alone and lines > _FEW
    return "doubt" if runs or is_fenced or is_old else "counts"


def _is_same(first: Owner, second: Owner) -> bool:
    return first._replace(hosts=(), is_task=False) == second._replace(
        hosts=(), is_task=False
    )
