"""The matrix of senders and receivers: ranks, or nodes in a large job.

A report tells few kinds of ways apart. Their colours and patterns are those of page.html.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from envcfg.common.characters import printable
from envcfg.log.verdict import Transport
from envcfg.report.log.rank_layout import RankLayout

MOST = 128  # rows and columns

# From worst to best. Several ways in one cell are shown as the worst.
KINDS = {
    "socket": "TCP sockets",
    "plain": "network, without GPU RDMA",
    "other": "other, or unknown",
    "rdma": "network, with GPU RDMA",
    "local": "within the node (P2P, SHM)",
}
_ORDER = {name: place for place, name in enumerate(KINDS)}
_Ways = Counter[tuple[int, str]]  # badness and description
# Adjacent equal cells of a row: their number, their kind of `KINDS` or an empty text if
# nothing is sent, and their title.
_Run = tuple[int, str, str]


class MatrixRow(NamedTuple):
    """The transports of a sender: a rank, or a node."""

    number: str  # of the rank; empty: the row is a node
    cells: tuple[_Run, ...]


class NodeRows(NamedTuple):
    """The rows of a node, which are as many columns."""

    name: str
    rows: tuple[MatrixRow, ...]


def kind_of(transport: Transport) -> str:
    """Return which of :data:`KINDS` a transport is.

    >>> kind_of(Transport(0, 8, "NET/AWS Libfabric", True))
    'rdma'
    """
    first, _, rest = transport.kind.partition("/")
    if first in ("P2P", "SHM"):
        return "local"
    if first != "NET":
        return "other"
    if rest.startswith("Socket"):
        return "socket"
    # Some plug-ins add their name after NET, and they are networks too.
    return {True: "rdma", False: "plain", None: "other"}[transport.gdr]


def describe(transport: Transport) -> str:
    """Return the name of a transport in a report.

    >>> describe(Transport(0, 8, "NET/AWS Libfabric", True))
    'NET/AWS Libfabric, GPU RDMA'
    """
    with_rdma = {True: ", GPU RDMA", False: ", no GPU RDMA", None: ""}
    return f"{transport.kind}{with_rdma[transport.gdr]}"


def lay_matrix(transports: Sequence[Transport], layout: RankLayout) -> list[NodeRows]:
    """Return the matrix of senders (rows) and receivers (columns)."""
    # Large jobs are drawn by node, because a cell needs some pixels to be visible.
    by_rank = layout.size <= MOST
    names: list[str] = []
    places: dict[int, int] = {}
    spans = []  # the columns of each node
    for node in layout.nodes[: None if by_rank else MOST]:
        first = len(names)
        names += [f"rank {rank}" for rank in node.ranks] if by_rank else [node.name]
        for index, rank in enumerate(node.ranks):
            places[rank] = first + index if by_rank else first
        spans.append(range(first, len(names)))
    ways: dict[tuple[int, int], _Ways] = {}
    for transport in transports:
        if transport.sender in places and transport.receiver in places:
            key = places[transport.sender], places[transport.receiver]
            way = (_ORDER[kind_of(transport)], describe(transport))
            ways.setdefault(key, Counter())[way] += 1
    # No cell spans a line between nodes; such lines are only drawn between ranks.
    lines = spans if by_rank else [range(len(names))]
    rows = [
        MatrixRow(
            name.removeprefix("rank ") if by_rank else "",
            tuple(cell for span in lines for cell in _cells(row, span, names, ways)),
        )
        for row, name in enumerate(names)
    ]
    return [
        NodeRows(_short(node.name), tuple(rows[place] for place in span))
        for node, span in zip(layout.nodes, spans, strict=False)
    ]


def ways_of(transports: Sequence[Transport]) -> list[tuple[str, str, int]]:
    """Return the kinds of transports from best to worst, with description and count."""
    counts = Counter(kind_of(transport) for transport in transports)
    kinds = reversed(KINDS.items())
    return [(name, label, counts[name]) for name, label in kinds if counts[name]]


def _cells(
    row: int,
    span: range,
    names: Sequence[str],
    ways_by_cell: dict[tuple[int, int], _Ways],
) -> Iterator[_Run]:
    """Yield the cells of a row; equal neighbours are one, which keeps the page small."""
    for ways, same in groupby(span, lambda column: ways_by_cell.get((row, column))):
        columns = [names[column] for column in same]
        if ways is None:
            yield len(columns), "", ""
            continue
        counts = [
            f"{number} \u00d7 {text}" for (_, text), number in sorted(ways.items())
        ]
        message = "; ".join(counts) if ways.total() > 1 else next(iter(ways))[1]
        receivers = " to ".join(dict.fromkeys((columns[0], columns[-1])))
        # The first key is the worst, because the order of kinds is its number.
        kind = tuple(KINDS)[min(ways)[0]]
        yield len(columns), kind, f"{names[row]} \u2192 {receivers}: {message}"


def _short(name: str) -> str:
    text = printable(name)
    # The end of a host name often differs, so the middle is cut.
    return text if len(text) <= 20 else f"{text[:9]}\u2026{text[-10:]}"
