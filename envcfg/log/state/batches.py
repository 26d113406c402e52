"""Several jobs in files or in one log, by names or lines: each has its own verdict."""

import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import date
from itertools import pairwise

from envcfg.common.findings import Finding
from envcfg.log.numbers import collect, count_of, first_of, grouped
from envcfg.log.read.rulebook import LogRule
from envcfg.log.state.groups import connect, connected, groups_of
from envcfg.log.state.job_state import JobLog
from envcfg.log.state.process import Process
from envcfg.log.state.world import World
from envcfg.log.verdict import (
    WORST_FIRST,
    Coverage,
    JobRow,
    LogReport,
    OpenQuestion,
    is_worse,
)

SEVERAL = "several-jobs"  # the rule that reports it
_NAMED = 8  # jobs whose verdicts are listed
_DAY = re.compile(r"\b20\d\d-\d\d-\d\d(?=[T _]\d\d:)")
LOOSE = "files without a communicator"
PART = "another-job"


def by_communicator(job: JobLog, files: Sequence[str]) -> dict[str, list[str]]:
    """Group *files* by the communicators that their lines share.

    Files with one communicator or one process belong together. A file with all ranks of a
    communicator is its own job. Files without a communicator get a group of their own.

    Args:
        job: facts from all of them.
        files: in the order in which they were read.
    """
    processes = [process for process in job.processes.values() if process.sources]
    homes = collect(
        (comm.comm_id, min(process.sources))
        for process in processes
        for comm in process.communicators.values()
        # A single rank proves nothing: each process may be its own world.
        if comm.comm_id and comm.nranks > 1
    )
    head = connect([*(process.sources for process in processes), *homes.values()])
    spoken = _whole(job).union(*homes.values())
    speaking = {head(index) for index in spoken}
    places = grouped(range(len(files)), head)
    loose = [
        index for part, own in places.items() if part not in speaking for index in own
    ]
    parts = [own for part, own in places.items() if part in speaking]
    if len(parts) < 2:
        own = grouped(processes, lambda process: head(min(process.sources)))
        parts, loose = _without_contradictions(places, own), []
    groups = [[files[index] for index in own] for own in parts]
    if len(groups) < 2:
        return {"": list(files)}
    jobs = {name_of_files(group): group for group in groups}
    return {**jobs, LOOSE: [files[index] for index in loose]} if loose else jobs


def _without_contradictions(
    places: Mapping[int, list[int]], processes: Mapping[int, list[Process]]
) -> list[list[int]]:
    """Join the files of *places* that may be of one job, by the *processes* in each.

    Files are of two jobs or starts if one rank is on other nodes, if their largest
    communicators differ in size, or if whole days are between their lines.
    """
    homes: list[tuple[list[int], dict[object, set[object]]]] = []
    for place, files in places.items():
        marks = _marks_of(processes.get(place, ()))
        fitting = (
            home
            for home in homes
            if not any(
                home[1].get(key, own).isdisjoint(own) for key, own in marks.items()
            )
        )
        home = next(fitting, ([], {}))
        homes += [] if home[0] else [home]
        home[0].extend(files)
        for key, own in marks.items():
            home[1].setdefault(key, set()).update(own)
    return [files for files, _ in homes]


def _marks_of(processes: Sequence[Process]) -> dict[object, set[object]]:
    """Return the size of the largest communicator, the nodes of each of its ranks, and the
    days of the lines, each with the day before."""
    comms = [(c, p.host) for p in processes for c in p.communicators.values()]
    size = max((comm.nranks for comm, _ in comms), default=0)
    pairs: list[tuple[object, object]] = [
        (comm.rank, host) for comm, host in comms if comm.nranks == size > 1
    ]
    pairs += [("size", size)] if pairs else []
    for process in processes:
        pairs += [(rank, process.host) for rank in process.rows]
        for sighting in process.seen.values():
            if match := _DAY.search(sighting.text):
                with suppress(ValueError):
                    day = date.fromisoformat(match[0]).toordinal()
                    pairs += [("day", day), ("day", day - 1)]
    return {key: {*values} for key, values in collect(pairs).items()}


def name_of_files(files: Sequence[str]) -> str:
    """Return the name of a group of *files* in messages."""
    more = f" and {count_of(len(files) - 1, 'file')} more" if files[1:] else ""
    return os.path.basename(files[0]) + more


def _whole(job: JobLog) -> set[int]:
    """Return the files that hold all ranks of their largest communicator."""
    ranks: dict[int, dict[int, set[int]]] = {}
    for process in job.processes.values():
        for comm in process.communicators.values() if len(process.sources) == 1 else ():
            sizes = ranks.setdefault(min(process.sources), {})
            sizes.setdefault(comm.nranks, set()).add(comm.rank)
    return {
        index
        for index, sizes in ranks.items()
        if max(sizes) > 1 and len(sizes[max(sizes)]) == max(sizes)
    }


