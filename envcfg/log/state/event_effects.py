"""Effects of events: the facts that each event adds to its process, in any order of
lines.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from sys import intern
from typing import Any

from envcfg.log.names import is_plugin
from envcfg.log.read.prefix import Record
from envcfg.log.read.process_facts import MANY, Sighting, with_one
from envcfg.log.state.process import MOST_RANKS, Communicator, Edge, Process, card_key
from envcfg.log.verdict import GivenUpCollective

Fields = Mapping[str, "str | None"]
_INTERFACE = re.compile(r"\[\d+\]([\w.-]+):")
_PORT = re.compile(r"\[\d+\]\S")
_UP = "Init COMPLETE"
_LEAST_BUS = 4  # digits of a PCI bus with device and function: 7000, c1000
# Events that show that a process makes progress.
_STEPS = frozenset(
    "channel channel-local communicator network network-assigned rings topology "
    "trees".split()
)


# Events that show the network of a process.
_CARRIERS = frozenset("channel ib-devices network network-assigned provider".split())


def learn(
    process: Process, event: str, fields: Fields, record: Record, sighting: Sighting
) -> None:
    """Add an *event* to *process*, with the captures of its line."""
    if event == "plugin-failed" and not is_plugin(fields.get("name") or ""):
        return  # NCCL tries its own networks one after another
    if event == "bootstrap":
        # After a start without a network, the count differs from that of other ranks.
        process.start(1 + _CARRIERS.isdisjoint(process.seen))
        process.keep(f"start {process.restarts}", sighting)
    elif event in _CARRIERS:
        process.is_bare = False
    process.keep(event, sighting)
    # A communicator counts as progress only if it is complete.
    if event in _STEPS and fields.get("phase", _UP) == _UP:
        process.go_on(record.device)
    teach = _EVENTS.get(event)
    # A torn channel line may join numbers of two processes.
    if teach is not None and not (record.torn and event == "channel"):
        teach(process, fields, record, sighting)


def _integer(fields: Fields, name: str) -> int | None:
    text = fields.get(name)
    # A longer number cannot be a rank, a device or a count.
    return int(text) if text and len(text) < 10 else None


def _communicator(p: Process, fields: Fields, record: Record, _: Sighting) -> None:
    rank, nranks = _integer(fields, "rank"), _integer(fields, "nranks")
    # Larger ranks are torn numbers, and would reserve memory for missing ranks.
    if rank is None or nranks is None or not rank < nranks <= MOST_RANKS:
        return
    # The pointer alone is reused; with rank and size it identifies a communicator.
    key = f"{fields.get('comm')}/{rank}/{nranks}"
    comm = p.communicators.get(key)
    if comm is None:
        if not p.room.takes("communicator", len(p.communicators)):
            return
        comm = p.own("communicators")[key] = Communicator(rank, nranks)
    device = _integer(fields, "dev")
    comm.device = record.device if device is None else device
    comm_id = fields.get("comm_id")
    if comm_id and comm_id != "0x0":  # zero: the child of ncclCommSplit has no id yet
        comm.comm_id = intern(comm_id)  # all ranks share one string
    if bus := fields.get("bus"):
        comm.bus = intern(bus)
    if fields.get("phase"):
        comm.phases = with_one(comm.phases, fields["phase"] or "")
    if nodes := _integer(fields, "nodes"):
        comm.nodes = nodes


def _row(p: Process, fields: Fields, _: Record, __: Sighting) -> None:
    rank = _integer(fields, "rank")
    if rank is not None and rank < MOST_RANKS and len(p.rows) < MANY:
        p.own("rows")[rank] = _integer(fields, "dev")


def _network(p: Process, fields: Fields, record: Record, sighting: Sighting) -> None:
    name = (fields.get("network") or "").strip()
    # Limits keep a hostile or damaged log from filling the memory.
    if name and len(p.networks) < 16:
        devices = with_one(p.networks.get(name, frozenset()), record.device)
        p.know("networks", devices, name)
        p.keep(f"network {name}", sighting)


def _channel(p: Process, fields: Fields, _: Record, sighting: Sighting) -> None:
    sender, receiver = _integer(fields, "a"), _integer(fields, "b")
    name = intern(fields.get("network") or "")
    if sender is None or receiver is None or not name:
        return
    # A rank reports both directions, and is the receiver of one and the sender of the
    # other.
    own = receiver if fields.get("direction") == "receive" else sender
    gdr = bool(fields.get("gdr"))
    counts = p.channels.get((own, name))
    if counts is None:
        if not p.room.takes("channel", len(p.channels)):
            return
        counts = p.own("channels")[own, name] = [0, 0]
    counts[0 if gdr else 1] += 1
    p.add("ways", (fields.get("direction"), gdr))
    p.keep(f"channel {name} {'gdr' if gdr else 'host'}", sighting)
    _card(p, name, fields, sighting)
    nranks = _integer(fields, "nranks")
    _edge(p, Edge(sender, receiver, intern(f"NET/{name}"), gdr, own, nranks))


def _card(p: Process, network: str, fields: Fields, sighting: Sighting) -> None:
    """Store the NIC of a channel if the process itself uses it for a named GPU.

    With PXN, another rank of the node sends: its number follows that of the NIC.
    """
    nic = _integer(fields, "nic")
    own = "b_gpu" if fields.get("direction") == "receive" else "a_gpu"
    gpu = intern(fields.get(own) or "")
    # Newer releases print a short number, which GPU masks change.
    is_known = nic is not None and len(gpu) >= _LEAST_BUS and not fields.get("proxy")
    if nic is not None and is_known and len(p.cards) < MANY:
        p.add("cards", (network, nic, gpu))
        p.keep(card_key(network, nic, gpu), sighting)


def _local(p: Process, fields: Fields, _: Record, __: Sighting) -> None:
    sender, receiver = _integer(fields, "a"), _integer(fields, "b")
    if sender is not None and receiver is not None:
        kind = (fields.get("transport") or "").split("/")[0]
        kind = "SHM" if "shared" in kind else intern(kind)
        _edge(p, Edge(sender, receiver, kind, None, sender, None))


def _edge(p: Process, edge: Edge) -> None:
    if edge in p.edges or (edge.nranks or 0) > MOST_RANKS:
        return
    # The first edge proves that there are some; the report draws a limited number.
    if not p.edges:
        p.edges = (edge,)  # many ranks have no other, and a set is four times as large
    elif p.room.takes("pair", len(p.edges)):
        p.edges = p.edges if isinstance(p.edges, set) else {*p.edges}
        p.edges.add(edge)


def _provider(p: Process, fields: Fields, _: Record, sighting: Sighting) -> None:
    name = (fields.get("provider") or "").lower()
    if name and len(p.providers) < 16:
        nics = _integer(fields, "nics")
        nics = nics if nics is not None else p.providers.get(name)
        p.know("providers", nics, name)
        p.keep(f"provider {name}", sighting)


def _gdr_device(p: Process, fields: Fields, _: Record, sighting: Sighting) -> None:
    network, nic = fields.get("network"), fields.get("nic")
    able = fields.get("state") == "Enabled"
    # A NIC far from a GPU proves nothing, because there are other NICs.
    far = fields.get("reason") not in (None, "no module")
    if network and nic and not far and len(p.nic_gdr) < MANY:
        # One GPU with access is enough: NCCL chooses the pair that works.
        able_now = able or p.nic_gdr.get((network, nic), False)
        p.know("nic_gdr", able_now, (network, nic))
        if not able:
            p.keep("gdr-off-nic", sighting)


def _versions(p: Process, fields: Fields, _: Record, sighting: Sighting) -> None:
    for library, version in fields.items():
        versions_before = p.versions.get(library, frozenset())
        if version and len(versions_before) < 16:
            p.know("versions", with_one(versions_before, version), library)
            p.keep(f"version {library} {version}", sighting)


def _interface(p: Process, kind: str, names: Sequence[str]) -> None:
    interfaces_before = p.interfaces.get(kind, ())
    # The order of names matters, because NCCL prefers the first interface.
    new = [name for name in names if name and name not in interfaces_before][
        : 64 - len(interfaces_before)
    ]
    if new:
        p.know("interfaces", (*interfaces_before, *new), kind)


def _affinity(p: Process, fields: Fields, record: Record, _: Sighting) -> None:
    rank = _integer(fields, "rank")
    # srun's label is the rank if the line itself has none.
    if rank is None and record.label is not None:
        rank = record.label
    if len(p.masks) < 1 << 16:
        p.own("masks")[rank] = (
            (fields.get("mask") or "").removeprefix("0x").replace(",", "")
        )


def _setting(p: Process, fields: Fields, _: Record, sighting: Sighting) -> None:
    name = fields.get("name") or ""
    if len(p.settings) < 256:
        p.know("settings", fields.get("value") or "", name)
        p.keep(f"setting {name}", sighting)


def _collective(p: Process, fields: Fields, record: Record, _: Sighting) -> None:
    rank = _integer(fields, "rank")
    if rank is None and record.is_rank:
        rank = record.label
    group = fields.get("group") or ""
    if rank is None or ((group, rank) not in p.waits and len(p.waits) >= MANY):
        return
    waiting = p.waits.get((group, rank), GivenUpCollective(group, rank, p.host))
    numbers: dict[str, Any] = {
        name: _integer(fields, name)
        for name in ("seq", "numel_in", "numel_out", "enqueued", "completed")
        if fields.get(name)
    }
    seq = numbers.get("seq")
    if seq is not None and waiting.seq is not None and seq > waiting.seq:
        return  # the first open collective shows the rank's position
    if milliseconds := _integer(fields, "ms"):
        numbers["seconds"] = milliseconds // 1000
    operation = fields.get("op") or waiting.operation
    p.own("waits")[group, rank] = waiting._replace(operation=operation, **numbers)


_EVENTS: Mapping[str, Callable[[Process, Fields, Record, Sighting], None]] = {
    "communicator": _communicator,
    "topology": _communicator,
    "rank-row": _row,
    "network": _network,
    "network-assigned": _network,
    "channel": _channel,
    "channel-local": _local,
    "provider": _provider,
    "ib-devices": lambda p, fields, _, __: p.know(
        "ports", len(_PORT.findall(fields.get("devices") or "")) or None
    ),
    "gdr-device": _gdr_device,
    "plugin-loaded": lambda p, fields, _, __: (
        p.know("loaded", fields.get("api") or "", fields.get("name") or "")
        if len(p.loaded) < 16
        else None
    ),
    "plugin-package": lambda p, fields, _, __: p.know(
        "package", (fields.get("package") or "", fields.get("version") or "")
    ),
    "plugin-missing": lambda p, fields, _, __: p.know(
        "reason", p.reason or fields.get("reason") or fields.get("libraries")
    ),
    "plugin-requested": lambda p, fields, _, __: p.know(
        "requested", p.requested or fields.get("name")
    ),
    "rings": lambda p, fields, _, __: (
        p.add("ring_gdr", fields["gdr"]) if fields.get("gdr") else None
    ),
    "version": _versions,
    "bootstrap": lambda p, fields, _, __: _interface(
        p, "bootstrap", (fields.get("interface") or "").split(":")[:1]
    ),
    "socket-interfaces": lambda p, fields, _, __: _interface(
        p, "socket", _INTERFACE.findall(fields.get("interfaces") or "")
    ),
    "affinity": _affinity,
    "setting": _setting,
    "error-trace": lambda p, fields, record, _: p.trace(
        record.device,
        (fields.get("file") or "").partition(":")[0].rpartition("/")[2],
        fields.get("code") or "",
    ),
    "collective": _collective,
}
# Events that add only facts, which processes with the same words share.
ALIKE = frozenset(
    "gdr-device ib-devices network network-assigned plugin-loaded plugin-missing "
    "plugin-package plugin-requested provider rings setting socket-interfaces trees version"
    "".split()
)
