"""The job as a whole: in records, in a sentence, and the questions that stay open."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

from envcfg.findings import Finding
from envcfg.log import checks
from envcfg.log.job import Job
from envcfg.log.names import network_group, provider_family
from envcfg.log.numbers import (
    count_of,
    first_of,
    named,
    number_ranges,
    ranks_of,
    said_of,
)
from envcfg.log.process import Process
from envcfg.log.rank import Symptom, told_together
from envcfg.log.rulebook import Rule
from envcfg.log.traffic import Entity, plugin_state
from envcfg.log.verdict import (
    JobReport,
    LogReport,
    Plugin,
    RankReport,
    Share,
    Transport,
    Unknown,
)
from envcfg.log.world import World

_TRANSPORTS = 1 << 16  # pairs of ranks that a report holds; more are no picture
# Kinds of the room of a job. Pairs of ranks are none: they are for the report's picture.
_KEPT = {
    "process": "processes",
    "line": "notable lines",
    "channel": "channels",
    "communicator": "communicators",
}


def job_report(job: Job, world: World, reports: Sequence[RankReport]) -> JobReport:
    """Return what is known of the job, from the *reports* of its ranks."""
    networks = Counter(each.network for each in reports if each.network)
    providers = {each.provider for each in reports if each.provider}
    return JobReport(
        world_size=world.size,
        ranks_seen=world.seen,
        ranks_missing=world.missing,
        nodes=world.hosts,
        node_count=world.node_count,
        network=_single(set(networks), network_group),
        networks=dict(sorted(networks.items())),
        provider=_single(providers, provider_family),
        plugin=_plugin([entity.process for entity in world.entities], reports),
        gdr=_job_gdr(reports),
        interfaces=_interfaces(world),
        versions=checks.versions_of(job),
        progress=job.life.progress,
    )


def _single(names: set[str], family: Callable[[str], str]) -> str | None:
    if len({family(name) for name in names}) > 1:
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


def transports_of(world: World) -> tuple[Transport, ...]:
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


def unknowns_of(
    job: Job,
    world: World,
    symptoms: Sequence[tuple[Entity | None, Symptom]],
    rules: Mapping[str, Rule],
) -> tuple[Unknown, ...]:
    """Return what the log does not show, the most important first."""
    found = [
        *_gaps(job, world),
        *_doubts([(e, each) for e, each in symptoms if each.verdict == "inconclusive"]),
    ]
    return tuple(Unknown(what, rules[name].fix or "") for name, what in found)


def _gaps(job: Job, world: World) -> Iterator[tuple[str, str]]:
    people = job.everyone
    if not job.records and not any(p.seen for p in people):
        what = "the log holds no line of NCCL or RCCL"
        said = []
        for name, kind in job.kinds.items():
            called = "standard input" if name == "-" else os.path.basename(name)
            said.append(f"{called} is {kind}")
        yield "no-nccl-lines", f"{what}: {', '.join(said[:3])}" if said else what
        return
    if not any(p.informed or p.networks for p in people):
        yield "no-info-lines", "NCCL wrote warnings only, no INFO line"
    if job.deduplicated:
        lines = count_of(job.deduplicated, "line")
        yield "deduplicated", f"Ray left out {lines} that other workers wrote too"
    if job.cut:
        lines = count_of(job.cut, "line")
        yield "line-cut", f"the end of {lines} that is longer than can be looked at"
    if beyond := [each for each in _KEPT if each in job.room.refused]:
        kinds = " and ".join(_KEPT[each] for each in beyond)
        yield "room-spent", f"the log has more {kinds} than check-log keeps"
    yield from _absent(world)


def _absent(world: World) -> Iterator[tuple[str, str]]:
    """Yield which ranks, of the world or of other communicators, are not in the log."""
    total = max((*world.seen[-1:], *world.missing[-1:]), default=-1) + 1
    if world.size is None:
        yield "world-unknown", "how many ranks the job has"
    if world.missing:
        many = count_of(len(world.missing), "rank")
        which = number_ranges(world.missing)
        what = f"{many} of {total} not in the log ({which})"
        if world.attempts > 1:
            parts = "attempts" if world.islands == 1 else "communicators of that size"
            what = (
                f"{many} of {total} not in each of {world.attempts} {parts} ({which})"
            )
        yield "ranks-missing", what
    absent = Counter(group.nranks for group in world.partial)
    for nranks, count in sorted(absent.items()):
        groups = "a communicator" if count == 1 else f"{count} communicators"
        yield "ranks-missing", f"ranks of {groups} of {nranks} are not in the log"


def _doubts(
    symptoms: Sequence[tuple[Entity | None, Symptom]],
) -> Iterator[tuple[str, str]]:
    grouped: dict[tuple[str, str], list[Entity | None]] = {}
    for entity, symptom in symptoms:
        grouped.setdefault((symptom.rule, symptom.detail), []).append(entity)
    for (name, detail), entities in grouped.items():
        people = [entity for entity in entities if entity]
        yield name, f"{who(people)} {said_of(named(e.rank for e in people), detail)}"


def who(entities: Sequence[Entity]) -> str:
    """Name the ranks, or the processes where ranks are unknown."""
    if ranks := {e.rank for e in entities if e.rank is not None}:
        return ranks_of(ranks)
    if len(entities) == 1:
        return entities[0].subject
    return count_of(len(entities), "process", "processes") if entities else "NCCL"


def summarize(
    report: LogReport,
    world: World,
    symptoms: Sequence[tuple[Entity | None, Symptom]],
    rules: Mapping[str, Rule],
) -> str:
    """Return the verdict in one sentence that begins with it."""
    if report.verdict == "ok":
        return f"ok: {_good(report, world)}"
    if report.verdict == "broken":
        finding = next(each for each in report.findings if each.severity == "error")
        return f"broken: {_said(finding)}"
    if report.verdict == "degraded":
        bad = [(e, each) for e, each in symptoms if e and each.verdict == "degraded"]
        if not bad:
            finding = next(
                each for each in report.findings if each.severity == "warning"
            )
            return f"degraded: {_said(finding)}"
        return f"degraded: {_bad(report, world, bad, rules)}"
    if report.unknowns:
        return f"inconclusive: {report.unknowns[0].what}"
    return "inconclusive: the log does not show which network the job used"


def ending(findings: Sequence[Finding], rules: Mapping[str, Rule]) -> str:
    """Say what ended the program, the cause first."""
    errors = [each for each in findings if each.severity == "error"]
    ends = [each for each in errors if each.rule in rules and rules[each.rule].ends]
    return _said(min(ends, key=lambda each: rules[each.rule].consequence))


def _said(finding: Finding) -> str:
    return (
        finding.message
        if finding.subject == "job"
        else f"{finding.subject}: {finding.message}"
    )


def _good(report: LogReport, world: World) -> str:
    job = report.job
    many = f"all {len(world.seen)} ranks"
    nodes = f" on {count_of(job.node_count, 'node')}" if job.node_count else ""
    over = f" over {job.provider}" if job.provider else ""
    gdr = {
        "yes": ", with GPU RDMA",
        "no": ", without GPU RDMA",
        "partial": ", with GPU RDMA on some channels",
    }.get(job.gdr, "; whether with GPU RDMA is not shown")
    return f"{many}{nodes} use {job.network}{over}{gdr}"


def _bad(
    report: LogReport,
    world: World,
    symptoms: Sequence[tuple[Entity, Symptom]],
    rules: Mapping[str, Rule],
) -> str:
    """Return what most of the degraded ranks suffer from, and why.

    Of each rank one symptom counts, the first, which is the worst; but a fallback to
    sockets counts before any, as whatever else is wrong follows from it. The commonest is
    named with its number. Behind it stands why: the plugin that failed, on which hosts, and
    the commonest of the symptoms that explain it.
    """
    worst: dict[Entity, Symptom] = {}
    for entity, symptom in symptoms:
        if entity not in worst or symptom.rule == "socket-fallback":
            worst[entity] = symptom
    usual = Counter((each.rule, each.detail) for each in worst.values())
    (rule, detail), count = usual.most_common(1)[0]
    same = [e for e in worst.values() if (e.rule, e.detail) == (rule, detail)]
    detail = told_together(same)
    ranked = all(entity.rank is not None for entity in worst) and report.job.world_size
    noun = ("rank", "ranks") if ranked else ("process", "processes")
    many = f"{count} of {count_of(ranked or len(world.entities), *noun)}"
    fallen = [e for e, each in worst.items() if each.rule == "socket-fallback"]
    tails = []
    for state, words in (("missing", "not found"), ("failed", "failed to start")):
        here = (e.process for e in fallen if plugin_state(e.process) == state)
        if hosts := {process.host for process in here if process.host}:
            tails.append(f"plugin {words} on {first_of(hosts)}")
    why = Counter(s.detail for _, s in symptoms if rule in rules[s.rule].explains)
    for reason, holders in why.most_common(1):
        tails.append(f"{'they' if holders > 1 else 'it'} {said_of(holders, reason)}")
    return "; ".join([f"{many} {said_of(count, detail)}", *tails])
