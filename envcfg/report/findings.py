"""Findings in every form that people and programs read; one writer for all checks.

A check yields what it found by file, as the file was given: with an empty list where
nothing is wrong, so that a report says what was looked at, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from envcfg import __version__
from envcfg.characters import one_line, printable
from envcfg.findings import Finding, Place

if TYPE_CHECKING:
    from envcfg.report.styled import Line

SCHEMA_VERSION = 2
_STYLES = {"error": "red", "warning": "yellow", "note": ""}
_GITHUB = {"error": "error", "warning": "warning", "note": "notice"}
Result = Mapping[str, Sequence[Finding]]  # by file, as it was given


def finding_lines(result: Result) -> Iterator[Line]:
    """Yield every finding, and a last line that counts."""
    for path, found in result.items():
        if not found:
            yield "green", f"{path}: ok"
        for each in found:
            said = f"{each.subject}: {each.message}" if each.subject else each.message
            yield (
                _STYLES[each.severity],
                f"{_place(path, each)}: {each.severity}: {said}",
            )
            if each.fix:
                yield "dim", f"  hint: {each.fix}"
    yield "bold", f"{_count(len(result), 'file')}: {counts(result)}"


def counts(result: Result) -> str:
    """Return how many errors and warnings there are."""
    found = [each.severity for each in _all(result)]
    errors, warnings = found.count("error"), found.count("warning")
    return f"{_count(errors, 'error')}, {_count(warnings, 'warning')}"


def findings_json(result: Result) -> str:
    """Return the findings as JSON, as docs/findings.schema.json has it."""
    import json

    document = {
        "schema_version": SCHEMA_VERSION,
        "files": [
            {"path": path, "findings": [finding_object(each) for each in found]}
            for path, found in result.items()
        ],
    }
    return json.dumps(document, indent=2) + "\n"


def finding_object(each: Finding) -> dict[str, object]:
    """Return one finding for JSON."""
    fields = each._asdict()
    for name in ("place", "evidence"):
        fields[name] = fields[name] and fields[name]._asdict()
    return fields


def github_annotations(result: Result) -> str:
    """Return the findings as commands of a workflow of GitHub, shown in the code there."""
    lines = []
    for path, found in result.items():
        for each in found:
            place = each.place or Place(path, 1)
            where = {"file": place.path, "line": place.line, "col": place.column}
            values = {**where, "title": f"envcfg {each.rule}"}
            # as packages/core/src/command.ts of github.com/actions/toolkit writes them
            properties = ",".join(
                f"{name}={_escaped(str(value), ':,')}" for name, value in values.items()
            )
            lines.append(
                f"::{_GITHUB[each.severity]} {properties}::{_escaped(_sentence(each))}\n"
            )
    return "".join(lines)


def sarif(result: Result) -> str:
    """Return the findings as SARIF 2.1.0 (OASIS, 2020-03-27), for code scanning."""
    import json

    rules = dict.fromkeys(each.rule for each in _all(result))
    driver = {
        "name": "envcfg",
        "version": __version__,
        "rules": [{"id": rule} for rule in rules],
    }
    run = {
        "tool": {"driver": driver},
        "artifacts": [{"location": {"uri": _uri(path)}} for path in result],
        "results": [
            {
                "ruleId": each.rule,
                "ruleIndex": list(rules).index(each.rule),
                "level": each.severity,
                "message": {"text": printable(_sentence(each))},
                "locations": [_location(each.place or Place(path, 1))],
            }
            for path, found in result.items()
            for each in found
        ],
    }
    schema = "https://json.schemastore.org/sarif-2.1.0.json"
    document = {"$schema": schema, "version": "2.1.0", "runs": [run]}
    return json.dumps(document, indent=2) + "\n"


def junit(result: Result) -> str:
    """Return the findings as JUnit XML in ASCII: a test for each file."""
    from xml.etree import ElementTree as ET

    suite = ET.Element("testsuite", name="envcfg", tests=str(len(result)))
    failed = 0
    for path, found in result.items():
        case = ET.SubElement(
            suite, "testcase", classname="envcfg", name=printable(path)
        )
        errors = [each for each in found if each.severity == "error"]
        if errors:
            failed += 1
            said = printable(_sentence(errors[0]))
            failure = ET.SubElement(case, "failure", type=errors[0].rule, message=said)
            failure.text = _text(path, errors)
        if others := [each for each in found if each.severity != "error"]:
            ET.SubElement(case, "system-out").text = _text(path, others)
    suite.set("failures", str(failed))
    root = ET.Element("testsuites", tests=str(len(result)), failures=str(failed))
    root.append(suite)
    ET.indent(root)
    return ET.tostring(root, xml_declaration=True).decode("ascii") + "\n"


def text(result: Result) -> str:
    """Return the findings as plain lines."""
    return "".join(f"{one_line(line)}\n" for _, line in finding_lines(result))


FORMATS: Mapping[str, Callable[[Result], str]] = {
    "text": text,
    "json": findings_json,
    "github": github_annotations,
    "sarif": sarif,
    "junit": junit,
}


def _all(result: Result) -> Iterator[Finding]:
    return (each for found in result.values() for each in found)


def _place(path: str, each: Finding) -> str:
    return str(each.place or path)


def _sentence(each: Finding) -> str:
    said = f"{each.subject}: {each.message}" if each.subject else each.message
    return f"{said}; {each.fix}" if each.fix else said


def _text(path: str, found: Sequence[Finding]) -> str:
    return printable(
        "\n".join(f"{_place(path, each)}: {_sentence(each)}" for each in found)
    )


def _location(place: Place) -> dict[str, object]:
    region = {"startLine": place.line, "startColumn": place.column}
    uri = {"uri": _uri(place.path)}
    return {"physicalLocation": {"artifactLocation": uri, "region": region}}


def _uri(path: str) -> str:
    """Return a path as a reference by RFC 3986: relative ones stay relative."""
    from urllib.parse import quote

    quoted = quote(path, safe="/", errors="surrogateescape")
    return f"file://{quoted}" if quoted.startswith("/") else quoted.removeprefix("./")


def _escaped(value: str, more: str = "") -> str:
    """Return a value for a workflow command, in which these signs mean something."""
    for sign in ("%", "\r", "\n", *more):
        value = value.replace(sign, f"%{ord(sign):02X}")
    return one_line(value)


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
