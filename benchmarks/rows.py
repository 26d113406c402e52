"""What the benchmarks yield: one row for each thing measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """Something measured, mostly beside a peer; *met* is None where there is no target."""

    what: str
    measured: float
    peer: float | None = None
    against: str = ""
    unit: str
    target: str = ""
    met: bool | None = None

    @property
    def ratio(self) -> float | None:
        """Return measured / peer, or None where there is no peer or it is 0."""
        return self.measured / self.peer if self.peer else None

    def as_json(self) -> dict[str, object]:
        """Return the row with its ratio, for JSON."""
        return asdict(self) | {"ratio": self.ratio}


def ratio_row(
    what: str,
    *,
    measured: float,
    peer: float,
    against: str,
    unit: str = "ms",
    most: float | None = None,
) -> Row:
    """Return a row whose target, if any, is a ratio of at most *most*."""
    return Row(
        what=what,
        measured=measured,
        peer=peer,
        against=against,
        unit=unit,
        target="" if most is None else f"<= {most:.1f} x",
        met=None if most is None else measured <= most * peer,
    )


def render_table(rows: Sequence[Row]) -> str:
    """Return *rows* as aligned text."""
    titles = ("what", "measured", "peer", "ratio", "target", "met", "the peer is")
    cells = [titles, *(_cells(row) for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = []
    for line in cells:
        padded = (
            cell.rjust(width) if 0 < place < 4 else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(line, widths, strict=True))
        )
        lines.append("  ".join(padded).rstrip())
    lines.insert(1, "  ".join("-" * width for width in widths))
    return "\n".join(lines)


def _cells(row: Row) -> tuple[str, ...]:
    ratio = "-" if row.ratio is None else f"{row.ratio:.2f}"
    met = {None: "-", True: "yes", False: "NO"}[row.met]
    measured = _amount(row.measured, row.unit)
    peer = "-" if row.peer is None else _amount(row.peer, row.unit)
    return row.what, measured, peer, ratio, row.target or "-", met, row.against


def _amount(value: float, unit: str) -> str:
    digits = 2 if unit in ("s", "ms") else 0
    return f"{value:.{digits}f} {unit}".rstrip()
