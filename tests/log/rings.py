"""Rings, trees and channels of a communicator, by version of the library.

Every channel turns the order of the ranks in their nodes by one, so that each crosses
between nodes at another rank. These are nearly all lines of a log: they are made fast,
with their prefix, and one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache

from shape import Comm, Rank, Said, bus

LONGEST = 1000  # the library cuts a longer list off


@lru_cache(maxsize=1 << 14)
def ring(me: int, per_node: int, nodes: int, channels: int) -> list[tuple[int, int]]:
    """Return the previous and the next rank on each channel."""
    node, local = divmod(me, per_node)
    first, before, after = (n % nodes * per_node for n in (node, node - 1, node + 1))
    wires = []
    for channel in range(channels):
        at = (local - channel) % per_node
        last = at == per_node - 1
        down = (before if at == 0 else first) + (at - 1 + channel) % per_node
        up = (after if last else first) + (at + 1 + channel) % per_node
        wires.append((down, up))
    return wires


@lru_cache(maxsize=1 << 14)
def tree(
    me: int, per_node: int, nodes: int, channels: int
) -> list[tuple[int, tuple[int, ...]]]:
    """Return the rank above and those below on each channel; -1 is none."""
    node, local = divmod(me, per_node)
    first = node * per_node
    heads = [each * per_node for each in (2 * node + 1, 2 * node + 2) if each < nodes]
    wires: list[tuple[int, tuple[int, ...]]] = []
    for channel in range(channels):
        at = (local - channel) % per_node
        turn = channel % per_node
        inside = (first + (local + 1) % per_node,) if at + 1 < per_node else ()
        if at:
            wires.append((first + (local - 1) % per_node, inside))
        else:
            above = (node - 1) // 2 * per_node + turn if node else -1
            wires.append((above, (*inside, *(head + turn for head in heads))))
    return wires


def _shape(rank: Rank, comm: Comm) -> tuple[int, int, int, int]:
    """Return what rings and trees follow from."""
    me = comm.ranks.index(rank.number)
    return me, comm.per_node, comm.nodes, rank.job.channels


def describe(rank: Rank, comm: Comm) -> Iterator[Said]:
    """Yield nodes, rings and trees, as known before anything is connected."""
    job, d = rank.job, rank.dialect
    shape = _shape(rank, comm)
    me, size, address = shape[0], len(comm.ranks), rank.comm(comm)
    if d.version >= (2, 20):
        yield Said(
            f"comm {address} rank {me} nRanks {size} nNodes {comm.nodes}"
            f" localRanks {comm.per_node} localRank {me % comm.per_node} MNNVL 0"
        )
    if d.version >= (2, 13) and rank.network != "Socket":
        able = "Enabled" if rank.has_gdr else "Disabled"
        card = "mlx5_0" if rank.network == "IB" else f"{job.provider}0"
        yield Said(
            f"NET/{rank.network} : GPU Direct RDMA {able} for HCA 0 '{card}'", "NET"
        )
    count = job.channels
    tail = f" comm {address} nRanks {size:02} busId {rank.bus}" if d.rccl else ""
    for channel in range(count if me == 0 else 0):
        wide = len(str(size - 1)) if d.version >= (2, 24) else 4
        listed = "".join(f" {each:>{wide}}" for each in _order(comm, channel))
        yield Said(f"Channel {channel:02}/{count:02} :{listed}"[:LONGEST])
    for channel, (before, after) in enumerate(ring(*shape)):
        yield Said(f"Ring {channel:02} : {before} -> {me} -> {after}{tail}", "GRAPH")
    if count:
        trees = enumerate(tree(*shape))
        listed = "".join(f" [{at}] {_tree(d.version, me, *each)}" for at, each in trees)
        yield Said(f"Trees{listed}"[:LONGEST] + tail)


def _order(comm: Comm, channel: int) -> Iterator[int]:
    for node in range(comm.nodes):
        for place in range(comm.per_node):
            yield node * comm.per_node + (place + channel) % comm.per_node


def _tree(version: tuple[int, ...], me: int, above: int, below: tuple[int, ...]) -> str:
    down = "/".join(map(str, (*below, -1, -1, -1)[:3]))
    if version < (2, 5):
        return f"{above}->{me}->{down}"
    up = f"{down}->{me}->{above}"
    return f"{up}|{above}->{me}->{down}" if version < (2, 8) else up


def connect(rank: Rank, comm: Comm, prefix: str) -> Iterator[str]:
    """Yield the channel lines with *prefix*: rings, trees, then all to all."""
    job, d = rank.job, rank.dialect
    shape = _shape(rank, comm)
    word = "Ring" if d.version < (2, 7) else "Channel"
    index = ("/0", "/1") if d.version >= (2, 12) else ("", "")
    tail = f" comm {rank.comm(comm)} nRanks {len(comm.ranks):02}" if d.rccl else ""
    local = _local_names(rank, comm)
    remote = _remote_names(rank, comm)
    cards = {
        (kind, sends): [
            f"{_net(rank, card, sends=sends)}{('', '/Shared')[kind]}{tail}"
            for card in range(job.nics)
        ]
        for kind in (0, 1)
        for sends in (True, False)
    }
    near = f" via {_p2p(rank)}{tail}"
    me, size = shape[0], comm.per_node
    first = me // size * size

    def edge(channel: int, to: int, *, kind: int, sends: bool = True) -> str:
        if first <= to < first + size:
            names = f"{local(me)} -> {local(to)}{near}"
        else:
            card = cards[kind, sends][(rank.local + channel) % job.nics]
            here, there = remote(me), remote(to)
            if sends:
                names = f"{here} -> {there} [send]{card}"
            else:
                names = f"{there} -> {here} [receive]{card}"
        return f"{prefix}{word} {channel:02}{index[kind]} : {names}"

    def is_far(to: int) -> bool:
        return not first <= to < first + size

    if len(comm.ranks) == 1:
        return
    for channel, (before, _) in enumerate(ring(*shape)):
        if is_far(before):
            yield edge(channel, before, kind=0, sends=False)
    for channel, (_, after) in enumerate(ring(*shape)):
        yield edge(channel, after, kind=0)
    if d.version >= (2, 8):
        yield f"{prefix}{_connected(rank, comm, 'rings')}"
    for channel, (above, below) in enumerate(tree(*shape)):
        peers = [each for each in (above, *below) if each >= 0]
        for peer in filter(is_far, peers):
            yield edge(channel, peer, kind=0, sends=False)
            yield edge(channel, peer, kind=0)
        if above >= 0 and not is_far(above):
            yield edge(channel, above, kind=0)
    if d.version >= (2, 8):
        yield f"{prefix}{_connected(rank, comm, 'trees')}"
    for step in range(1, len(comm.ranks) if job.alltoall else 0):
        to, of = (me + step) % len(comm.ranks), (me - step) % len(comm.ranks)
        for channel in range(job.alltoall):
            if is_far(of):
                yield edge(channel, of, kind=1, sends=False)
            yield edge(channel, to, kind=1)


def _local_names(rank: Rank, comm: Comm) -> Callable[[int], str]:
    by_bus = rank.dialect.rccl or (2, 7) <= rank.dialect.version < (2, 18, 3)
    return _names(rank, comm, by_bus=by_bus)


def _remote_names(rank: Rank, comm: Comm) -> Callable[[int], str]:
    version = rank.dialect.version
    if version < (2, 7):
        return str
    by_bus = version < ((2, 26) if rank.dialect.rccl else (2, 18, 3))
    return _names(rank, comm, by_bus=by_bus)


def _names(rank: Rank, comm: Comm, *, by_bus: bool) -> Callable[[int], str]:
    per_node = rank.job.ranks_per_node
    ids = [bus(rank.dialect, at) if by_bus else str(at) for at in range(per_node)]
    start, step = comm.ranks.start, comm.ranks.step
    return lambda number: f"{number}[{ids[(start + number * step) % per_node]}]"


def _net(rank: Rank, card: int, *, sends: bool) -> str:
    version = rank.dialect.version
    away = sends and rank.job.proxies and rank.local and version >= (2, 12)
    proxy = f"({rank.number - rank.local})" if away else ""
    gdr = "/GDRDMA" if rank.has_gdr else ""
    mode = rank.job.gdr_mode
    if gdr and mode and version >= (2, 26):
        gdr += f"({mode})"
    return f" via NET/{rank.network}/{card}{proxy}{gdr}"


def _p2p(rank: Rank) -> str:
    if not rank.has_own_process:
        return "P2P/direct pointer"
    d = rank.dialect
    if d.rccl or d.version < (2, 18):
        return "P2P/IPC"
    return "P2P/CUMEM/read" if d.version >= (2, 24) else "P2P/CUMEM"


def _connected(rank: Rank, comm: Comm, what: str) -> str:
    d = rank.dialect
    if d.version >= (2, 24):
        if what == "trees":
            return "Connected all trees"
        all_gdr = comm.nodes == 1 or rank.job.is_all_gdr
        pxn = int(rank.job.proxies)
        return f"Connected all rings, use ring PXN {pxn} GDR {int(all_gdr)}"
    tail = f" comm {rank.comm(comm)} nRanks {len(comm.ranks):02} busId {rank.bus}"
    return f"Connected all {what}{tail if d.rccl else ''}"
