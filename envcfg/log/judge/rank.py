"""The verdict of one rank: the networks its process used, and its problems."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from envcfg.log.expectations import Expectations
from envcfg.log.judge.attachment import foreign_nics
from envcfg.log.names import interface_fault, is_fast, network_kind
from envcfg.log.numbers import first_of, said_of
from envcfg.log.read.process_facts import Sighting
from envcfg.log.state.process import Process
from envcfg.log.state.traffic import (
    Entity,
    Traffic,
    gdr_of,
    nics_of,
    plugin_state,
    traffic_of,
)
from envcfg.log.state.world import World
from envcfg.log.verdict import WORST_FIRST, RankReport, Share, Verdict

# Values of NCCL_NET_PLUGIN that ask for no plugin, so that a missing one is not a
# fault.
_NO_PLUGIN = ("none", "libnccl-net-none.so", "librccl-net-none.so")


class Symptom(NamedTuple):
    """One observation about one rank; a finding collects those of many ranks."""

    rule: str  # id of the judgement
    verdict: Verdict  # its effect on the verdict of the rank
    detail: str  # the difference, in a few words
    sighting: Sighting | None = None  # the line that shows it
    # Interface with the problem; a finding merges the interfaces of many ranks.
    on: str = ""

    @property
    def text(self) -> str:
        """The problem, with the interface."""
        return f"{self.detail} on {self.on}" if self.on else self.detail


def told_together(symptoms: Sequence[Symptom]) -> str:
    """Return the common message of *symptoms* with the same detail, with all interfaces."""
    names = {symptom.on for symptom in symptoms if symptom.on}
    return symptoms[0]._replace(on=first_of(names)).text


def judge_rank(
    entity: Entity, world: World, expect: Expectations, *, one_way: bool
) -> tuple[RankReport, list[Symptom]]:
    """Return the rank's report and its problems, worst first.

    Args:
        entity: the rank.
        world: facts about all ranks: number of nodes, and whether NCCL names its network.
        expect: expectations from the profile and the user.
        one_way: True if all ranks receive to GPU memory directly, and none sends from it.
    """
    process, multi = entity.process, world.multi
    traffic = traffic_of(entity, silent=world.silent)
    gdr = gdr_of(entity, traffic, multi=multi)
    symptoms = [
        *_network(entity, traffic, multi, expect),
        *_provider(process, traffic, expect),
        *_nics(process, traffic, expect),
        # Staging in one direction on all ranks is NCCL's own choice, not a fault.
        *(_one_way(gdr) if one_way else _gdr(process, traffic, gdr, multi, expect)),
        *_interfaces(process, traffic, multi, expect),
        *_attachment(process, expect),
    ]
    symptoms.sort(key=lambda symptom: WORST_FIRST.index(symptom.verdict))
    verdict = symptoms[0].verdict if symptoms else "ok"
    reason = said_of(1, symptoms[0].text) if verdict != "ok" else ""
    # The report names the worst network of the rank, because the verdict rests on it.
    sockets = [name for name in traffic.networks if network_kind(name) == "socket"]
    slow = [name for name in process.providers if not is_fast(name)]
    report = RankReport(
        # JSON readers get a number always; no real rank is negative.
        rank=-1 if entity.rank is None else entity.rank,
        host=process.host,
        pid=process.pid,
        device=entity.device,
        verdict=verdict,
        reason=reason,
        network=next(iter(sockets or traffic.networks), None),
        provider=next(iter(slow or process.providers), None),
        nics=nics_of(process, traffic.networks),
        gdr=gdr,
        plugin=plugin_state(process),
        interface=next(iter(process.interfaces.get("bootstrap", ())), None),
    )
    return report, symptoms


def _on_tcp(process: Process, traffic: Traffic) -> bool:
    """Return whether all traffic uses TCP, which other checks report."""
    kinds = {network_kind(name) for name in traffic.networks}
    # libfabric can itself run over TCP, which only its provider shows.
    if kinds == {"libfabric"} and process.providers:
        return all(is_fast(name) is False for name in process.providers)
    return kinds == {"socket"}


def _network(
    entity: Entity, traffic: Traffic, multi: bool | None, expect: Expectations
) -> Iterator[Symptom]:
    process, names = entity.process, traffic.networks
    if process.pid is None:
        detail = "wrote lines that do not show their process"
        yield Symptom("prefix-missing", "inconclusive", detail)
    if not names:
        yield Symptom("network-unknown", "inconclusive", "do not show their network")
    for name in names:
        kind = network_kind(name)
        # Logs at a low debug level lack the network line; channels name it too.
        sighting = process.seen.get(f"network {name}") or process.seen.get(
            f"channel {name} host"
        )
        sighting = sighting or process.seen.get("socket-interfaces")
        # The expectation of the user or profile comes first, and overrides the judgement.
        if expect.wants_network(name):
            continue
        if kind == "socket":
            yield from _socket(process, sighting, multi, expect)
        elif expect.networks:
            detail = f"use {name}"
            yield Symptom("network-unexpected", "degraded", detail, sighting)
        elif kind is None:
            detail = f"use {name}, which envcfg does not know"
            yield Symptom("network-unfamiliar", "inconclusive", detail, sighting)
    yield from _failed_plugin(process, names)
    # One node proves nothing about the network, and must not count as success.
    if names and multi is False:
        yield Symptom(
            "single-node",
            "inconclusive",
            "ran on one node, so no network was used",
        )
    elif names and multi is None:
        detail = "do not show whether there are several nodes"
        yield Symptom("nodes-unknown", "inconclusive", detail)


def _failed_plugin(process: Process, names: tuple[str, ...]) -> Iterator[Symptom]:
    """Yield problems of a plugin that is missing or could not start, by NCCL's reaction."""
    kinds = {network_kind(name) for name in names}
    sighting = process.seen.get("plugin-failed") or process.seen.get(
        "plugin-unsupported"
    )
    is_requested = process.requested and process.requested.lower() not in _NO_PLUGIN
    missing = process.seen.get("plugin-missing") if is_requested else None
    # InfiniBand works without the plugin, so its absence is only a note.
    if kinds == {"verbs"} and (sighting or missing):
        detail = "do without the plugin, on a fast network"
        yield Symptom("plugin-unneeded", "ok", detail, sighting or missing)
    # The lines contradict each other: neither success nor failure is proved.
    elif sighting and "libfabric" in kinds:
        doubt = "report a plugin that failed to start, and use it all the same"
        yield Symptom("plugin-init-doubtful", "inconclusive", doubt, sighting)
    elif sighting:
        detail = "run without the plugin, because it failed to initialise"
        yield Symptom("plugin-init-failed", "degraded", detail, sighting)
    if missing and kinds != {"verbs"}:
        detail = "do not find the plugin that was asked for"
        yield Symptom("plugin-not-found", "degraded", detail, missing)


