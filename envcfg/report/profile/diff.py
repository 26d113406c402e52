"""What differs between two profiles, as text and JSON."""

from collections.abc import Iterator, Sequence
from itertools import groupby

from envcfg.profile.look.difference import Difference, Side
from envcfg.report.conditions import condition_text
from envcfg.report.document import json_text
from envcfg.report.styled import Line


def diff_lines(old: str, new: str, found: Sequence[Difference]) -> Iterator[Line]:
    """Yield what differs: ``-`` stands in *old*, ``+`` in *new*."""
    if not found:
        return
    yield "bold", f"--- {old}"
    yield "bold", f"+++ {new}"
    for section, entries in groupby(found, lambda each: each.section):
        yield "", ""
        yield "bold", section
        for each in entries:
            for side in each.old:
                yield "red", f"- {_line(each, side)}"
            for side in each.new:
                yield "green", f"+ {_line(each, side)}"


def diff_json(old: str, new: str, found: Sequence[Difference]) -> str:
    """Return the differences as JSON; ``schema_version`` counts incompatible changes."""
    document = {
        "schema_version": 1,
        "old": old,
        "new": new,
        "differences": [
            {
                "section": each.section,
                "name": each.name,
                "kind": each.kind,
                "old": [_side(side) for side in each.old],
                "new": [_side(side) for side in each.new],
            }
            for each in found
        ],
    }
    return json_text(document)


def _line(entry: Difference, side: Side) -> str:
    if entry.section == "env":
        unset = f"unset {entry.name}"
        said = unset if side.text is None else f"{entry.name}={side.text}"
    else:
        said = f"{entry.name} {side.text or ''}".strip()
    when = condition_text(side.when)
    said += (
        "  where no case holds" if side.otherwise else f"  if {when}" if when else ""
    )
    return f"{said}  [{side.place.path}:{side.place.line}]"


def _side(side: Side) -> dict[str, object]:
    return {
        "value": side.text,
        "when": condition_text(side.when),
        "otherwise": side.otherwise,
        "place": side.place,
    }
