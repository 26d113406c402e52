"""What a rank's environment was, for people and for programs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from envcfg.characters import whole_number
from envcfg.findings import Finding
from envcfg.launch.environment import Row
from envcfg.report.document import json_text
from envcfg.report.styled import Line

_TITLES = {
    "changed": "not as planned",
    "missing": "planned, and not there",
    "beside": "beside the plan",
    "as planned": "as planned",
}
_STYLES = {"changed": "yellow", "missing": "red", "beside": "", "as planned": "green"}
_BY = {
    "job": "the job had it before envcfg: its script, a module, or where it was sent from",
    "image or runtime": "the image sets it, or a hook of the runtime",
    "starter": "what starts the ranks sets it",
    "envcfg or setup": "set in the rank: by envcfg's own part, the launcher or --setup",
    "envcfg": "envcfg",
}
_MENDS = {
    "job": "unset it in the job, or give --set {}=VALUE, which wins over all",
    "image or runtime": "--set {}=VALUE wins over image and hook",
    "starter": "--set {}=VALUE",
    "envcfg or setup": "look into --setup and the launcher",
}


def environment_findings(rows: Sequence[Row]) -> list[Finding]:
    """Return what is not as planned, as every check says it."""
    return [
        Finding(
            f"environment-{row.state}",
            "error" if row.state == "missing" else "warning",
            row.name,
            _said(row),
            why=_BY.get(row.origin),
            fix=_MENDS.get(row.origin, "the job's output may say why").format(row.name),
        )
        for row in rows
        if row.state in {"changed", "missing"}
    ]


def environment_lines(said: Mapping[str, str], rows: Sequence[Row]) -> Iterator[Line]:
    """Yield the answer for people: what needs a look first."""
    where = ", ".join(f"{name} {value}" for name, value in said.items())
    yield "bold", f"environment of {where}"
    for state, title in _TITLES.items():
        found = [row for row in rows if row.state == state]
        if not found:
            continue
        yield "", ""
        yield f"bold {_STYLES[state]}".strip(), f"{title} ({len(found)})"
        if state == "beside":  # by whom it comes from
            for origin, words in _BY.items():
                if mine := [row for row in found if row.origin == origin]:
                    yield "dim", f"  {words}:"
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
            yield "dim", f"    {_BY[row.origin]}"
            yield "", f"    fix: {_MENDS[row.origin].format(row.name)}"


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
