"""What a rank used, as far as its lines show it: networks, plugin, GPU RDMA."""

from collections.abc import Iterable
from typing import NamedTuple

from envcfg.log.names import network_group, network_kind
from envcfg.log.process import Process
from envcfg.log.verdict import PluginState, Share

# Kinds of networks of which it is known how their lines tell of GPU RDMA.
RDMA = frozenset({"libfabric", "verbs"})


class Entity(NamedTuple):
    """A rank of the world, or (rank None) a process whose rank the log does not tell."""

    rank: int | None
    process: Process
    device: int | None = None

    @property
    def subject(self) -> str:
        """Name the process as people do."""
        host = self.process.host or "a process"
        return f"{host}:{self.process.pid}" if self.process.pid else host


class Traffic(NamedTuple):
    """What a rank used: network names, and channel lines with and without GPU RDMA."""

    networks: tuple[str, ...]
    with_gdr: int
    without_gdr: int


def traffic_of(entity: Entity, *, silent: bool = False) -> Traffic:
    """Return what the rank's lines say that it used.

    With *silent*, NCCL is too old to name its network, and the last one set up is it.
    """
    process, device = entity.process, entity.device
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
    # Are the sockets that it lists those of a fallback? Up to NCCL 2.4.7, which does not
    # say by what it starts, all processes start by them.
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
    held: dict[tuple[str | None, int], set[int]] = {}
    for comm in comms:
        # Without ids, small ones of one size may be different ones.
        if comm.comm_id or comm.nranks == largest:
            held.setdefault((comm.comm_id, comm.nranks), set()).add(comm.rank)
    return any(len(ranks) > 1 for ranks in held.values())


def kinds_of(entity: Entity, *, silent: bool = False) -> frozenset[str]:
    """Return the kinds of network that the rank used, by a plugin's lines if no other."""
    names = traffic_of(entity, silent=silent).networks
    kinds = {network_group(name) for name in names}
    if not kinds and not _PLUGIN_AT_WORK.isdisjoint(entity.process.seen):
        kinds = {"libfabric"} if plugin_state(entity.process) == "loaded" else set()
    return frozenset(kinds)


def nics_of(process: Process, networks: tuple[str, ...]) -> int | None:
    """Return how many NICs the process has for *networks*, if a line tells."""
    kinds = {network_kind(name) for name in networks}
    if "libfabric" in kinds:
        counts = [count for count in process.providers.values() if count is not None]
        return min(counts, default=None)
    return process.ports if "verbs" in kinds else None


def plugin_state(process: Process) -> PluginState:
    """Return ``loaded``, ``failed``, ``missing`` or ``unknown``."""
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
    # The rings of a communicator that stays on one node say nothing of NICs.
    spans = all(comm.nodes != 1 for comm in comms)
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

    NCCL has one rule for both ways that the distance of a NIC decides, and a second for
    sends alone, which it uses where nobody has set ``NCCL_NET_GDR_READ``.
    """
    processes = [entity.process for entity in entities]
    if any("NCCL_NET_GDR_READ" in process.settings for process in processes):
        return False
    ways = {way for process in processes for way in process.ways}
    return ways == {("receive", True), ("send", False)}
