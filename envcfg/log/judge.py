"""The verdict of a job: every rank's verdict, and what only all of them together show."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from envcfg.findings import Evidence, Finding
from envcfg.log import checks
from envcfg.log.expectations import Expectations
from envcfg.log.job import Job, Occurrence
from envcfg.log.names import network_kind
from envcfg.log.numbers import number_ranges, said_of
from envcfg.log.process import Process, Sighting
from envcfg.log.rank import Entity, Symptom, judge_rank
from envcfg.log.rulebook import Rule
from envcfg.log.summary import summarize, unknowns_of
from envcfg.log.verdict import (
    Coverage,
    JobReport,
    LogReport,
    Plugin,
    RankReport,
    Share,
    Transport,
    Verdict,
)
from envcfg.log.world import World, world_of

Locate = Callable[[Sequence[Sighting]], Sequence[Evidence]]
Found = tuple[Finding, Sighting | None]
_TRANSPORTS = (
    1 << 16
)  # pairs of ranks that a report holds; more are no picture any more
_EFFECT: dict[str, Verdict] = {"error": "broken", "warning": "degraded"}


class Read(NamedTuple):
    """What was read: how many files, and bytes after decompression."""

    files: int
    size: int


def judge(job: Job, expect: Expectations, locate: Locate, read: Read) -> LogReport:
    """Return what *job* comes to.

    Args:
        job: everything that its lines said.
        expect: what the log must show.
        locate: gives file and line of sightings, all at once.
        read: how much was read.
    """
    world = world_of(job, expect)
    judged = [(entity, *_judge_in(world, entity, expect)) for entity in world.entities]
    complete = bool(world.size) and not world.missing
    symptoms: list[tuple[Entity | None, Symptom]] = [
        (entity, each)
        for entity, _, found in judged
        for each in found
        if not (complete and entity.rank is None and each.verdict == "inconclusive")
    ]
    symptoms += checks.job_symptoms(job, world, expect)
    broken = _broken_processes(job)
    reports = [
        _with_errors(report, entity, broken)
        for entity, report, _ in judged
        if entity.rank is not None or not complete or report.verdict == "degraded"
    ]
    rules = job.rulebook.rules
    found = [*_rule_findings(job, world), *_symptom_findings(symptoms, rules)]
    findings = sorted(_placed(found, locate), key=_weight)
    unknowns = unknowns_of(job, world, symptoms, rules)
    report = LogReport(
        verdict=_job_verdict(findings, reports, unknowns),
        summary="",
        job=_job_report(job, world, reports),
        ranks=tuple(_one_each(report for report in reports if report.rank >= 0)),
        transports=_transports(world),
        findings=tuple(findings),
        unknowns=unknowns,
        coverage=Coverage(
            read.files,
            read.size,
            job.records,
            sum(count for count, _ in job.unknown.values()),
        ),
    )
    return report._replace(summary=summarize(report, world, symptoms))


def _judge_in(
    world: World, entity: Entity, expect: Expectations
) -> tuple[RankReport, list[Symptom]]:
    return judge_rank(entity, multi=world.multi, expect=expect, silent=world.silent)


def _job_verdict(
    findings: Sequence[Finding],
    reports: Sequence[RankReport],
    unknowns: Sequence[object],
) -> Verdict:
    effects = {_EFFECT.get(finding.severity) for finding in findings}
    if "broken" in effects:
        return "broken"
    if "degraded" in effects:
        return "degraded"
    if unknowns or not reports or any(each.verdict != "ok" for each in reports):
        return "inconclusive"
    return "ok"


def _weight(finding: Finding) -> tuple[bool, int, int]:
    order = ("error", "warning", "note")
    return not finding.cause, order.index(finding.severity), -finding.count


def _broken_processes(job: Job) -> dict[tuple[str, int | None], str]:
    return {
        key: occurrence.rule.meaning
        for occurrence in job.occurrences.values()
        if occurrence.rule.severity == "error"
        for key in occurrence.processes
    }


def _with_errors(
    report: RankReport, entity: Entity, broken: dict[tuple[str, int | None], str]
) -> RankReport:
    reason = broken.get((entity.process.host, entity.process.pid))
    return report._replace(verdict="broken", reason=reason) if reason else report


def _one_each(reports: Iterable[RankReport]) -> list[RankReport]:
    """Keep the worst report of each rank: a log may hold a job that was started twice."""
    order: tuple[Verdict, ...] = ("broken", "degraded", "inconclusive", "ok")
    best: dict[int, RankReport] = {}
    for report in reports:
        known = best.get(report.rank)
        if known is None or order.index(report.verdict) < order.index(known.verdict):
            best[report.rank] = report
    return [best[rank] for rank in sorted(best)]


def _placed(found: Sequence[Found], locate: Locate) -> list[Finding]:
    """Return the findings, with the places of the lines that show them."""
    seen = [sighting for _, sighting in found if sighting]
    places = dict(zip(seen, locate(seen), strict=True))
    return [
        finding._replace(evidence=places[sighting]) if sighting else finding
        for finding, sighting in found
    ]


def _rule_findings(job: Job, world: World) -> list[Found]:
    ranks = {id(entity.process): entity.rank for entity in world.entities}
    firsts = {id(occurrence) for occurrence in job.first_errors.values()}
    has_cause = bool(firsts)
    found: list[Found] = []
    for occurrence in job.occurrences.values():
        rule = occurrence.rule
        if rule.severity is None:
            continue
        follows = (
            rule.severity == "error" and has_cause and id(occurrence) not in firsts
        )
        finding = Finding(
            rule=rule.id,
            severity=rule.severity,
            subject=_subject(_people(occurrence, ranks)),
            message=rule.meaning,
            fix=rule.fix,
            source=rule.source,
            count=occurrence.count,
            cause=not follows,
        )
        found.append((finding, occurrence.first))
    return found


def _people(
    occurrence: Occurrence, ranks: dict[int, int | None]
) -> list[tuple[int | None, Process]]:
    return [(ranks.get(id(p)), p) for p in occurrence.processes.values()]


def _symptom_findings(
    symptoms: Sequence[tuple[Entity | None, Symptom]],
    rules: dict[str, Rule],
) -> list[Found]:
    grouped: dict[tuple[str, str], list[tuple[Entity | None, Symptom]]] = {}
    for entity, symptom in symptoms:
        if rules[symptom.rule].severity:  # the others are only something unknown
            key = symptom.rule, symptom.detail
            grouped.setdefault(key, []).append((entity, symptom))
    found: list[Found] = []
    for (name, detail), members in grouped.items():
        rule = rules[name]
        people = [(entity.rank, entity.process) for entity, _ in members if entity]
        sighting = next((each.sighting for _, each in members if each.sighting), None)
        finding = Finding(
            rule=name,
            severity=rule.severity or "note",
            subject=_subject(people) if people else "job",
            message=said_of(len(people) or 2, detail),
            fix=rule.fix,
            source=rule.source,
            why=rule.meaning,
            count=len(members),
        )
        found.append((finding, sighting))
    return found


def _subject(people: Sequence[tuple[int | None, Process]]) -> str:
    ranks = sorted({rank for rank, _ in people if rank is not None})
    if ranks:
        return f"rank{'s' if len(ranks) > 1 else ''} {number_ranges(ranks)}"
    hosts = sorted({process.host for _, process in people if process.host})
    if not hosts:
        return "job"
    return ", ".join(hosts[:4]) + (
        f" and {len(hosts) - 4} more" if len(hosts) > 4 else ""
    )


def _job_report(job: Job, world: World, reports: Sequence[RankReport]) -> JobReport:
    networks = Counter(each.network for each in reports if each.network)
    providers = {each.provider for each in reports if each.provider}
    return JobReport(
        world_size=world.size,
        ranks_seen=world.seen,
        ranks_missing=world.missing,
        nodes=world.hosts,
        node_count=world.node_count,
        network=_single(set(networks)),
        networks=dict(sorted(networks.items())),
        provider=_single(providers),
        plugin=_plugin([entity.process for entity in world.entities], reports),
        gdr=_job_gdr(reports),
        interfaces=_interfaces(world),
        versions=checks.versions_of(job),
    )


def _single(names: set[str]) -> str | None:
    if len({network_kind(name) or name for name in names}) > 1:
        return "mixed"
    return min(names) if names else None


def _plugin(processes: Sequence[Process], reports: Sequence[RankReport]) -> Plugin:
    states = {each.plugin for each in reports}
    packages = sorted({p.package for p in processes if p.package})
    names = sorted({name for p in processes for name in p.loaded if name})
    name, version = packages[0] if packages else (names[0] if names else None, None)
    if "loaded" in states and states & {"missing", "failed"}:
        return Plugin(name, version, "some")
    if states == {"loaded"}:
        return Plugin(name, version, "all")
    if states and states <= {"missing", "failed"}:
        return Plugin(name, version, "none")
    return Plugin(name, version, "unknown")


def _job_gdr(reports: Sequence[RankReport]) -> Share:
    shares = {each.gdr for each in reports}
    if shares == {"yes"}:
        return "yes"
    if "partial" in shares or {"yes", "no"} <= shares:
        return "partial"
    known = shares - {"unknown"}
    return known.pop() if len(known) == 1 else "unknown"


def _interfaces(world: World) -> dict[str, tuple[str, ...]]:
    names: dict[str, tuple[str, ...]] = {}
    for use in ("bootstrap", "socket"):
        counted = Counter(
            name
            for entity in world.entities
            for name in entity.process.interfaces.get(use, ())
        )
        names[use] = tuple(name for name, _ in counted.most_common())
    return names


def _transports(world: World) -> tuple[Transport, ...]:
    """Return how the ranks of the world send to each other."""
    ranks: dict[int, set[int]] = {}
    for entity in world.entities:
        if entity.rank is not None:
            ranks.setdefault(id(entity.process), set()).add(entity.rank)
    found = {
        Transport(edge.sender, edge.receiver, edge.kind, edge.gdr)
        for entity in world.entities
        for edge in entity.process.edges
        if edge.own in ranks.get(id(entity.process), ())
        and edge.nranks in (None, world.size)
    }
    ordered = sorted(
        found, key=lambda each: (each.sender, each.receiver, each.kind, str(each.gdr))
    )
    return tuple(ordered[:_TRANSPORTS])
