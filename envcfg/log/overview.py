"""The job as a whole: what its ranks have in common, and how they send to each other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from envcfg.log import checks
from envcfg.log.job import Job
from envcfg.log.names import network_group, provider_family
from envcfg.log.process import Process
from envcfg.log.verdict import JobReport, Plugin, RankReport, Share, Transport
from envcfg.log.world import World

_TRANSPORTS = (
    1 << 16
)  # pairs of ranks that a report holds; more are no picture any more


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
