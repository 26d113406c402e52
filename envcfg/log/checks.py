"""What only all ranks together show: mixed networks or versions, ranks that never began."""

from __future__ import annotations

from collections.abc import Iterator

from envcfg.log.expectations import Expectations
from envcfg.log.job import Job
from envcfg.log.names import network_kind
from envcfg.log.numbers import count_of
from envcfg.log.process import Process, Sighting
from envcfg.log.rank import Symptom
from envcfg.log.traffic import Entity, traffic_of
from envcfg.log.versions import ranges_disjoint
from envcfg.log.world import World, world_communicators

Found = tuple[Entity | None, Symptom]
_GAVE_UP = ("group.cc", "init.cc", "enqueue.cc", "bootstrap.cc", "collectives.cc")
_STORE = "store-unreachable"
_LIBRARIES = ("nccl", "rccl")


def job_symptoms(job: Job, world: World, expect: Expectations) -> list[Found]:
    """Return what is wrong with the job as a whole, or with some ranks against others."""
    return [
        *_mixed_networks(world, expect),
        *_gdr(world, expect),
        *_size(world, expect),
        *_versions(world),
        *_dialects(world),
        *_plugin_versions(world),
        *_nics(world),
        *_incomplete(world),
        *_traces(job, world),
        *_rendezvous(job),
        *_fatal_plugin(world),
        *_masks(job, expect),
        *_warnings(job),
    ]


def versions_of(job: Job) -> dict[str, tuple[str, ...]]:
    """Return every version that was seen, by library."""
    versions: dict[str, set[str]] = {}
    for process in (*job.processes.values(), *job.strangers.values()):
        for library, known in process.versions.items():
            if library != "path" and known:
                versions.setdefault(library, set()).update(known)
    return {
        library: tuple(sorted(known)) for library, known in sorted(versions.items())
    }


def _mixed_networks(world: World, expect: Expectations) -> Iterator[Found]:
    kinds: dict[str, list[Entity]] = {}
    for entity in world.entities:
        for kind in {
            network_kind(name) or name for name in traffic_of(entity).networks
        }:
            kinds.setdefault(kind, []).append(entity)
    fallen = kinds.get("socket", [])
    if not fallen or len(kinds) < 2:
        return
    if any(entity.process.rings or entity.process.channels for entity in fallen):
        if expect.allow_socket:  # else each rank that uses them is a finding already
            for entity in fallen:
                detail = "use TCP sockets while others do not"
                yield entity, Symptom("socket-fallback", "degraded", detail)
        return  # it did connect
    others = sum(len(entities) for kind, entities in kinds.items() if kind != "socket")
    for entity in fallen:
        detail = f"use sockets while {count_of(others, 'other does', 'others do')} not"
        sighting = entity.process.seen.get("network Socket")
        yield entity, Symptom("network-mixed", "broken", detail, sighting)


def _gdr(world: World, expect: Expectations) -> Iterator[Found]:
    """What rings say of all their ranks, and whether any channel leaves a node."""
    if not world.multi:
        return
    people = _processes(world)
    if expect.gdr and not any(process.channels for process in people):
        detail = "no channel between nodes is shown"
        yield None, Symptom("gdr-unknown", "inconclusive", detail)
    culprits = any(
        staged or network_kind(name) == "socket"
        for process in people
        for (_, name), (_, staged) in process.channels.items()
    ) or any(network_kind(name) == "socket" for p in people for name in p.networks)
    witness = next((p for p in people if "0" in p.ring_gdr), None)
    if witness and not culprits:
        detail = "a rank of the communicator has no GPU RDMA, which its rings show"
        yield (
            None,
            Symptom("gdr-missing", "degraded", detail, witness.seen.get("rings")),
        )


def _size(world: World, expect: Expectations) -> Iterator[Found]:
    holders = [entity for entity in world.entities if entity.rank is not None]
    if world.size == 1 and len({id(entity.process) for entity in holders}) > 1:
        detail = (
            f"{count_of(len(holders), 'process', 'processes')}, each a world of 1 rank"
        )
        yield None, Symptom("worlds-of-one", "broken", detail, _first(holders))
    elif expect.ranks and world.size and world.size != expect.ranks:
        detail = f"{count_of(world.size, 'rank')} instead of {expect.ranks}"
        yield None, Symptom("ranks-unexpected", "broken", detail, _first(holders))


def _first(entities: list[Entity]) -> Sighting | None:
    return next((each.process.seen.get("communicator") for each in entities), None)


def _versions(world: World) -> Iterator[Found]:
    for library in _LIBRARIES:
        builds = {
            version: process
            for process in _processes(world)
            for version in sorted(process.versions.get(library, ()))
        }
        if len(builds) > 1:
            *_, (version, process) = sorted(builds.items())
            detail = f"{library.upper()} {' and '.join(sorted(builds))}"
            sighting = process.seen.get(f"version {library} {version}")
            yield None, Symptom("versions-differ", "broken", detail, sighting)


