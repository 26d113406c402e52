"""What is wrong with profile files, as text and JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from envcfg.launch.validate import Fault
from envcfg.report.styled import Line

SCHEMA_VERSION = 1
_STYLES = {"error": "red", "warning": "yellow", "note": ""}
Result = Mapping[str, Sequence[Fault]]  # by file, as it was given


def validation_lines(result: Result) -> Iterator[Line]:
    """Yield every problem, and a last line that counts."""
    for path, faults in result.items():
        if not faults:
            yield "green", f"{path}: ok"
        for each in faults:
            key = f"{each.key}: " if each.key else ""
            said = f"{each.place}: {each.severity}: {key}{each.message}"
            yield _STYLES[each.severity], said
            if each.hint:
                yield "dim", f"  hint: {each.hint}"
    yield "bold", f"{_count(len(result), 'file')}: {counts(result)}"


def counts(result: Result) -> str:
    """Return how many errors and warnings there are."""
    found = [each.severity for faults in result.values() for each in faults]
    errors, warnings = found.count("error"), found.count("warning")
    return f"{_count(errors, 'error')}, {_count(warnings, 'warning')}"


def validation_json(result: Result) -> str:
    """Return the problems as JSON; ``schema_version`` counts incompatible changes."""
    import json

    document = {
        "schema_version": SCHEMA_VERSION,
        "files": [
            {"path": path, "problems": [_problem(each) for each in faults]}
            for path, faults in result.items()
        ],
    }
    return json.dumps(document, indent=2) + "\n"


def _problem(each: Fault) -> dict[str, object]:
    fields = each._asdict()
    return {**fields.pop("place")._asdict(), **fields}


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