def of_jobs(
    reports: Mapping[str, LogReport], rule: LogRule, undecided: Sequence[str] = ()
) -> LogReport:
    """Return the worst of *reports* (by job name), with a summary of the other jobs.

    Reports on *undecided* files are named: the files may belong to one of the jobs.
    """
    spoken = {
        name: log_report
        for name, log_report in reports.items()
        # Files without a job may be scripts or configurations.
        if name not in (LOOSE, *undecided)
        or log_report.findings
        or log_report.coverage.records
    }
    reports = spoken or reports
    if len(reports) == 1:
        return next(iter(reports.values()))
    # The user needs the worst job first; the others are one line each.
    worst = min(reports, key=lambda job: WORST_FIRST.index(reports[job].verdict))
    report = reports[worst]
    counts = Counter(log_report.verdict for log_report in reports.values())
    message = ", ".join(
        f"{counts[verdict]} {verdict}" for verdict in WORST_FIRST if counts[verdict]
    )
    if len(reports) <= _NAMED:
        message = ", ".join(
            f"{name} {log_report.verdict}" for name, log_report in reports.items()
        )
    message = (
        f"one of {count_of(len(reports), 'job')}, each judged by itself: {message}"
    )
    if alone := [name for name in undecided if name in reports]:
        message += f"; no job known, judged alone: {first_of(alone)}"
    note = rule.finding(worst, message)
    coverages = [log_report.coverage for log_report in reports.values()]
    return report._replace(
        summary=f"{report.verdict}: {worst}: {report.summary.partition(': ')[2]}",
        findings=(*report.findings, note),
        coverage=Coverage(*map(sum, zip(*coverages, strict=True))),
        bugs=tuple(
            dict.fromkeys(
                bug for log_report in reports.values() for bug in log_report.bugs
            )
        ),
        jobs=tuple(
            JobRow(name, log_report.verdict, log_report.summary)
            for name, log_report in reports.items()
        ),
    )


def note_of_starts(job: JobLog, rule: LogRule) -> Iterator[Finding]:
    """Yield a note if *job* has lines of several jobs or starts, one after another.

    A start is the processes that communicators join. The processes of one job write their
    first lines at the same time; those of a job that comes later, or of an old log that is
    printed again, write them behind all others.
    """
    groups = [
        group
        for group in groups_of(job.processes.values())
        if group.comm_id and group.nranks > 1 and group.finished
    ]
    starts = [
        {process: None for group in part for process in group.holders}
        for part in connected(groups)
    ]
    home = {process: number for number, part in enumerate(starts) for process in part}
    order = [home[process] for process in job.processes.values() if process in home]
    changes = sum(before != after for before, after in pairwise(order))
    # Each start has one place in the order, unless its lines are mixed with others.
    if len(starts) < 2 or changes != len(starts) - 1:
        return
    hosts = [first_of({process.host for process in part}) for part in starts]
    names = ", then ".join(hosts[:_NAMED])
    many = count_of(len(starts), "job or start", "jobs or starts")
    message = f"lines of {many}, one after another; the worst counts: {names}"
    yield rule.finding("the log", message)


def parts_of(job: JobLog, world: World) -> Iterator[JobLog]:
    """Yield each attempt of *world* if there are several, with the lines between
    attempts."""
    if world.islands > 1 or not world.parts:
        return
    home = {
        process: index for index, part in enumerate(world.parts) for process in part
    }
    beside = len(world.parts)
    parts: dict[int, JobLog] = {}
    for key, process in job.processes.items():
        if process.communicators:
            index = home.get(process, beside)
            if index not in parts:
                parts[index] = JobLog(job.rulebook)
                parts[index].life = job.life
            part = parts[index]
            part.processes[key] = process
            part.records += process.records
    # A single part is the whole job, which is judged already.
    if len(parts) > 1:
        yield from (
            part for index, part in parts.items() if index == beside or beside > 1
        )


def with_part(report: LogReport, part: JobLog, alone: LogReport, fix: str) -> LogReport:
    """Return *report*, but never better than *alone*, the verdict on one *part* of the
    log."""
    report = report._replace(bugs=tuple(dict.fromkeys((*report.bugs, *alone.bugs))))
    if not is_worse(alone.verdict, report.verdict):
        return report
    hosts = first_of({process.host for process in part.processes.values()})
    many = count_of(len(part.processes), "process", "processes")
    message = alone.summary.partition(": ")[2]
    subject = f"{many} on {hosts}, a part of their own: {message}"
    bad = [
        finding
        for finding in alone.findings
        if finding.severity in ("error", "warning")
    ]
    return report._replace(
        verdict=alone.verdict,
        summary=f"{alone.verdict}: {subject}",
        findings=(*bad, *report.findings),
        cause=alone.cause,
        consequences=alone.consequences,
        next=alone.next,
        unknowns=(OpenQuestion(subject, fix), *report.unknowns),
    )
