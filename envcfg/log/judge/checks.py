"""Checks over all ranks: networks, plugins, versions and places."""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise

from envcfg.log.expectations import Expectations
from envcfg.log.judge.rank import Symptom
from envcfg.log.judge.reasons import Member, reasons_of
from envcfg.log.names import (
    is_fast,
    network_family,
    network_group,
    network_kind,
    provider_family,
    ranges_disjoint,
)
from envcfg.log.numbers import count_of
from envcfg.log.read.catalogue import look_up, said_by, warned
from envcfg.log.read.process_facts import Sighting
from envcfg.log.state.job_state import JobLog
from envcfg.log.state.process import Process
from envcfg.log.state.traffic import RDMA, Entity, kinds_of, traffic_of
from envcfg.log.state.world import World

KNOWN = RDMA | {"socket"}  # kinds whose lines report GPU RDMA
COPIES = "started-per-rank"
_STORES = "store-unreachable", "port-taken"
_LIBRARIES = ("nccl", "rccl")
PLUGIN = "plugin"  # the package of a plugin among the versions of libraries


def job_symptoms(job: JobLog, world: World, expect: Expectations) -> list[Member]:
    """Return the problems of the job as a whole, and of ranks that differ from the
    others."""
    # An unreachable store is an error, unless a communicator shows a later success.
    stores = [p.seen[e] for p in job.everyone for e in _STORES if e in p.seen]
    if any(process.communicators for process in job.everyone):
        stores = []
    detail = "the store of the job was not reached"
    lost = [(None, Symptom("rendezvous-failed", "broken", detail, s)) for s in stores]
    compared = [
        symptom
        for start in world.starts
        for symptom in (
            *_mixed_networks(start, expect),
            *_names_differ(start),
            *_versions(start),
            *_dialects(start),
            *_plugin_versions(start),
            *_nics(start),
        )
    ]
    return [
        *compared,
        *_gdr(world, expect),
        *lost[:1],  # all processes try the same store
        *_fatal_plugin(world),
        *_masks(job, expect),
        *_copies(job, expect),
        *_warnings(job),
    ]


def versions_of(job: JobLog) -> dict[str, tuple[str, ...]]:
    """Return every version that was seen, by library."""
    return {
        library: tuple(sorted(versions))
        for library, versions in sorted(shown_versions(job.everyone).items())
        # "path" is the place of a library, which differs between nodes without harm.
        if library not in ("path", PLUGIN)
    }


def shown_versions(
    processes: Sequence[Process],
) -> dict[str, dict[str, Sighting | None]]:
    """Return the versions by library, each with the line that shows it."""
    sightings: dict[str, dict[str, Sighting | None]] = {}
    for process in processes:
        for library, versions in process.versions.items():
            for version in versions:
                sighting = process.seen.get(f"version {library} {version}")
                sightings.setdefault(library, {}).setdefault(version, sighting)
        if process.package:
            sighting = process.seen.get("plugin-package")
            sightings.setdefault(PLUGIN, {}).setdefault(process.package[-1], sighting)
    return sightings


def _mixed_networks(world: World, expect: Expectations) -> Iterator[Member]:
    kinds = {
        entity: used
        for entity in world.entities
        # In an incomplete log, a line without a process may be of a rank.
        if (entity.process.pid or not world.complete)
        and (used := kinds_of(entity, silent=world.silent))
    }
    if len(set(kinds.values())) < 2:
        return
    # A fallback to sockets is named even if most ranks have it: it is the slow network.
    fallen = [entity for entity, used in kinds.items() if "socket" in used]
    if fallen:
        yield from _fallen(fallen, len(kinds) - len(fallen), expect)
        return
    # Without sockets the most common network is taken as the intended one.
    usual = Counter(kinds.values()).most_common(1)[0][0]
    for entity, kind in kinds.items():
        if kind != usual:
            detail = "use another network than others, and the two cannot talk"
            name = next(iter(traffic_of(entity).networks), "")
            sighting = entity.process.seen.get(f"network {name}")
            yield entity, Symptom("network-mixed", "broken", detail, sighting)


def _fallen(
    # A mixed network that connected is only slow; otherwise the job cannot start.
    fallen: Sequence[Entity],
    others_count: int,
    expect: Expectations,
) -> Iterator[Member]:
    if any(_did_connect(entity.process) for entity in fallen):
        if expect.allow_socket:  # else each rank that uses them is a finding already
            for entity in fallen:
                detail = "use TCP sockets, but other ranks do not"
                yield entity, Symptom("socket-fallback", "degraded", detail)
        return  # the job connected nevertheless
    for entity in fallen:
        detail = (
            f"use sockets while {count_of(others_count, 'other does', 'others do')} not"
        )
        sighting = entity.process.seen.get("network Socket")
        yield entity, Symptom("network-mixed", "broken", detail, sighting)


