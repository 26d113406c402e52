"""The list of profiles, as text, table and JSON."""

from __future__ import annotations

from collections.abc import Sequence

from envcfg.errors import Problem
from envcfg.profile.survey import Summary

SCHEMA_VERSION = 1
_TITLES = ("name", "state", "verified", "extends", "layer", "summary")


def list_text(summaries: Sequence[Summary]) -> str:
    """Return a line for each profile, in columns."""
    rows = [_TITLES, *(_row(each) for each in summaries)]
    widths = [max(map(len, column)) for column in list(zip(*rows, strict=True))[:-1]]
    lines = (
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=False))
        + f"  {row[-1]}"
        for row in rows
    )
    return "".join(f"{line.rstrip()}\n" for line in lines)


def print_list(summaries: Sequence[Summary]) -> None:
    """Print a table, for a terminal."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False)
    for title in _TITLES:
        table.add_column(title, overflow="fold", no_wrap=title in {"name", "extends"})
    for each in summaries:
        style = "dim" if each.family else "red" if each.state == "retired" else ""
        table.add_row(*(Text(cell) for cell in _row(each)), style=style)
    Console().print(table)


def list_json(summaries: Sequence[Summary], problems: Sequence[Problem]) -> str:
    """Return the list as JSON; ``schema_version`` counts incompatible changes."""
    import json

    document = {
        "schema_version": SCHEMA_VERSION,
        "profiles": [each._asdict() for each in summaries],
        "broken": sorted({each.place.path for each in problems}),
    }
    return json.dumps(document, indent=2) + "\n"


def _row(each: Summary) -> tuple[str, ...]:
    verified = " ".join(filter(None, (each.verified_date, each.verified)))
    return (
        f"{each.name} (family)" if each.family else each.name,
        each.state or "-",
        verified or "-",
        each.extends or "-",
        ", ".join(each.layers),
        each.summary or "",
    )
