"""The list of profiles, and which of them fit a machine, as text, table and JSON."""

import textwrap
from collections.abc import Iterator, Sequence

from envcfg.findings import Finding
from envcfg.profile.detect import Detection, Machine
from envcfg.profile.look.survey import Summary
from envcfg.report.document import json_text
from envcfg.report.styled import Line, in_columns

_TITLES = ("name", "state", "verified", "extends", "layer", "summary")
_READABLE = 32  # columns that a summary needs beside the name
_INDENT = 4  # where it stands below it


def list_lines(
    summaries: Sequence[Summary], width: int | None = None
) -> Iterator[Line]:
    """Yield the lines of the list, each with its style.

    A line for each profile, in columns; where they are wider than *width*, its name with
    what it is, and below that of the rest what is not so of most.
    """
    rows = [_TITLES, *(_row(each) for each in summaries)]
    lines = in_columns(rows)
    styles = [
        "bold",
        *(
            "dim" if each.family else "red" if each.state == "retired" else ""
            for each in summaries
        ),
    ]
    if width is None or max(map(len, lines)) <= width:
        yield from zip(styles, lines, strict=True)
        return
    name = max(len(row[0]) for row in rows)
    margin = name + 2 if width - name > _READABLE else _INDENT
    for style, row in zip(styles[1:], rows[1:], strict=True):
        yield from _stacked(style, row, margin, width)


def _stacked(
    style: str, row: tuple[str, ...], margin: int, width: int
) -> Iterator[Line]:
    name, state, verified, extends, layer, summary = row
    rest = [
        "" if state == "active" else state,
        verified,
        "" if extends == "-" else f"extends {extends}",
        "" if layer == "built-in" else layer,
    ]
    details = "; ".join(each for each in rest if each not in {"", "-"})
    head = f"{name:<{margin}}"
    if len(name) > margin - 2:
        yield style, name
        head = ""
    for text, how in ((summary, style), (details, "dim")):
        for line in textwrap.wrap(text, max(width - margin, 1), break_on_hyphens=False):
            yield style if head else how, f"{head:<{margin}}{line}"
            head = ""
    if head:
        yield style, name


def list_json(summaries: Sequence[Summary], problems: Sequence[Finding]) -> str:
    """Return the list as JSON; ``schema_version`` counts incompatible changes."""
    document = {
        "schema_version": 1,
        "profiles": [each._asdict() for each in summaries],
        "findings": problems,
    }
    return json_text(document)


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


def detect_lines(detection: Detection, machine: Machine) -> Iterator[Line]:
    """Yield what is known of the machine, what fits and what does not."""
    yield "", f"cluster     {machine.cluster or '(none named)'}"
    yield "", f"host        {machine.host}"
    yield "", f"interfaces  {', '.join(machine.interfaces) or '(none)'}"
    yield "", ""
    for each in detection.found:
        yield "bold green", f"fits        {each.name}: {each.why}"
    if not detection.found:
        yield "bold yellow", "fits        none"
    for each in detection.others:
        state = "less sure" if each.evidence else "not"
        yield "dim", f"{state:<10}  {each.name}: {each.why}"


def detect_json(detection: Detection, machine: Machine) -> str:
    """Return the answers as JSON; *profile* is null where none or several fit."""
    found = detection.found
    document = {
        "schema_version": 1,
        "profile": found[0].name if len(found) == 1 else None,
        "cluster": machine.cluster,
        "host": machine.host,
        "interfaces": list(machine.interfaces),
        "found": [each._asdict() for each in found],
        "others": [each._asdict() for each in detection.others],
    }
    return json_text(document)
