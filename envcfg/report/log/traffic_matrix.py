"""The matrix of senders and receivers: ranks, or nodes in a large job.

A report tells few kinds of ways apart. Their colours are those of page.html; they differ in
pattern as well.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from envcfg.common.characters import printable
from envcfg.log.verdict import Transport
from envcfg.report.log.rank_layout import RankLayout

MOST = 128  # rows and columns
# An SVG has no layout engine, so widths of text are estimated.
_SMALLEST, _LARGEST, _WIDTH = 6, 24, 760  # a cell and all cells, in pixels
_LETTER, _LINE = 6.7, 13  # a letter and a line of text
_NUMBERED = 14  # a cell that has room for the number of its rank
_GUTTER = 20  # room for these numbers

# From worst to best. Several ways in one cell are shown as the worst.
KINDS = {
    "socket": "TCP sockets",
    "plain": "network, without GPU RDMA",
    "other": "other, or unknown",
    "rdma": "network, with GPU RDMA",
    "local": "within the node (P2P, SHM)",
}
_ORDER = {name: place for place, name in enumerate(KINDS)}
# The marks on the fills of the KINDS, as paths.
MARKS = {
    "socket": "M0 0L6 6M0 6L6 0",
    "plain": "M-1 1L1 -1M0 6L6 0M5 7L7 5",
    "other": "M0 3H6",
    "rdma": "",
    "local": "M3 2V4",
}
_Ways = Counter[tuple[int, str]]  # badness and description


class _Axis(NamedTuple):
    names: tuple[str, ...]
    numbers: tuple[int, ...]  # numbers of the ranks, if each row is a rank
    places: dict[int, int]
    blocks: tuple[tuple[str, int, int], ...]  # nodes: label, first row, end


class Matrix(NamedTuple):
    """The dimensions of the drawing, in pixels."""

    axis: _Axis  # rows, which are the columns as well
    nodes: int  # their number, whether drawn or not
    cell: int
    side: int
    gutter: int  # room for the numbers of ranks; 0: no numbers
    left: float  # the position of the first cell
    top: float
    flat: bool  # whether the names above the columns fit horizontally
    thin: list[int]  # rows that begin with a line between cells
    strong: list[int]  # rows that begin with a line between nodes
    labels: list[tuple[str, float]]  # names of nodes that fit, with the middle of each
    # Row, first column, end, kind and text of adjacent equal cells.
    runs: list[tuple[int, int, int, str, str]]


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


def lay_matrix(transports: Sequence[Transport], layout: RankLayout) -> Matrix:
    """Return the matrix of senders (rows) and receivers (columns)."""
    axis = _axis(layout)
    size = len(axis.names)
    cell = max(_SMALLEST, min(_LARGEST, _WIDTH // max(1, size)))
    widest = max((len(name) for name, _, _ in axis.blocks), default=0) * _LETTER
    gutter = _GUTTER if axis.numbers and cell >= _NUMBERED else 0
    flat = all(
        len(name) * _LETTER + 4 <= (end - first) * cell
        for name, first, end in axis.blocks
    )
    strong = {0, size}
    if len(axis.blocks) < size:  # some node has several cells
        strong |= {first for _, first, _ in axis.blocks}
    return Matrix(
        axis=axis,
        nodes=len(layout.nodes),
        cell=cell,
        side=cell * size,
        gutter=gutter,
        left=max(72, widest + gutter + 14),
        top=gutter + (_LINE + 20 if flat else widest + 26),
        flat=flat,
        thin=[index for index in range(size + 1) if index not in strong],
        strong=sorted(strong),
        labels=list(_spread(axis, cell)),
        runs=_runs(transports, axis),
    )


def ways_of(transports: Sequence[Transport]) -> list[tuple[str, str, int]]:
    """Return the kinds of transports from best to worst, with description and count."""
    counts = Counter(kind_of(transport) for transport in transports)
    kinds = reversed(KINDS.items())
    return [(name, label, counts[name]) for name, label in kinds if counts[name]]


def _axis(layout: RankLayout) -> _Axis:
    names: list[str] = []
    numbers: list[int] = []
    places: dict[int, int] = {}
    blocks = []
    # Large jobs are drawn by node, because a cell needs some pixels to be visible.
    by_rank = layout.size <= MOST
    for node in layout.nodes if by_rank else layout.nodes[:MOST]:
        first = len(names)
        if by_rank:
            places.update(
                (rank, first + index) for index, rank in enumerate(node.ranks)
            )
            numbers.extend(node.ranks)
            names.extend(f"rank {rank}" for rank in node.ranks)
        else:
            places.update((rank, first) for rank in node.ranks)
            names.append(node.name)
        name = printable(node.name)
        # The end of a host name often differs, so the middle is cut.
        short = name if len(name) <= 20 else f"{name[:9]}\u2026{name[-10:]}"
        blocks.append((short, first, len(names)))
    return _Axis(tuple(names), tuple(numbers), places, tuple(blocks))


def _runs(
    transports: Sequence[Transport], axis: _Axis
) -> list[tuple[int, int, int, str, str]]:
    """Return the runs of a matrix."""
    result: dict[tuple[int, int], _Ways] = {}
    for transport in transports:
        row, column = (
            axis.places.get(transport.sender),
            axis.places.get(transport.receiver),
        )
        if row is not None and column is not None:
            way = (_ORDER[kind_of(transport)], describe(transport))
            result.setdefault((row, column), Counter())[way] += 1
    runs: list[tuple[int, int, int, _Ways]] = []
    # Equal neighbours become one rectangle, which keeps the page small.
    for (row, column), ways in sorted(result.items(), key=lambda item: item[0]):
        if runs and (runs[-1][0], *runs[-1][2:]) == (row, column, ways):
            runs[-1] = (row, runs[-1][1], column + 1, ways)
        else:
            runs.append((row, column, column + 1, ways))
    kinds = tuple(KINDS)
    drawn = []
    for row, first, end, ways in runs:
        counts = [
            f"{number} \u00d7 {text}" for (_, text), number in sorted(ways.items())
        ]
        message = "; ".join(counts) if ways.total() > 1 else next(iter(ways))[1]
        # The first key is the worst, because the order of kinds is its number.
        drawn.append((row, first, end, kinds[min(ways)[0]], message))
    return drawn


def _spread(axis: _Axis, cell: int) -> Iterator[tuple[str, float]]:
    """Yield names of nodes that have room, with the middle of each node."""
    last = float("-inf")
    for name, first, end in axis.blocks:
        middle = (first + end) / 2 * cell
        # Names that would overlap are left out; the tooltip of a cell has them.
        if middle >= last + _LINE:
            yield name, middle
            last = middle
