"""The report on a rank's environment, for readers and programs."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from envcfg.common.characters import whole_number
from envcfg.common.datafile import load_yaml
from envcfg.common.findings import Finding
from envcfg.job.plan.rank_environment import Row
from envcfg.report.document import json_text
from envcfg.report.styled import Line

_STYLES = {
    "changed": "yellow",
    "missing": "red",
    "unplanned": "",
    "as planned": "green",
}


@cache
def _words() -> Any:  # noqa: ANN401  # an own data file
    return load_yaml("knowledge/rank_environment.yaml")


def _origin(row: Row, subject: str) -> str | None:
    """Return the origin of a variable, or the remedy for it."""
    text: str | None = _words()["origins"].get(row.origin, {}).get(subject)
    return text and text.replace("NAME", row.name)


def environment_findings(rows: Sequence[Row]) -> list[Finding]:
    """Return the deviations from the plan as findings."""
    return [
        Finding(
            f"environment-{row.state}",
            "error" if row.state == "missing" else "warning",
            row.name,
            _difference(row),
            why=_origin(row, "said"),
            fix=_origin(row, "fix") or "the job's output may say why",
        )
        for row in rows
        if row.state in {"changed", "missing"}
    ]


def environment_lines(texts: Mapping[str, str], rows: Sequence[Row]) -> Iterator[Line]:
    """Yield the report as text: deviations first."""
    where = ", ".join(f"{name} {value}" for name, value in texts.items())
    yield "bold", f"environment of {where}"
    for state, title in _words()["titles"].items():
        matching_rows = [row for row in rows if row.state == state]
        if not matching_rows:
            continue
        yield "", ""
        yield f"bold {_STYLES[state]}".strip(), f"{title} ({len(matching_rows)})"
        if state == "unplanned":  # its origin
            for origin, words in _words()["origins"].items():
                if mine := [row for row in matching_rows if row.origin == origin]:
                    yield "dim", f"  {words['said']}:"
                    yield from (("", f"    {row.name}={row.value}") for row in mine)
        else:
            yield from _each(matching_rows)


def _each(rows: Sequence[Row]) -> Iterator[Line]:
    for row in rows:
        value = " unset" if row.value is None else f"={row.value}"
        yield _STYLES[row.state], f"  {row.name}{value}"
        if row.state != "as planned":
            yield "", f"    {_difference(row)}"
        if row.state == "changed":
            yield "dim", f"    {_origin(row, 'said')}"
            yield "", f"    fix: {_origin(row, 'fix')}"


def environment_json(file: str, texts: Mapping[str, str], rows: Sequence[Row]) -> str:
    """Return the report as JSON."""
    return json_text(
        {
            "file": file,
            "profile": texts.get("profile", ""),
            "rank": whole_number(texts.get("rank")),
            "nodes": whole_number(texts.get("nodes")),
            "variables": rows,
            "findings": environment_findings(rows),
        }
    )


def _difference(row: Row) -> str:
    if row.state == "missing":
        return f"is not set in the rank, and the plan has {row.planned}"
    expectation = "does not have it" if row.planned is None else f"has {row.planned}"
    return f"is {row.value} in the rank, and the plan {expectation}"