def _did_connect(process: Process) -> bool:
    """Return whether channels exist; up to NCCL 2.19 a complete start creates them."""
    # Newer versions connect at first use, and print the number of nodes.
    comms = process.communicators.values()
    eager = all(comm.nodes is None for comm in comms)
    complete = any(comm.is_up for comm in comms)
    return "rings" in process.seen or (eager and complete and bool(process.channels))


def _names_differ(world: World) -> Iterator[Member]:
    """Yield symptoms if ranks use different networks of one kind (IB, IBext), or
    different libfabric providers."""
    families: dict[str, dict[str, str]] = {}
    providers: dict[frozenset[str], Process] = {}
    for entity in world.entities:
        process = entity.process
        for name in traffic_of(entity, silent=world.silent).networks:
            group = families.setdefault(network_group(name), {})
            group.setdefault(network_family(name), name)
        # A process that also has a slow provider is reported by the check of its rank.
        fast = [name for name in process.providers if is_fast(name)]
        if fast and len(fast) == len(process.providers):
            providers.setdefault(frozenset(map(provider_family, fast)), process)
    for family in families.values():
        if len(family) > 1:
            names = ", ".join(sorted(family.values()))
            # A plugin may give its network another name, so this does not prove a
            # fault.
            detail = f"has networks that may not be one: {names}"
            yield None, Symptom("networks-differ", "inconclusive", detail)
    if len(providers) > 1:
        used = sorted({name for p in providers.values() for name in p.providers})
        detail = f"libfabric uses {' and '.join(used)}, which cannot talk to each other"
        holder = next(p for p in providers.values() if used[0] in p.providers)
        sighting = holder.seen.get(f"provider {used[0]}")
        yield None, Symptom("providers-differ", "broken", detail, sighting)


def _gdr(world: World, expect: Expectations) -> Iterator[Member]:
    """Yield problems of GPU RDMA, judged from rings and from channels that leave a node."""
    if not world.multi:
        return
    people = _processes(world)
    if expect.gdr and not any(process.channels for process in people):
        detail = "shows no channel between nodes"
        yield None, Symptom("gdr-unknown", "inconclusive", detail)
    # The rings of one rank show the worst of all ranks, so find that rank first.
    culprits = any(
        staged or network_kind(name) == "socket"
        for process in people
        for (_, name), (_, staged) in process.channels.items()
    ) or any(network_kind(name) == "socket" for p in people for name in p.networks)
    # An unknown network may have no notion of GPU RDMA: then rings prove nothing.
    strange = any(
        network_kind(name) not in KNOWN for p in people for name in p.networks
    )
    witness = next((p for p in people if "0" in p.ring_gdr and not strange), None)
    if witness and not culprits:
        detail = "a rank of the communicator has no GPU RDMA, which its rings show"
        sighting = witness.seen.get("rings")
        yield None, Symptom("gdr-missing", "degraded", detail, sighting)


def _versions(world: World) -> Iterator[Member]:
    for library, sightings in shown_versions(_processes(world)).items():
        # The newest build is shown as evidence: it usually comes from one odd image.
        if library in _LIBRARIES and len(sightings) > 1:
            *_, newest = builds = sorted(sightings)
            detail = f"{library.upper()} {' and '.join(builds)}"
            yield None, Symptom("versions-differ", "broken", detail, sightings[newest])


def _dialects(world: World) -> Iterator[Member]:
    """Yield a symptom if the wording of lines shows that processes run different builds."""
    processes: dict[tuple[str, str], Process] = {}
    for process in _processes(world):
        for dialect in sorted(process.dialects):
            for alternative, holder in processes.items():
                if holder is process or not ranges_disjoint(dialect, alternative):
                    continue
                if dialect in holder.dialects or alternative in process.dialects:
                    continue  # one build prints both: it is patched
                if _has_version(process) and _has_version(holder):
                    continue  # the versions themselves are compared
                builds = (
                    f"{alternative[1]} on {holder.host}, {dialect[1]} on {process.host}"
                )
                detail = f"{dialect[0].upper()} {builds}, by the wording of their lines"
                # One pair is enough evidence, and pairs grow with the square of ranks.
                yield None, Symptom("versions-differ", "broken", detail)
                return
            processes.setdefault(dialect, process)


def _has_version(process: Process) -> bool:
    return any(process.versions.get(library) for library in _LIBRARIES)


def _plugin_versions(world: World) -> Iterator[Member]:
    packages = {p.package: p for p in _processes(world) if p.package}
    # The result is only degraded, because plugins of different versions usually connect.
    if len(packages) > 1:
        detail = " and ".join(sorted(" ".join(package) for package in packages))
        sighting = next(iter(packages.values())).seen.get("plugin-package")
        yield None, Symptom("plugin-versions-differ", "degraded", detail, sighting)


