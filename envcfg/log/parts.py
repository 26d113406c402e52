"""Parts of a log that prove nothing of each other: attempts, steps, other jobs."""

from __future__ import annotations

from collections.abc import Iterator

from envcfg.log.job import Job
from envcfg.log.numbers import count_of, first_of
from envcfg.log.verdict import WORST_FIRST, LogReport, Unknown, Verdict
from envcfg.log.world import World

PART = "another-job"


def parts_of(job: Job, world: World) -> Iterator[Job]:
    """Yield each attempt of *world* where there are several, and what stands beside it."""
    if world.islands > 1 or not world.parts:
        return
    home = {process: at for at, part in enumerate(world.parts) for process in part}
    beside = len(world.parts)
    parts: dict[int, Job] = {}
    for key, process in job.processes.items():
        if process.communicators:
            part = parts.setdefault(home.get(process, beside), Job(job.rulebook))
            part.processes[key] = process
            part.records += process.records
    if len(parts) > 1:
        yield from (part for at, part in parts.items() if at == beside or beside > 1)


def with_part(report: LogReport, part: Job, alone: LogReport, fix: str) -> LogReport:
    """Return *report*, made no better than *alone*, what a *part* of the log comes to."""
    if _rank(alone.verdict) >= _rank(report.verdict):
        return report
    hosts = first_of({process.host for process in part.processes.values()})
    many = count_of(len(part.processes), "process", "processes")
    said = alone.summary.partition(": ")[2]
    what = f"{many} on {hosts}, a part of their own: {said}"
    bad = [each for each in alone.findings if each.severity in ("error", "warning")]
    return report._replace(
        verdict=alone.verdict,
        summary=f"{alone.verdict}: {what}",
        findings=(*bad, *report.findings),
        unknowns=(Unknown(what, fix), *report.unknowns),
    )


def _rank(verdict: Verdict) -> int:
    return WORST_FIRST.index(verdict)
