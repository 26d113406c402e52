"""Several jobs in files or in one log, as names or lines tell: each judged by itself."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from envcfg.findings import Finding
from envcfg.log.groups import head_of
from envcfg.log.job import Job
from envcfg.log.numbers import count_of, first_of, grouped
from envcfg.log.rulebook import Rule
from envcfg.log.verdict import (
    WORST_FIRST,
    Coverage,
    JobRow,
    LogReport,
    Unknown,
    is_worse,
)
from envcfg.log.world import World

SEVERAL = "several-jobs"  # the rule that says so
# As Slurm, Flux, PBS and SGE name a job's output. What follows may be a task of an array
# or a rank of one job.
_NUMBERED = re.compile(r"^(?:slurm|flux)-([^\W_]+)|\.[oe](\d+)(?![^.])")
_NAMED = 8  # jobs whose verdict is named
LOOSE = "files without a communicator"
PART = "another-job"


def by_job(files: Sequence[str]) -> dict[str, list[str]]:
    """Return *files* by the number of their job; under no number those that have none."""

    def number(name: str) -> str:
        found = _NUMBERED.search(os.path.basename(name))
        return found[1] or found[2] if found else ""

    jobs = grouped(files, number)
    numbered = [job for job in jobs if job]
    return jobs if len(numbered) > 1 else {"".join(numbered): list(files)}


def by_communicator(job: Job, files: Sequence[str]) -> dict[str, list[str]]:
    """Return *files* by what they have to do with each other, as their lines tell.

    Files belong together that name one communicator, or one process; one that has all
    ranks of a communicator is a job of its own. Those that name no communicator stand
    under a name of their own.

    Args:
        job: what all of them said.
        files: in the order in which they were read.
    """
    heads: dict[int, int] = {}
    head = partial(head_of, heads=heads)
    homes: dict[str, int] = {}
    spoken: set[int] = set()
    for process in job.processes.values():
        if not process.sources:
            continue
        first = min(process.sources)
        for at in process.sources:
            heads[head(at)] = head(first)
        for comm in process.communicators.values():
            # One of a single rank tells nothing: each process may be a world of its own.
            if comm.comm_id and comm.nranks > 1:
                spoken.add(first)
                heads[head(first)] = head(homes.setdefault(comm.comm_id, first))
    spoken |= _whole(job)
    named = {head(at) for at in spoken}
    places = grouped(
        range(len(files)), lambda at: head(at) if head(at) in named else -1
    )
    groups = {at: [files[each] for each in own] for at, own in places.items()}
    loose = groups.pop(-1, [])
    if len(groups) < 2:
        return {"": list(files)}
    jobs = {}
    for found in groups.values():
        more = f" and {count_of(len(found) - 1, 'file')} more" if found[1:] else ""
        jobs[os.path.basename(found[0]) + more] = found
    return {**jobs, LOOSE: loose} if loose else jobs


def _whole(job: Job) -> set[int]:
    """Return the files that hold all ranks of their largest communicator."""
    ranks: dict[int, dict[int, set[int]]] = {}
    for process in job.processes.values():
        for comm in process.communicators.values() if len(process.sources) == 1 else ():
            sizes = ranks.setdefault(min(process.sources), {})
            sizes.setdefault(comm.nranks, set()).add(comm.rank)
    return {
        at
        for at, sizes in ranks.items()
        if max(sizes) > 1 and len(sizes[max(sizes)]) == max(sizes)
    }


def of_jobs(reports: Mapping[str, LogReport], rule: Rule) -> LogReport:
    """Return the worst of *reports*, by name of the job, and what the others come to."""
    spoken = {
        name: each
        for name, each in reports.items()
        # Files of no job may have nothing to say: scripts, configurations.
        if name != LOOSE or each.findings or each.coverage.records
    }
    reports = spoken or reports
    if len(reports) == 1:
        return next(iter(reports.values()))
    worst = min(reports, key=lambda job: WORST_FIRST.index(reports[job].verdict))
    report = reports[worst]
    counts = Counter(each.verdict for each in reports.values())
    said = ", ".join(f"{counts[each]} {each}" for each in WORST_FIRST if counts[each])
    if len(reports) <= _NAMED:
        said = ", ".join(f"{name} {each.verdict}" for name, each in reports.items())
    note = Finding(
        rule=rule.id,
        severity="note",
        subject=worst,
        message=f"one of {count_of(len(reports), 'job')}, each judged by itself: {said}",
        fix=rule.fix,
        source=rule.source,
        why=rule.meaning,
    )
    read = [each.coverage for each in reports.values()]
    return report._replace(
        summary=f"{report.verdict}: {worst}: {report.summary.partition(': ')[2]}",
        findings=(*report.findings, note),
        coverage=Coverage(*map(sum, zip(*read, strict=True))),
        jobs=tuple(
            JobRow(name, each.verdict, each.summary) for name, each in reports.items()
        ),
    )


def parts_of(job: Job, world: World) -> Iterator[Job]:
    """Yield each attempt of *world* where there are several, and what stands beside it."""
    if world.islands > 1 or not world.parts:
        return
    home = {process: at for at, part in enumerate(world.parts) for process in part}
    beside = len(world.parts)
    parts: dict[int, Job] = {}
    for key, process in job.processes.items():
        if process.communicators:
            at = home.get(process, beside)
            if at not in parts:
                parts[at] = Job(job.rulebook)
                parts[at].life = job.life
            part = parts[at]
            part.processes[key] = process
            part.records += process.records
    if len(parts) > 1:
        yield from (part for at, part in parts.items() if at == beside or beside > 1)


def with_part(report: LogReport, part: Job, alone: LogReport, fix: str) -> LogReport:
    """Return *report*, made no better than *alone*, what a *part* of the log comes to."""
    if not is_worse(alone.verdict, report.verdict):
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
