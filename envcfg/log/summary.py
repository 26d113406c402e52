"""The job as a whole: in records, in a sentence, and the questions that stay open."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from envcfg.findings import Finding
from envcfg.log import checks
from envcfg.log.job import Job
from envcfg.log.names import network_group, provider_family
from envcfg.log.numbers import count_of, first_of, said_of
from envcfg.log.rank import Symptom, told_together
from envcfg.log.rulebook import Rule
from envcfg.log.traffic import Entity, plugin_state
from envcfg.log.verdict import (
    JobReport,
    Loaded,
    LogReport,
    Plugin,
    RankReport,
    Transport,
)
from envcfg.log.world import World

_TRANSPORTS = 1 << 16  # pairs of ranks that a report holds; more are no picture


# Ranks are counted, and what all say in one word is the job's word; else it is "mixed",
# "some" or "partial". Of the plug-in, "all" needs that no rank lacks it and that each
# has said so; one that says nothing leaves it unknown. Its name is that of the package,
# which has a version, before that of the library.
def job_report(job: Job, world: World, reports: Sequence[RankReport]) -> JobReport:
    """Return what is known of the job, from the *reports* of its ranks."""
    networks = Counter(each.network for each in reports if each.network)
    providers = {each.provider for each in reports if each.provider}
    shares = {each.gdr for each in reports} - {"unknown"}
    states = {each.plugin for each in reports}
    lost = states & {"missing", "failed"}
    loaded: Loaded = "unknown"
    if "loaded" in states and (lost or states == {"loaded"}):
        loaded = "some" if lost else "all"
    elif states and states == lost:
        loaded = "none"
    processes = [entity.process for entity in world.entities]
    packages = sorted({p.package for p in processes if p.package})
    names = sorted({name for p in processes for name in p.loaded if name})
    plugin, version = packages[0] if packages else (names[0] if names else None, None)
    used = {
        use: Counter(name for p in processes for name in p.interfaces.get(use, ()))
        for use in ("bootstrap", "socket")
    }
    return JobReport(
        world_size=world.size,
        ranks_seen=world.seen,
        ranks_missing=world.missing,
        nodes=world.hosts,
        node_count=world.node_count,
        network=_single(set(networks), network_group),
        networks=dict(sorted(networks.items())),
        provider=_single(providers, provider_family),
        plugin=Plugin(plugin, version, loaded),
        gdr="partial" if len(shares) > 1 else next(iter(shares), "unknown"),
        interfaces={
            use: tuple(name for name, _ in counted.most_common())
            for use, counted in used.items()
        },
        versions=checks.versions_of(job),
        progress=job.life.progress,
    )


def _single(names: set[str], family: Callable[[str], str]) -> str | None:
    if len({family(name) for name in names}) > 1:
        return "mixed"
    return min(names) if names else None


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
        return f"broken: {said(finding)}"
    if report.verdict == "degraded":
        bad = [(e, each) for e, each in symptoms if e and each.verdict == "degraded"]
        if not bad:
            finding = next(
                each for each in report.findings if each.severity == "warning"
            )
            return f"degraded: {said(finding)}"
        return f"degraded: {_bad(report, world, bad, rules)}"
    if report.unknowns:
        what = report.unknowns[0].what
        if known := _known(report, world):
            return f"inconclusive: not proven: {known}; {what}"
        progress = report.job.progress
        ended = (
            f"the program ended well ({progress.ended}); "
            if progress and progress.ended
            else ""
        )
        return f"inconclusive: {ended}{what}"
    return "inconclusive: the log does not show which network the job used"


def ending(findings: Sequence[Finding], rules: Mapping[str, Rule]) -> str:
    """Say what ended the program, the cause first."""
    errors = [each for each in findings if each.severity == "error"]
    ends = [each for each in errors if each.rule in rules and rules[each.rule].ends]
    return said(min(ends, key=lambda each: rules[each.rule].consequence))


def said(finding: Finding) -> str:
    """Return what a finding says, and of whom."""
    about = "" if finding.subject == "job" else f"{finding.subject}: "
    return about + finding.message


def _good(report: LogReport, world: World) -> str:
    many = f"all {len(world.seen)} ranks"
    nodes = report.job.node_count
    gdr = {
        "yes": ", with GPU RDMA",
        "no": ", without GPU RDMA",
        "partial": ", with GPU RDMA on some channels",
    }.get(report.job.gdr, "; whether with GPU RDMA is not shown")
    return f"{many}{_used(report.job, nodes, 'use')}{gdr}"


def _used(job: JobReport, nodes: int | None, verb: str) -> str:
    on = f" on {count_of(nodes, 'node')}" if nodes else ""
    return f"{on} {verb} {job.network}{f' over {job.provider}' if job.provider else ''}"


def _known(report: LogReport, world: World) -> str:
    """Say what all ranks in the log use where none of them is in doubt, else nothing."""
    job = report.job
    unclear = world.alike or world.blurred or world.islands > 1 or world.multi is False
    if unclear or not job.network or "mixed" in (job.network, job.provider):
        return ""
    if any(each.network is None for each in report.ranks):
        return ""
    seen = len({each.rank for each in report.ranks}) or len(world.entities)
    noun = ("rank", "ranks") if report.ranks else ("process", "processes")
    gdr = {"yes": " with GPU RDMA", "no": " without GPU RDMA"}.get(job.gdr, "")
    many = f"{'all' if seen > 1 else 'the'} {count_of(seen, *noun)} seen"
    return f"{many}{_used(job, len(job.nodes), said_of(seen, 'use'))}{gdr}"


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