def _socket(
    process: Process,
    sighting: Sighting | None,
    multi: bool | None,
    expect: Expectations,
) -> Iterator[Symptom]:
    if expect.allow_socket:
        return
    # On one node sockets carry no payload, unless a fast network was expected.
    is_failed = multi is None and plugin_state(process) == "failed"
    if multi or is_failed or expect.wants_fast:
        interface = next(iter(process.interfaces.get("socket", ())), None)
        detail = "use TCP sockets"
        yield Symptom("socket-fallback", "degraded", detail, sighting, interface or "")
        if plugin_state(process) == "missing":
            reason = f": {process.reason}" if process.reason else ""
            detail = f"do not find the network plugin{reason}"
            yield Symptom(
                "plugin-missing", "degraded", detail, process.seen["plugin-missing"]
            )


def _provider(
    process: Process, traffic: Traffic, expect: Expectations
) -> Iterator[Symptom]:
    libfabric = any(network_kind(name) == "libfabric" for name in traffic.networks)
    # A rank on TCP is a finding already; the missing provider adds nothing.
    is_expected = libfabric or (expect.provider and not _on_tcp(process, traffic))
    if is_expected and not process.providers:
        detail = "do not show their libfabric provider"
        yield Symptom("provider-unknown", "inconclusive", detail)
    for name in process.providers:
        sighting = process.seen.get(f"provider {name}")
        # Providers carry layers after a semicolon ("verbs;ofi_rxm"); the first one counts.
        if expect.provider and name.split(";")[0] != expect.provider:
            detail = f"use libfabric provider {name}"
            yield Symptom("provider-unexpected", "degraded", detail, sighting)
        elif expect.provider or (expect.allow_socket and is_fast(name) is False):
            continue  # it was asked for
        elif is_fast(name) is False:
            detail = f"use libfabric provider {name}, which is TCP"
            yield Symptom("provider-slow", "degraded", detail, sighting)
        elif is_fast(name) is None:
            detail = f"use libfabric provider {name}, which envcfg does not know"
            yield Symptom("provider-unknown", "inconclusive", detail, sighting)


