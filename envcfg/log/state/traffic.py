"""The traffic of a rank in its lines: networks, plugin, GPU RDMA."""

from collections.abc import Iterable
from typing import NamedTuple

from envcfg.log.names import network_group, network_kind
from envcfg.log.state.process import Process
from envcfg.log.verdict import PluginState, Share

# Kinds of networks with known lines about GPU RDMA.
RDMA = frozenset({"libfabric", "verbs"})


class Entity(NamedTuple):
    """A rank of the world, or a process with an unknown rank (rank None)."""

    rank: int | None
    process: Process
    device: int | None = None

    @property
    def subject(self) -> str:
        """The name of the process in messages: ``HOST:PID``."""
        host = self.process.host or "a process"
        return f"{host}:{self.process.pid}" if self.process.pid else host


class Traffic(NamedTuple):
    """The traffic of a rank: network names, and channel lines with and without GPU RDMA."""

    networks: tuple[str, ...]
    with_gdr: int
    without_gdr: int


def traffic_of(entity: Entity, *, silent: bool = False) -> Traffic:
    """Return the traffic in the rank's lines.

    With *silent*, NCCL is too old to name its network, and the last one set up is used.
    """
    process, device = entity.process, entity.device
    # In a process with several GPUs only the lines of the rank's own GPU count.
    shared = _holds_several(process)
    names = [
        name
        for name, devices in process.networks.items()
        if not shared or device is None or device in devices or None in devices
    ] or list(process.networks)
    with_gdr = without_gdr = 0
    for (own, name), (direct, staged) in process.channels.items():
        if shared and entity.rank is not None and own != entity.rank:
            continue
        names.append(name)
        with_gdr += direct if network_kind(name) != "socket" else 0
        without_gdr += staged if network_kind(name) in RDMA else 0
    if not names and silent:
        names = [name for event, name in _SET_UP if event in process.seen][:1]
    # Listed sockets may be those of a fallback. Up to NCCL 2.4.7, which does not print
    # its bootstrap interface, all processes start by sockets and list them.
    starts = silent and "bootstrap" not in process.seen
    off = process.settings.get("NCCL_IB_DISABLE") == "1" or "ib-none" in process.seen
    if not names and "socket-interfaces" in process.seen and (off or not starts):
        names = ["Socket"]
    return Traffic(tuple(dict.fromkeys(names)), with_gdr, without_gdr)


_PLUGIN_AT_WORK = frozenset({"provider", "plugin-active"})
_SET_UP = (("provider", "AWS Libfabric"), ("ib-devices", "IB"))


def _holds_several(process: Process) -> bool:
    """Return whether the process has several ranks of one communicator, one per GPU."""
    if len(process.communicators) < 2:
        return False
    comms = process.communicators.values()
    largest = max((comm.nranks for comm in comms), default=0)
    contained: dict[tuple[str | None, int], set[int]] = {}
    for comm in comms:
        # Small communicators without ids may be different ones of the same size.
        if comm.comm_id or comm.nranks == largest:
            contained.setdefault((comm.comm_id, comm.nranks), set()).add(comm.rank)
    return any(len(ranks) > 1 for ranks in contained.values())


def kinds_of(entity: Entity, *, silent: bool = False) -> frozenset[str]:
    """Return the kinds of network that the rank used, else those of its plugin."""
    names = traffic_of(entity, silent=silent).networks
    kinds = {network_group(name) for name in names}
    if not kinds and not _PLUGIN_AT_WORK.isdisjoint(entity.process.seen):
        kinds = {"libfabric"} if plugin_state(entity.process) == "loaded" else set()
    return frozenset(kinds)


def nics_of(process: Process, networks: tuple[str, ...]) -> int | None:
    """Return the number of NICs of the process for *networks*; None if no line shows it."""
    kinds = {network_kind(name) for name in networks}
    if "libfabric" in kinds:
        counts = [count for count in process.providers.values() if count is not None]
        # The smallest count is the safe answer if lines differ.
        return min(counts, default=None)
    return process.ports if "verbs" in kinds else None


def plugin_state(process: Process) -> PluginState:
    """Return ``loaded``, ``failed``, ``missing`` or ``unknown``."""
    # A used libfabric network proves the plugin, even if one attempt failed before.
    kinds = {network_kind(name) for name in process.networks}
    if "libfabric" in kinds:
        return "loaded"
    if {"plugin-failed", "plugin-unsupported"} & set(process.seen):
        return "failed"
    if (
        process.loaded
        or process.package
        or not _PLUGIN_AT_WORK.isdisjoint(process.seen)
    ):
        return "loaded"
    return "missing" if "plugin-missing" in process.seen else "unknown"


def gdr_of(entity: Entity, traffic: Traffic, *, multi: bool | None) -> Share:
    """Return whether GPU memory goes to the NIC directly."""
    if traffic.with_gdr or traffic.without_gdr:
        if not traffic.without_gdr:
            return "yes"
        return "partial" if traffic.with_gdr else "no"
    kinds = {network_kind(name) for name in traffic.networks}
    if "gdr-off" in entity.process.seen or kinds == {"socket"}:
        return "no"
    comms = entity.process.communicators.values()
    # Rings of a communicator within one node prove nothing about NICs.
    spans = all(comm.nodes != 1 for comm in comms)
    # Channels are the best evidence; rings and NICs only replace missing channels.
    if multi and entity.process.ring_gdr == {"1"} and spans:
        return "yes"
    able = [
        can
        for (name, _), can in entity.process.nic_gdr.items()
        if network_kind(name) in kinds & RDMA
    ]
    return "no" if able and not any(able) and kinds <= RDMA else "unknown"


def is_one_way(entities: Iterable[Entity]) -> bool:
    """Return whether NCCL receives all to GPU memory directly, and sends none from it.

    For both directions NCCL compares the distance of the NIC with one limit. Sends have a
    second rule, which it uses if ``NCCL_NET_GDR_READ`` is not set.
    """
    processes = [entity.process for entity in entities]
    if any("NCCL_NET_GDR_READ" in process.settings for process in processes):
        return False
    ways = {way for process in processes for way in process.ways}
    return ways == {("receive", True), ("send", False)}
