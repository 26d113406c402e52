"""What a rank's environment was, for people and for programs."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from envcfg.characters import whole_number
from envcfg.datafile import load_knowledge_file
from envcfg.findings import Finding
from envcfg.launch.environment import Row
from envcfg.report.document import json_text
from envcfg.report.styled import Line

_STYLES = {
    "changed": "yellow",
    "missing": "red",
    "unplanned": "",
    "as planned": "green",
}


@cache
def _words() -> Any:  # noqa: ANN401  # our own file
    return load_knowledge_file("rank_environment.yaml")


def _origin(row: Row, what: str) -> str | None:
    """Return what is said of who has set a variable, or what to do about it."""
    text: str | None = _words()["origins"].get(row.origin, {}).get(what)
    return text and text.replace("NAME", row.name)


def environment_findings(rows: Sequence[Row]) -> list[Finding]:
    """Return what is not as planned, as every check says it."""
    return [
        Finding(
            f"environment-{row.state}",
            "error" if row.state == "missing" else "warning",
            row.name,
            _said(row),
            why=_origin(row, "said"),
            fix=_origin(row, "fix") or "the job's output may say why",
        )
        for row in rows
        if row.state in {"changed", "missing"}
    ]


def environment_lines(said: Mapping[str, str], rows: Sequence[Row]) -> Iterator[Line]:
    """Yield the answer for people: what needs a look first."""
    where = ", ".join(f"{name} {value}" for name, value in said.items())
    yield "bold", f"environment of {where}"
    for state, title in _words()["titles"].items():
        found = [row for row in rows if row.state == state]
        if not found:
            continue
        yield "", ""
        yield f"bold {_STYLES[state]}".strip(), f"{title} ({len(found)})"
        if state == "unplanned":  # by whom it comes from
            for origin, words in _words()["origins"].items():
                if mine := [row for row in found if row.origin == origin]:
                    yield "dim", f"  {words['said']}:"
                    yield from (("", f"    {row.name}={row.value}") for row in mine)
        else:
            yield from _each(found)


def _each(rows: Sequence[Row]) -> Iterator[Line]:
    for row in rows:
        value = " unset" if row.value is None else f"={row.value}"
        yield _STYLES[row.state], f"  {row.name}{value}"
        if row.state != "as planned":
            yield "", f"    {_said(row)}"
        if row.state == "changed":
            yield "dim", f"    {_origin(row, 'said')}"
            yield "", f"    fix: {_origin(row, 'fix')}"


def environment_json(file: str, said: Mapping[str, str], rows: Sequence[Row]) -> str:
    """Return the same as JSON."""
    document = {
        "schema_version": 1,
        "file": file,
        "profile": said.get("profile", ""),
        "rank": whole_number(said.get("rank")),
        "nodes": whole_number(said.get("nodes")),
        "variables": [row._asdict() for row in rows],
        "findings": environment_findings(rows),
    }
    return json_text(document)


def _said(row: Row) -> str:
    if row.state == "missing":
        return f"is not set in the rank, and the plan has {row.planned}"
    wanted = "does not have it" if row.planned is None else f"has {row.planned}"
    return f"is {row.value} in the rank, and the plan {wanted}"
