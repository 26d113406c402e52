"""Where the ranks of a job stand on a page: by node, nodes in the order of their ranks."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from envcfg.log.numbers import grouped
from envcfg.log.verdict import LogReport, RankReport, Transport

UNNAMED = "node not named"
MISSING = "not in the log"
_MANY_NODES = 256  # of which those that look the same are drawn once


class NodeBox(NamedTuple):
    """A node of the job, or ranks of which the node is not known.

    Attributes:
        name: of the host, else :data:`UNNAMED` or :data:`MISSING`.
        known: False where the name is not a host.
        ranks: numbers of its ranks, rising.
        alike: how many other nodes it stands for, which look the same.
    """

    name: str
    known: bool
    ranks: tuple[int, ...]
    alike: int = 0


class Layout(NamedTuple):
    """The ranks of a job by node.

    Attributes:
        nodes: hosts in the order of their first rank, those without any rank after them,
            then the ranks that belong to no host.
        ranks: what is known of each rank.
    """

    nodes: tuple[NodeBox, ...]
    ranks: dict[int, RankReport]

    @property
    def size(self) -> int:
        """How many ranks there are."""
        return sum(len(node.ranks) for node in self.nodes)

    @property
    def missing(self) -> int:
        """How many of them the log does not show."""
        return self.size - len(self.ranks)


def lay_out(report: LogReport) -> Layout:
    """Return where each rank stands that the log or its transports name."""
    ranks = {each.rank: each for each in report.ranks}
    hosts = grouped(sorted(ranks), lambda rank: ranks[rank].host)
    unnamed = hosts.pop("", [])
    for name in report.job.nodes:
        hosts.setdefault(name, [])
    missing = set(report.job.ranks_missing)
    for transport in report.transports:
        missing.update((transport.sender, transport.receiver))
    nodes = [NodeBox(name, True, tuple(found)) for name, found in hosts.items()]
    if unnamed:
        nodes.append(NodeBox(UNNAMED, False, tuple(unnamed)))
    if absent := sorted(missing - ranks.keys()):
        nodes.append(NodeBox(MISSING, False, tuple(absent)))
    return Layout(tuple(nodes), ranks)


def fold_alike(layout: Layout) -> Layout:
    """Return *layout* with one node for all that look the same, if there are many nodes."""
    if len(layout.nodes) <= _MANY_NODES:
        return layout
    groups: dict[object, list[NodeBox]] = {}
    for node in layout.nodes:
        ranks = (layout.ranks.get(rank) for rank in node.ranks)
        look = tuple(
            each and each._replace(rank=0, host="", pid=0, device=0) for each in ranks
        )
        key = look if look and node.known else node.name
        groups.setdefault(key, []).append(node)
    nodes = tuple(
        first._replace(alike=len(others)) for first, *others in groups.values()
    )
    shown = {rank for node in nodes for rank in node.ranks}
    kept = {rank: each for rank, each in layout.ranks.items() if rank in shown}
    return Layout(nodes, kept)


def without_silent(layout: Layout, transports: Iterable[Transport]) -> Layout:
    """Return *layout* without ranks that are neither in the log nor in *transports*."""
    heard = set(layout.ranks)
    for each in transports:
        heard.update((each.sender, each.receiver))
    nodes = (
        node._replace(ranks=tuple(rank for rank in node.ranks if rank in heard))
        for node in layout.nodes
    )
    return layout._replace(nodes=tuple(node for node in nodes if node.ranks))
