"""The list of profiles, and those that match a machine, as text, table and JSON."""

from collections.abc import Iterator, Sequence

from envcfg.common.findings import Finding
from envcfg.profile.detect import Detection, Machine
from envcfg.profile.look.survey import Summary
from envcfg.report.document import json_text
from envcfg.report.styled import Line, in_columns, wrapped

_TITLES = ("name", "state", "verified", "extends", "layer", "summary")


def list_lines(
    summaries: Sequence[Summary], width: int | None = None
) -> Iterator[Line]:
    """Yield the lines of the list, each with its style.

    Each profile has a line in columns. If the columns exceed *width*, the summary and
    unusual values come below the name.
    """
    rows = [_TITLES, *(_row(summary) for summary in summaries)]
    lines = in_columns(rows)
    styles = [
        "bold",
        *(
            "dim" if summary.family else "red" if summary.state == "retired" else ""
            for summary in summaries
        ),
    ]
    if width is None or max(map(len, lines)) <= width:
        yield from zip(styles, lines, strict=True)
        return
    for style, row in zip(styles[1:], rows[1:], strict=True):
        name, *values, summary = row
        yield style, name
        unusual = (text for text in values if text not in {"-", "active", "built-in"})
        for text in (summary, "; ".join(unusual)):
            yield from ((style, line) for line in wrapped(text, "    "))


def list_json(summaries: Sequence[Summary], problems: Sequence[Finding]) -> str:
    """Return the list as JSON."""
    return json_text({"profiles": summaries, "findings": problems})


def _row(summary: Summary) -> tuple[str, ...]:
    verified = " ".join(filter(None, (summary.verified_date, summary.verified)))
    return (
        f"{summary.name} (family)" if summary.family else summary.name,
        summary.state or "-",
        verified or "-",
        summary.extends or "-",
        ", ".join(summary.layers),
        (summary.summary or "")
        + (f" (kinds of nodes: {', '.join(summary.kinds)})" if summary.kinds else ""),
    )


def detect_lines(detection: Detection, machine: Machine) -> Iterator[Line]:
    """Yield the facts of the machine, the matching profiles and the others."""
    yield "", f"cluster     {machine.cluster or '(none named)'}"
    yield "", f"host        {machine.host}"
    yield "", f"interfaces  {', '.join(machine.interfaces) or '(none)'}"
    yield "", ""
    for answer in detection.matches:
        yield "bold green", f"fits        {answer.name}: {answer.why}"
    if not detection.matches:
        yield "bold yellow", "fits        none"
    for answer in detection.others:
        state = "less sure" if answer.evidence else "not"
        yield "dim", f"{state:<10}  {answer.name}: {answer.why}"


def detect_json(detection: Detection, machine: Machine) -> str:
    """Return the answers as JSON; *profile* is null if none or several match."""
    answers = detection.matches
    return json_text(
        {
            "profile": answers[0].name if len(answers) == 1 else None,
            "cluster": machine.cluster,
            "host": machine.host,
            "interfaces": machine.interfaces,
            "found": answers,
            "others": detection.others,
        }
    )