def _dialects(world: World) -> Iterator[Found]:
    """Compare versions that no line names, by the wording of lines."""
    known: dict[tuple[str, str], Process] = {}
    for process in _processes(world):
        for dialect in sorted(process.dialects):
            for other, holder in known.items():
                if holder is process or not ranges_disjoint(dialect, other):
                    continue
                if _has_version(process) and _has_version(holder):
                    continue  # the versions themselves are compared
                builds = f"{other[1]} on {holder.host}, {dialect[1]} on {process.host}"
                detail = f"{dialect[0].upper()} {builds}, by the wording of their lines"
                yield None, Symptom("versions-differ", "broken", detail)
                return
            known.setdefault(dialect, process)


def _has_version(process: Process) -> bool:
    return any(process.versions.get(library) for library in _LIBRARIES)


def _plugin_versions(world: World) -> Iterator[Found]:
    packages = {p.package: p for p in _processes(world) if p.package}
    if len(packages) > 1:
        detail = " and ".join(sorted(" ".join(package) for package in packages))
        sighting = next(iter(packages.values())).seen.get("plugin-package")
        yield None, Symptom("plugin-versions-differ", "degraded", detail, sighting)


def _nics(world: World) -> Iterator[Found]:
    counts: dict[tuple[str, int], Process] = {}
    for process in _processes(world):
        for name, nics in process.providers.items():
            if nics is not None:
                counts[name, nics] = process
    for name in {name for name, _ in counts}:
        found = sorted(nics for other, nics in counts if other == name)
        if len(found) > 1:
            fewest = counts[name, found[0]]
            detail = f"{found[0]} NICs on {fewest.host}, {found[-1]} elsewhere"
            sighting = fewest.seen.get(f"provider {name}")
            yield None, Symptom("nics-differ", "degraded", detail, sighting)


def _incomplete(world: World) -> Iterator[Found]:
    for entity in world.entities:
        for comm in world_communicators(entity.process, world.size):
            if entity.rank not in (None, comm.rank):
                continue
            if comm.phases and comm.phases <= {"Init START"}:
                yield (
                    entity,
                    Symptom("init-incomplete", "inconclusive", _stage(entity.process)),
                )
                break


def _stage(process: Process) -> str:
    if process.trees:
        return "stopped after the trees were connected"
    if process.rings:
        return "stopped between rings and trees"
    if process.channels or process.edges:
        return "stopped while channels were connected"
    return "began to initialise and did not finish"


def _traces(job: Job, world: World) -> Iterator[Found]:
    """Errors that went up through NCCL without a line that says why."""
    if any(each.rule.severity == "error" for each in job.occurrences.values()):
        return  # the reason is there
    for entity in world.entities:
        process = entity.process
        ended = any(
            phase.startswith(("Destroy", "Abort"))
            for comm in process.communicators.values()
            for phase in comm.phases
        )
        gave_up = any(trace.endswith(_GAVE_UP) for trace in process.traces)
        if gave_up and not ended:
            detail = "NCCL gave up and does not say why"
            sighting = process.seen.get("error-trace")
            yield entity, Symptom("failed-silently", "broken", detail, sighting)


def _rendezvous(job: Job) -> Iterator[Found]:
    """A store that nobody reached, unless a communicator shows that it was mended."""
    people = (*job.processes.values(), *job.strangers.values())
    if any(process.communicators for process in people):
        return
    sighting = next((p.seen[_STORE] for p in people if _STORE in p.seen), None)
    if sighting:
        detail = "the store of the job was not reached"
        yield None, Symptom("rendezvous-failed", "broken", detail, sighting)


def _fatal_plugin(world: World) -> Iterator[Found]:
    """A plugin that failed, where nothing shows that NCCL went on with another network."""
    if any(traffic_of(entity).networks for entity in world.entities):
        return
    for entity in world.entities:
        sighting = entity.process.seen.get("plugin-failed")
        if sighting and entity.process.informed:
            detail = "lost the plugin, and no other network is named"
            yield entity, Symptom("plugin-init-fatal", "broken", detail, sighting)


def _masks(job: Job, expect: Expectations) -> Iterator[Found]:
    if not expect.masks:
        return
    wrong = []
    for process in (*job.processes.values(), *job.strangers.values()):
        for rank, text in process.masks.items():
            mask = int(text or "0", 16)
            wanted = expect.masks[(rank or 0) % len(expect.masks)]
            if rank is not None and mask & ~wanted:
                wrong.append((rank, process, mask, wanted))
    for rank, process, mask, wanted in sorted(wrong, key=lambda each: each[0])[:1]:
        many = count_of(len(wrong), "rank runs", "ranks run")
        detail = (
            f"{many} on other cores: rank {rank} on {mask:#x} instead of {wanted:#x}"
        )
        sighting = process.seen.get("affinity")
        yield None, Symptom("affinity-order", "degraded", detail, sighting)


def _warnings(job: Job) -> Iterator[Found]:
    for count, sighting in job.unknown.values():
        words = sighting.text.partition("NCCL WARN ")[2][:100]
        times = count_of(count, "time")
        detail = f"warns of what envcfg has no rule for ({times}): {words}"
        yield None, Symptom("unknown-warning", "inconclusive", detail, sighting)


def _processes(world: World) -> list[Process]:
    return list(
        {id(entity.process): entity.process for entity in world.entities}.values()
    )
