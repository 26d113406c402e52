"""Who holds a job up, for people: ranks that do the same in one row, then the reasons."""

from __future__ import annotations

from collections.abc import Iterator

from envcfg.hang.activity import does
from envcfg.hang.judge import Judgement, span
from envcfg.hang.programs import program_names
from envcfg.hang.records import Evidence, RankView
from envcfg.log.numbers import count_of, first_of, number_ranges
from envcfg.report.styled import Line, in_columns

_STYLES = {"error": "bold red", "warning": "yellow", "note": ""}
_HEAD = ("ranks", "nodes", "what each does")


def hang_lines(seen: Evidence, judgement: Judgement) -> Iterator[Line]:
    """Yield the report: what was seen, what it means, and how the log ends."""
    yield "bold", _title(seen)
    yield from _table(seen)
    for each in judgement.findings:
        subject = f"{each.subject}: " if each.subject else ""
        follows = "" if each.cause else "; follows from the above"
        said = f"{each.severity}: {subject}{each.message}{follows}  [{each.rule}]"
        yield _STYLES[each.severity], said
        if each.fix:
            yield "", f"  fix: {each.fix}"
    yield from _log(seen)
    yield "dim", _sources(seen)


def _title(seen: Evidence) -> str:
    answering = sum(node.answers for node in seen.nodes)
    said = f"{answering} of {count_of(len(seen.nodes), 'node')} answer"
    silent = seen.log.age
    since = f", its log silent for {span(silent)}" if silent is not None else ""
    return f"job {seen.job}: {said}, {count_of(len(seen.ranks), 'rank')} seen{since}"


def _table(seen: Evidence) -> Iterator[Line]:
    groups: dict[tuple[str, str], list[RankView]] = {}
    programs = program_names(seen.ranks)
    for rank in seen.ranks:
        key = programs[rank.host, rank.pid], does(rank)
        groups.setdefault(key, []).append(rank)
    rows = [_HEAD] if groups else []
    for (program, what), ranks in groups.items():
        hosts = {rank.host for rank in ranks}
        where = first_of(hosts) if len(hosts) <= 3 else count_of(len(hosts), "node")
        numbers = number_ranges([rank.rank for rank in ranks])
        rows.append((f"{numbers} of {program}" if program else numbers, where, what))
    yield from (("", line) for line in in_columns(rows))


def _log(seen: Evidence) -> Iterator[Line]:
    log = seen.log
    if not log.path:
        yield "", "log: Slurm names none for this job"
    elif log.problem:
        yield "", f"log: {log.path} cannot be read: {log.problem}"
    elif not log.text:
        yield "", f"log: {log.path} is empty"
    else:
        number = "" if log.line is None else f":{log.line}"
        yield "", f"log: {log.path}{number}, {span(log.age or 0)} ago: {log.text}"


def _sources(seen: Evidence) -> str:
    """Return what was looked at, and how much of it was there."""
    ranks = len(seen.ranks)
    stacks = sum(bool(rank.stack) for rank in seen.ranks)
    return (
        f"looked at: processes of {count_of(ranks, 'rank')}, Python stacks of {stacks}, "
        f"RAS of {count_of(len(seen.ras_read), 'node')}, "
        f"Flight Recorder of {count_of(len(seen.flights), 'rank')}"
    )
