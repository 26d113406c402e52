"""The positions of the ranks on a page: by node, in the order of their ranks."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from envcfg.log.numbers import grouped
from envcfg.log.verdict import LogReport, RankReport, Transport

UNNAMED = "node not named"
MISSING = "not in the log"
_MANY_NODES = 256  # above this number, equal nodes are drawn once


class NodeBox(NamedTuple):
    """A node of the job, or a group of ranks with an unknown node."""

    name: str  # the host, or `UNNAMED` or `MISSING`
    known: bool  # False if the name is not a host
    ranks: tuple[int, ...]
    # The template reads these fields, so their names are part of its interface.
    alike: int = 0  # how many other nodes it stands for, which look the same


class RankLayout(NamedTuple):
    """The ranks of a job by node."""

    # Hosts in the order of their first rank, then hosts without a rank, then the ranks
    # without a host.
    nodes: tuple[NodeBox, ...]
    ranks: dict[int, RankReport]

    @property
    def size(self) -> int:
        """The number of ranks."""
        return sum(len(node.ranks) for node in self.nodes)

    @property
    def missing(self) -> int:
        """The number of ranks that are not in the log."""
        return self.size - len(self.ranks)


def lay_out(report: LogReport) -> RankLayout:
    """Return the position of each rank named by the log or its transports."""
    ranks = {rank.rank: rank for rank in report.ranks}
    hosts = grouped(sorted(ranks), lambda rank: ranks[rank].host)
    # Ranks without a host are put last, because their node cannot be drawn.
    unnamed = hosts.pop("", [])
    for name in report.job.nodes:
        hosts.setdefault(name, [])
    # Transports name ranks that may have no line of their own.
    missing = set(report.job.ranks_missing)
    for transport in report.transports:
        missing.update((transport.sender, transport.receiver))
    nodes = [NodeBox(name, True, tuple(host)) for name, host in hosts.items()]
    if unnamed:
        nodes.append(NodeBox(UNNAMED, False, tuple(unnamed)))
    if absent := sorted(missing - ranks.keys()):
        nodes.append(NodeBox(MISSING, False, tuple(absent)))
    return RankLayout(tuple(nodes), ranks)


def fold_alike(layout: RankLayout) -> RankLayout:
    """Return *layout* with one node for all that look the same, if there are many nodes."""
    if len(layout.nodes) <= _MANY_NODES:
        return layout
    groups: dict[object, list[NodeBox]] = {}
    for node in layout.nodes:
        ranks = (layout.ranks.get(rank) for rank in node.ranks)
        look = tuple(
            # Fields that always differ between ranks are removed before the
            # comparison.
            rank and rank._replace(rank=0, host="", pid=0, device=0)
            for rank in ranks
        )
        # A node without ranks is not folded, because nothing is known about it.
        key = look if look and node.known else node.name
        groups.setdefault(key, []).append(node)
    nodes = tuple(
        first._replace(alike=len(node_boxes)) for first, *node_boxes in groups.values()
    )
    ranks_shown = {rank for node in nodes for rank in node.ranks}
    rank_reports = {
        rank: rank_report
        for rank, rank_report in layout.ranks.items()
        if rank in ranks_shown
    }
    return RankLayout(nodes, rank_reports)


def without_silent(layout: RankLayout, transports: Iterable[Transport]) -> RankLayout:
    """Return *layout* without ranks that neither the log nor *transports* has."""
    heard = set(layout.ranks)
    for transport in transports:
        heard.update((transport.sender, transport.receiver))
    nodes = (
        node._replace(ranks=tuple(rank for rank in node.ranks if rank in heard))
        for node in layout.nodes
    )
    return layout._replace(nodes=tuple(node for node in nodes if node.ranks))
