"""Who sends to whom: a matrix of ranks, or of nodes in a large job, as SVG.

A report tells few kinds of ways apart. Their colours are those of page.html; they differ in
pattern as well.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from envcfg.characters import printable
from envcfg.log.numbers import count_of
from envcfg.log.verdict import Transport
from envcfg.report.log.layout import Layout
from envcfg.report.markup import escape

MOST = 128  # rows and columns
_SMALLEST, _LARGEST, _WIDTH = 6, 24, 760  # a cell and all cells, in pixels
_LETTER, _LINE = 6.7, 13  # a letter and a line of text
_NUMBERED = 14  # a cell that has room for the number of its rank
_GUTTER = 20  # room for these numbers

# From worst to best: where several ways are shown as one, it is the worst.
KINDS = {
    "socket": "TCP sockets",
    "plain": "network, without GPU RDMA",
    "other": "other, or not told",
    "rdma": "network, with GPU RDMA",
    "local": "within the node (P2P, SHM)",
}
_ORDER = {name: place for place, name in enumerate(KINDS)}
_MARKS = {
    "socket": "M0 0L6 6M0 6L6 0",
    "plain": "M-1 1L1 -1M0 6L6 0M5 7L7 5",
    "other": "M0 3H6",
    "rdma": "",
    "local": "M3 2V4",
}
_Ways = Counter[tuple[int, str]]  # how bad, and what it is called


class _Axis(NamedTuple):
    names: tuple[str, ...]  # of each row and column
    numbers: tuple[int, ...]  # ranks, where a row is a rank
    places: dict[int, int]  # the row and column of each rank
    blocks: tuple[tuple[str, int, int], ...]  # nodes: label, first row, end


class _Space(NamedTuple):
    axis: _Axis
    cell: int
    gutter: int  # for the numbers of ranks
    left: float
    top: float
    flat: bool  # whether the names above the columns have room as they are

    @property
    def side(self) -> int:
        return self.cell * len(self.axis.names)


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
    return {True: "rdma", False: "plain", None: "other"}[transport.gdr]


def describe(transport: Transport) -> str:
    """Return what a transport is called in a report.

    >>> describe(Transport(0, 8, "NET/AWS Libfabric", True))
    'NET/AWS Libfabric, GPU RDMA'
    """
    with_rdma = {True: ", GPU RDMA", False: ", no GPU RDMA", None: ""}
    return f"{transport.kind}{with_rdma[transport.gdr]}"


def render_legend(transports: Sequence[Transport]) -> str:
    """Return in HTML what the fills mean, with how many connections have each."""
    counts = Counter(kind_of(each) for each in transports)
    items = (
        f'<li><svg class="swatch" aria-hidden="true"><rect class="m-{name}" width="18"'
        f' height="18"/></svg>{label}: {count_of(counts[name], "connection")}</li>'
        for name, label in reversed(KINDS.items())
        if counts[name]
    )
    return f'<ul class="key">{"".join(items)}</ul>'


def render_note(layout: Layout) -> str:
    """Return what a row is, and what is left out."""
    if layout.size <= MOST:
        return "Each row is a rank that sends, each column a rank that receives."
    text = (
        "Each row is a node that sends, each column a node that receives; a cell shows"
        " the worst of the ways between their ranks."
    )
    if len(layout.nodes) > MOST:
        text += (
            f" These are the first {MOST} of {len(layout.nodes):,} nodes; the counts are"
            " of all."
        )
    return text


def render_matrix(transports: Sequence[Transport], layout: Layout) -> str:
    """Return the matrix of senders (rows) and receivers (columns) as one SVG element."""
    space = _space(_axis(layout))
    width = f"{space.left + space.side + 8:g}"
    height = f"{space.top + space.side + 8:g}"
    head = (
        f'<svg id="matrix" role="img" width="{width}" height="{height}"'
        f' viewBox="0 0 {width} {height}"'
        ' aria-label="Transports from senders (rows) to receivers (columns)">'
    )
    return "\n".join(
        (
            head,
            _patterns(),
            *_cells(transports, space),
            _lines(space),
            *_row_labels(space),
            *_column_labels(space),
            f'<text class="axis" x="{space.left:g}" y="12">receiver \u2192</text>',
            f'<text class="axis" x="4" y="{space.top - 6:g}">sender \u2193</text>',
            "</svg>",
        )
    )


def _axis(layout: Layout) -> _Axis:
    names: list[str] = []
    numbers: list[int] = []
    places: dict[int, int] = {}
    blocks = []
    by_rank = layout.size <= MOST
    for node in layout.nodes if by_rank else layout.nodes[:MOST]:
        first = len(names)
        if by_rank:
            places.update((rank, first + at) for at, rank in enumerate(node.ranks))
            numbers.extend(node.ranks)
            names.extend(f"rank {rank}" for rank in node.ranks)
        else:
            places.update((rank, first) for rank in node.ranks)
            names.append(node.name)
        blocks.append((_short(node.name), first, len(names)))
    return _Axis(tuple(names), tuple(numbers), places, tuple(blocks))


def _short(name: str) -> str:
    name = printable(name)
    return name if len(name) <= 20 else f"{name[:9]}\u2026{name[-10:]}"


def _space(axis: _Axis) -> _Space:
    cell = max(_SMALLEST, min(_LARGEST, _WIDTH // max(1, len(axis.names))))
    widest = max((len(name) for name, _, _ in axis.blocks), default=0) * _LETTER
    gutter = _GUTTER if axis.numbers and cell >= _NUMBERED else 0
    flat = all(
        len(name) * _LETTER + 4 <= (end - first) * cell
        for name, first, end in axis.blocks
    )
    return _Space(
        axis=axis,
        cell=cell,
        gutter=gutter,
        left=max(72, widest + gutter + 14),
        top=gutter + (_LINE + 20 if flat else widest + 26),
        flat=flat,
    )


def _cells(transports: Sequence[Transport], space: _Space) -> Iterator[str]:
    """Yield a rectangle for each run of equal cells in a row."""
    names, cell, kinds = space.axis.names, space.cell, tuple(KINDS)
    for row, first, end, ways in _runs(transports, space.axis):
        to = names[first] if end == first + 1 else f"{names[first]} to {names[end - 1]}"
        title = escape(f"{names[row]} \u2192 {to}: {_ways_text(ways)}")
        yield (
            f'<rect class="m-{kinds[min(ways)[0]]}" x="{space.left + first * cell:g}"'
            f' y="{space.top + row * cell:g}" width="{(end - first) * cell}"'
            f' height="{cell}"><title>{title}</title></rect>'
        )


def _runs(
    transports: Sequence[Transport], axis: _Axis
) -> list[tuple[int, int, int, _Ways]]:
    """Return row, first column, end and ways of cells side by side that are equal."""
    found: dict[tuple[int, int], _Ways] = {}
    for each in transports:
        row, column = axis.places.get(each.sender), axis.places.get(each.receiver)
        if row is not None and column is not None:
            way = (_ORDER[kind_of(each)], describe(each))
            found.setdefault((row, column), Counter())[way] += 1
    runs: list[tuple[int, int, int, _Ways]] = []
    for (row, column), ways in sorted(found.items(), key=lambda item: item[0]):
        if runs and (runs[-1][0], *runs[-1][2:]) == (row, column, ways):
            runs[-1] = (row, runs[-1][1], column + 1, ways)
        else:
            runs.append((row, column, column + 1, ways))
    return runs


def _ways_text(ways: _Ways) -> str:
    if ways.total() == 1:
        return next(iter(ways))[1]
    counts = sorted(ways.items())
    return "; ".join(f"{number} \u00d7 {text}" for (_, text), number in counts)


def _lines(space: _Space) -> str:
    """Return thin lines between cells and strong ones between nodes."""
    size = len(space.axis.names)
    edges = {0, size}
    if len(space.axis.blocks) < size:  # not every cell is a node
        edges |= {first for _, first, _ in space.axis.blocks}
    thin = "".join(_cross(space, at) for at in range(size + 1) if at not in edges)
    strong = "".join(_cross(space, at) for at in sorted(edges))
    return f'<path class="thin" d="{thin}"/><path class="strong" d="{strong}"/>'


def _cross(space: _Space, at: int) -> str:
    x, y = space.left + at * space.cell, space.top + at * space.cell
    return f"M{x:g} {space.top:g}v{space.side}M{space.left:g} {y:g}h{space.side}"


def _row_labels(space: _Space) -> Iterator[str]:
    for name, middle in _spread(space):
        x, y = space.left - space.gutter - 6, space.top + middle + 4
        yield f'<text class="end" x="{x:g}" y="{y:g}">{escape(name)}</text>'
    for at, number in enumerate(space.axis.numbers if space.gutter else ()):
        x, y = space.left - 4, space.top + (at + 0.5) * space.cell + 3.5
        yield f'<text class="number end" x="{x:g}" y="{y:g}">{number}</text>'


def _column_labels(space: _Space) -> Iterator[str]:
    y = space.top - space.gutter - 6
    for name, middle in _spread(space):
        x = space.left + middle
        if space.flat:
            yield f'<text class="middle" x="{x:g}" y="{y:g}">{escape(name)}</text>'
        else:
            turn = f"translate({x + 4:g} {y:g}) rotate(-90)"
            yield f'<text transform="{turn}">{escape(name)}</text>'
    for at, number in enumerate(space.axis.numbers if space.gutter else ()):
        x, y = space.left + (at + 0.5) * space.cell, space.top - 5
        yield f'<text class="number middle" x="{x:g}" y="{y:g}">{number}</text>'


def _spread(space: _Space) -> Iterator[tuple[str, float]]:
    """Yield names of nodes that have room, with the middle of each node."""
    last = float("-inf")
    for name, first, end in space.axis.blocks:
        middle = (first + end) / 2 * space.cell
        if middle >= last + _LINE:
            yield name, middle
            last = middle


def _patterns() -> str:
    patterns = (
        f'<pattern id="fill-{name}" width="6" height="6" patternUnits="userSpaceOnUse">'
        f'<rect class="b-{name}" width="6" height="6"/>'
        f'<path class="k-{name}" d="{mark}"/></pattern>'
        for name, mark in _MARKS.items()
    )
    return f"<defs>{''.join(patterns)}</defs>"
