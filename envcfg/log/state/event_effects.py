"""Effects of events: the facts that each event adds to its process, in any order of
lines.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from sys import intern
from typing import Any, NamedTuple

from envcfg.log.names import is_plugin
from envcfg.log.read.prefix import Record
from envcfg.log.read.process_facts import MANY, Sighting, with_one
from envcfg.log.state.process import MOST_RANKS, Communicator, Edge, Process, card_key
from envcfg.log.verdict import GivenUpCollective

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


class EventLine(NamedTuple):
    """A line with an event: its captures, its record and its place."""

    fields: Mapping[str, str | None]
    record: Record
    sighting: Sighting

    def text(self, name: str) -> str:
        """Return a capture; empty if the line has none."""
        return self.fields.get(name) or ""

    def number(self, name: str) -> int | None:
        """Return a capture that is a number; None if there is none."""
        text = self.text(name)
        # A longer number cannot be a rank, a device or a count.
        return int(text) if text and len(text) < 10 else None


def learn(process: Process, event: str, line: EventLine) -> None:
    """Add an *event* to *process*, with the captures of its *line*."""
    if event == "plugin-failed" and not is_plugin(line.text("name")):
        return  # NCCL tries its own networks one after another
    if event == "bootstrap":
        # After a start without a network, the count differs from that of other ranks.
        process.start(1 + _CARRIERS.isdisjoint(process.seen))
        process.keep(f"start {process.restarts}", line.sighting)
    elif event in _CARRIERS:
        process.is_bare = False
    process.keep(event, line.sighting)
    # A communicator counts as progress only if it is complete.
    if event in _STEPS and line.fields.get("phase", _UP) == _UP:
        process.go_on(line.record.device)
    teach = _EVENTS.get(event)
    # A torn channel line may join numbers of two processes.
    if teach is not None and not (line.record.torn and event == "channel"):
        teach(process, line)


def _communicator(p: Process, line: EventLine) -> None:
    rank, nranks = line.number("rank"), line.number("nranks")
    # Larger ranks are torn numbers, and would reserve memory for missing ranks.
    if rank is None or nranks is None or not rank < nranks <= MOST_RANKS:
        return
    # The pointer alone is reused; with rank and size it identifies a communicator.
    key = f"{line.fields.get('comm')}/{rank}/{nranks}"
    comm = p.communicators.get(key)
    if comm is None:
        if not p.room.takes("communicator", len(p.communicators)):
            return
        comm = p.own("communicators")[key] = Communicator(rank, nranks)
    device = line.number("dev")
    comm.device = line.record.device if device is None else device
    comm_id = line.text("comm_id")
    if comm_id and comm_id != "0x0":  # zero: the child of ncclCommSplit has no id yet
        comm.comm_id = intern(comm_id)  # all ranks share one string
    if bus := line.text("bus"):
        comm.bus = intern(bus)
    if phase := line.text("phase"):
        comm.phases = with_one(comm.phases, phase)
    if nodes := line.number("nodes"):
        comm.nodes = nodes


def _row(p: Process, line: EventLine) -> None:
    rank = line.number("rank")
    if rank is not None and rank < MOST_RANKS and len(p.rows) < MANY:
        p.own("rows")[rank] = line.number("dev")


def _network(p: Process, line: EventLine) -> None:
    name = line.text("network").strip()
    # Limits keep a hostile or damaged log from filling the memory.
    if name and len(p.networks) < 16:
        devices = with_one(p.networks.get(name, frozenset()), line.record.device)
        p.know("networks", devices, name)
        p.keep(f"network {name}", line.sighting)


def _channel(p: Process, line: EventLine) -> None:
    sender, receiver = line.number("a"), line.number("b")
    name = intern(line.text("network"))
    if sender is None or receiver is None or not name:
        return
    # A rank reports both directions, and is the receiver of one and the sender of the
    # other.
    own = receiver if line.text("direction") == "receive" else sender
    gdr = bool(line.text("gdr"))
    counts = p.channels.get((own, name))
    if counts is None:
        if not p.room.takes("channel", len(p.channels)):
            return
        counts = p.own("channels")[own, name] = [0, 0]
    counts[0 if gdr else 1] += 1
    p.add("ways", (line.text("direction"), gdr))
    p.keep(f"channel {name} {'gdr' if gdr else 'host'}", line.sighting)
    _card(p, name, line)
    nranks = line.number("nranks")
    _edge(p, Edge(sender, receiver, intern(f"NET/{name}"), gdr, own, nranks))


def _card(p: Process, network: str, line: EventLine) -> None:
    """Store the NIC of a channel if the process itself uses it for a named GPU.

    With PXN, another rank of the node sends: its number follows that of the NIC.
    """
    nic = line.number("nic")
    own = "b_gpu" if line.text("direction") == "receive" else "a_gpu"
    gpu = intern(line.text(own))
    # Newer releases print a short number, which GPU masks change.
    is_known = nic is not None and len(gpu) >= _LEAST_BUS and not line.text("proxy")
    if nic is not None and is_known and len(p.cards) < MANY:
        p.add("cards", (network, nic, gpu))
        p.keep(card_key(network, nic, gpu), line.sighting)


def _local(p: Process, line: EventLine) -> None:
    sender, receiver = line.number("a"), line.number("b")
    if sender is not None and receiver is not None:
        kind = line.text("transport").split("/")[0]
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


def _provider(p: Process, line: EventLine) -> None:
    name = line.text("provider").lower()
    if name and len(p.providers) < 16:
        nics = line.number("nics")
        nics = nics if nics is not None else p.providers.get(name)
        p.know("providers", nics, name)
        p.keep(f"provider {name}", line.sighting)


def _gdr_device(p: Process, line: EventLine) -> None:
    network, nic = line.text("network"), line.text("nic")
    able = line.text("state") == "Enabled"
    # A NIC far from a GPU proves nothing, because there are other NICs.
    far = line.fields.get("reason") not in (None, "no module")
    if network and nic and not far and len(p.nic_gdr) < MANY:
        # One GPU with access is enough: NCCL chooses the pair that works.
        able_now = able or p.nic_gdr.get((network, nic), False)
        p.know("nic_gdr", able_now, (network, nic))
        if not able:
            p.keep("gdr-off-nic", line.sighting)


def _versions(p: Process, line: EventLine) -> None:
    for library, version in line.fields.items():
        versions_before = p.versions.get(library, frozenset())
        if version and len(versions_before) < 16:
            p.know("versions", with_one(versions_before, version), library)
            p.keep(f"version {library} {version}", line.sighting)


def _interface(p: Process, kind: str, names: Sequence[str]) -> None:
    interfaces_before = p.interfaces.get(kind, ())
    # The order of names matters, because NCCL prefers the first interface.
    new = [name for name in names if name and name not in interfaces_before][
        : 64 - len(interfaces_before)
    ]
    if new:
        p.know("interfaces", (*interfaces_before, *new), kind)


def _affinity(p: Process, line: EventLine) -> None:
    rank = line.number("rank")
    # srun's label is the rank if the line itself has none.
    if rank is None and line.record.label is not None:
        rank = line.record.label
    if len(p.masks) < 1 << 16:
        p.own("masks")[rank] = line.text("mask").removeprefix("0x").replace(",", "")


def _setting(p: Process, line: EventLine) -> None:
    name = line.text("name")
    if len(p.settings) < 256:
        p.know("settings", line.text("value"), name)
        p.keep(f"setting {name}", line.sighting)


def _collective(p: Process, line: EventLine) -> None:
    rank = line.number("rank")
    if rank is None and line.record.is_rank:
        rank = line.record.label
    group = line.text("group")
    if rank is None or ((group, rank) not in p.waits and len(p.waits) >= MANY):
        return
    waiting = p.waits.get((group, rank), GivenUpCollective(group, rank, p.host))
    numbers: dict[str, Any] = {
        name: line.number(name)
        for name in ("seq", "numel_in", "numel_out", "enqueued", "completed")
        if line.text(name)
    }
    seq = numbers.get("seq")
    if seq is not None and waiting.seq is not None and seq > waiting.seq:
        return  # the first open collective shows the rank's position
    if milliseconds := line.number("ms"):
        numbers["seconds"] = milliseconds // 1000
    operation = line.text("op") or waiting.operation
    p.own("waits")[group, rank] = waiting._replace(operation=operation, **numbers)


_EVENTS: Mapping[str, Callable[[Process, EventLine], None]] = {
    "communicator": _communicator,
    "topology": _communicator,
    "rank-row": _row,
    "network": _network,
    "network-assigned": _network,
    "channel": _channel,
    "channel-local": _local,
    "provider": _provider,
    "ib-devices": lambda p, line: p.know(
        "ports", len(_PORT.findall(line.text("devices"))) or None
    ),
    "gdr-device": _gdr_device,
    "plugin-loaded": lambda p, line: (
        p.know("loaded", line.text("api"), line.text("name"))
        if len(p.loaded) < 16
        else None
    ),
    "plugin-package": lambda p, line: p.know(
        "package", (line.text("package"), line.text("version"))
    ),
    "plugin-missing": lambda p, line: p.know(
        "reason", p.reason or line.fields.get("reason") or line.fields.get("libraries")
    ),
    "plugin-requested": lambda p, line: p.know(
        "requested", p.requested or line.fields.get("name")
    ),
    "rings": lambda p, line: (
        p.add("ring_gdr", line.text("gdr")) if line.text("gdr") else None
    ),
    "version": _versions,
    "bootstrap": lambda p, line: _interface(
        p, "bootstrap", line.text("interface").split(":")[:1]
    ),
    "socket-interfaces": lambda p, line: _interface(
        p, "socket", _INTERFACE.findall(line.text("interfaces"))
    ),
    "affinity": _affinity,
    "setting": _setting,
    "error-trace": lambda p, line: p.trace(
        line.record.device,
        line.text("file").partition(":")[0].rpartition("/")[2],
        line.text("code"),
    ),
    "collective": _collective,
}
# Events that add only facts, which processes with the same words share.
ALIKE = frozenset(
    "gdr-device ib-devices network network-assigned plugin-loaded plugin-missing "
    "plugin-package plugin-requested provider rings setting socket-interfaces trees version"
    "".split()
)