def _nics(world: World) -> Iterator[Member]:
    counts: dict[tuple[str, int], Process] = {}
    for process in _processes(world):
        for name, nics in process.providers.items():
            if nics is not None:
                counts[name, nics] = process
    for name in {name for name, _ in counts}:
        # Counts are compared within one provider: providers count NICs differently.
        counts_found = sorted(nics for counted, nics in counts if counted == name)
        if len(counts_found) > 1:
            fewest = counts[name, counts_found[0]]
            detail = (
                f"{counts_found[0]} NICs on {fewest.host}, {counts_found[-1]} elsewhere"
            )
            sighting = fewest.seen.get(f"provider {name}")
            yield None, Symptom("nics-differ", "degraded", detail, sighting)


def _fatal_plugin(world: World) -> Iterator[Member]:
    """Yield plugins that failed if no line shows that NCCL used another network."""
    if any(traffic_of(entity).networks for entity in world.entities):
        return
    for entity in world.entities:
        sighting = entity.process.seen.get("plugin-failed")
        if sighting and entity.process.informed:
            detail = "lost the plugin, and no other network is named"
            yield entity, Symptom("plugin-init-fatal", "broken", detail, sighting)


def _masks(job: JobLog, expect: Expectations) -> Iterator[Member]:
    if not expect.masks:
        return
    wrong = []
    for process in job.everyone:
        for rank, text in process.masks.items():
            mask = int(text or "0", 16)
            mask_expected = expect.masks[(rank or 0) % len(expect.masks)]
            # A part of the expected cores is still in the right place.
            if rank is not None and mask & ~mask_expected:
                wrong.append((rank, process, mask, mask_expected))
    # The lowest rank is the example; the count covers all others.
    for rank, process, mask, mask_expected in sorted(wrong, key=lambda row: row[0])[:1]:
        many = count_of(len(wrong), "rank runs", "ranks run")
        detail = (
            f"{many} on other cores: rank {rank} on {mask:#x} "
            f"instead of {mask_expected:#x}"
        )
        sighting = process.seen.get("affinity")
        yield None, Symptom("affinity-order", "degraded", detail, sighting)


def _copies(job: JobLog, expect: Expectations) -> Iterator[Member]:
    """Yield a program that runs several times on the same GPUs of each node.

    Every node has as many communicators as GPUs, each with all its GPUs and with other
    processes. Starts one after the other do not count: their pids do not overlap.
    """
    members: dict[tuple[str, str, int], dict[str, int]] = {}  # pids by GPUs
    for process in job.everyone:
        for comm in process.communicators.values():
            if comm.comm_id and comm.bus and process.pid:
                key = process.host, comm.comm_id, comm.nranks
                members.setdefault(key, {})[comm.bus] = process.pid
    gpus = {host: pids.keys() for (host, *_), pids in members.items()}
    nodes: dict[str, set[tuple[int, ...]]] = {host: set() for host in gpus}
    for (host, _, size), pids in members.items():
        # A communicator of several nodes, or of a part of the GPUs, is no such copy.
        if len(pids) != size or pids.keys() != gpus[host]:
            return
        nodes[host].add(tuple(sorted(pids.values())))
    # An actor and a learner are two copies, unless each task of the step is one.
    least = 1 if expect.ranks == sum(map(len, nodes.values())) else 2
    for host, copies in nodes.items():
        all_pids = [pid for copy in copies for pid in copy]
        spans = pairwise(sorted(copies))
        overlaps = sum(after[0] < before[-1] for before, after in spans)
        is_apart = len(set(all_pids)) == len(all_pids)
        if not is_apart or len(copies) < len(gpus[host]) or overlaps < least:
            return
    for host in sorted(nodes)[:1]:
        count = len(gpus[host])
        detail = (
            f"the program starts its own processes: {len(nodes[host])} times {count} "
        )
        detail += f"on {count} GPUs of each node"
        yield None, Symptom(COPIES, "broken", detail)


def _warnings(job: JobLog) -> Iterator[Member]:
    reasons = reasons_of(job)
    for shape, (count, sighting) in job.unknown.items():
        # The catalogue knows the meaning of messages that no rule judges.
        words, times = warned(sighting), count_of(count, "time")
        if entries := look_up(words):
            detail = f"warns ({times}): {words[:100]}; {said_by(entries)}"
            yield None, Symptom(entries[0].rule, "inconclusive", detail, sighting)
        elif shape not in reasons:
            detail = f"warns of what envcfg has no rule for ({times}): {words[:100]}"
            if not words.strip():
                detail = f"warns ({times}), and the text is in the next line"
            yield None, Symptom("unknown-warning", "inconclusive", detail, sighting)


def _processes(world: World) -> list[Process]:
    # A process may drive several GPUs, and is compared once.
    return list(dict.fromkeys(entity.process for entity in world.entities))