def _nics(
    process: Process, traffic: Traffic, expect: Expectations
) -> Iterator[Symptom]:
    if not expect.nics or _on_tcp(process, traffic):
        return
    count = nics_of(process, traffic.networks)
    if count is None and expect.prove_nics:
        detail = "do not show how many NICs they have"
        yield Symptom("nics-unknown", "inconclusive", detail)
    # More NICs than expected are not a fault: a profile may count only the used ones.
    elif count is not None and count < expect.nics:
        name = next(iter(process.providers), None)
        key = f"provider {name}" if name else "ib-devices"
        detail = f"see {count} of {expect.nics} NICs"
        yield Symptom("nics-fewer", "degraded", detail, process.seen.get(key))


def _gdr(
    process: Process,
    traffic: Traffic,
    gdr: Share,
    multi: bool | None,
    expect: Expectations,
) -> Iterator[Symptom]:
    networks = traffic.networks
    if _on_tcp(process, traffic):
        return
    # A single node uses no NIC, so missing GPU RDMA there has no effect.
    if gdr in ("no", "partial") and (multi or process.channels or expect.gdr):
        staged = (f"channel {name} host" for name in networks)
        keys = [
            key for key in (*staged, "gdr-off", "gdr-off-nic") if key in process.seen
        ]
        sighting = process.seen[keys[0]] if keys else None
        detail = "have no GPU RDMA"
        if gdr == "partial":
            detail = "have GPU RDMA on some channels only"
        yield Symptom("gdr-missing", "degraded", detail, sighting)
    elif gdr == "unknown" and expect.gdr and not process.edges:
        # A rank whose channels all stay on its node sends no memory to a NIC.
        detail = "do not show whether they have GPU RDMA"
        yield Symptom("gdr-unknown", "inconclusive", detail)


def _one_way(gdr: Share) -> Iterator[Symptom]:
    if gdr in ("no", "partial"):
        detail = "have GPU RDMA for what they receive, and send through the host"
        # The verdict stays "ok": this is NCCL's default without NCCL_NET_GDR_READ.
        yield Symptom("gdr-sends-staged", "ok", detail)


def _attachment(process: Process, expect: Expectations) -> Iterator[Symptom]:
    for nic, gpu_nic, sighting in foreign_nics(process, expect):
        detail = f"use {nic}, and their GPU is attached to {gpu_nic}"
        yield Symptom("nic-of-other-gpu", "ok", detail, sighting)


def _interfaces(
    process: Process, traffic: Traffic, multi: bool | None, expect: Expectations
) -> Iterator[Symptom]:
    payload = any(network_kind(name) == "socket" for name in traffic.networks)
    for use, event in (("bootstrap", "bootstrap"), ("socket", "socket-interfaces")):
        # The socket interface matters only if the payload uses it.
        if use == "socket" and not payload:
            continue
        for place, name in enumerate(process.interfaces.get(use, ())):
            sighting = process.seen.get(event)
            fault = interface_fault(name, multi=multi, first=not place)
            if expect.interfaces and not name.startswith(expect.interfaces):
                detail = f"use {name} for {use}"
                yield Symptom("interface-unexpected", "degraded", detail, sighting)
            # The bootstrap sends little data: a slow interface there is only a note.
            elif use == "socket" and multi is not False and fault:
                detail = f"send over {name}, {fault}"
                yield Symptom("socket-slow", "degraded", detail, sighting)
            elif fault:
                detail = f"use {name} for {use}, {fault}"
                yield Symptom("interface-slow", "ok", detail, sighting)
