"""Findings in every form that people and programs read; one writer for all checks.

A check yields what it found by what it looked at, a file or a node: with an empty list
where nothing is wrong, so that a report says what was looked at, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from envcfg import __version__
from envcfg.characters import one_line, printable
from envcfg.findings import Finding, Place
from envcfg.log.numbers import count_of
from envcfg.report.document import json_text

if TYPE_CHECKING:
    from envcfg.report.styled import Line

STYLES = {"error": "red", "warning": "yellow", "note": ""}  # by severity
_GITHUB = {"error": "error", "warning": "warning", "note": "notice"}


class Result(NamedTuple):
    """What a check has found.

    Attributes:
        found: by what was looked at, in order.
        kind: what that is; the name of a ``file`` is its path, as it was given.
    """

    found: Mapping[str, Sequence[Finding]]
    kind: str = "file"

    @property
    def all(self) -> list[Finding]:
        """Every finding, in order."""
        return [each for found in self.found.values() for each in found]

    def place(self, name: str, each: Finding) -> Place | None:
        """Return where a finding of *name* is; None, where that is no place in a file."""
        return each.where or (Place(name, 1) if self.kind == "file" else None)


def write_findings(result: Result, form: str) -> str:
    """Return *result* in one of the ``FORMATS`` of the command line."""
    writers = {
        "text": lambda result: "".join(
            f"{one_line(line)}\n" for _, line in finding_lines(result)
        ),
        "json": findings_json,
        "github": _github,
        "sarif": _sarif,
        "junit": _junit,
    }
    return writers[form](result)


def finding_lines(result: Result) -> Iterator[Line]:
    """Yield every finding, and a last line that counts."""
    for name, found in result.found.items():
        if not found:
            yield "green", f"{name}: ok"
        for each in found:
            where = each.where or name
            what = each.message if each.subject == name else said(each)
            yield STYLES[each.severity], f"{where}: {each.severity}: {what}"
            yield from _excerpt(each)
            if each.fix:
                yield "dim", f"  hint: {each.fix}"
    severities = [each.severity for each in result.all]
    counts = ", ".join(
        count_of(severities.count(severity), severity)
        for severity in ("error", "warning")
    )
    yield "bold", f"{count_of(len(result.found), result.kind)}: {counts}"


def _excerpt(each: Finding) -> Iterator[Line]:
    """Yield the line in which something is to be mended, with a caret below the place."""
    place, shown = each.place, each.evidence
    if not place or not shown or (shown.file, shown.line) != place[:2]:
        return
    indent = len(shown.text) - len(shown.text.lstrip())
    yield "", f"    {one_line(shown.text[indent:])}"
    if indent < place.column <= len(shown.text) + 1:
        before = one_line(shown.text[indent : place.column - 1])
        yield "green", f"    {' ' * len(before)}^ {each.rule}"


def findings_json(result: Result) -> str:
    """Return the findings as JSON, as docs/findings.schema.json has it."""
    checked = [
        {"name": name, "findings": found} for name, found in result.found.items()
    ]
    return json_text({"schema_version": 2, "kind": result.kind, "checked": checked})


def _github(result: Result) -> str:
    """Return the findings as commands of a workflow of GitHub, shown in the code there."""
    lines = []
    for name, found in result.found.items():
        for each in found:
            values: dict[str, object] = {}
            if place := result.place(name, each):
                values = {"file": place.path, "line": place.line, "col": place.column}
            values["title"] = f"envcfg {each.rule}"
            # as packages/core/src/command.ts of github.com/actions/toolkit writes them
            properties = ",".join(
                f"{key}={_escaped(str(value), ':,')}" for key, value in values.items()
            )
            what = _escaped(_sentence(each))
            lines.append(f"::{_GITHUB[each.severity]} {properties}::{what}\n")
    return "".join(lines)


def _sarif(result: Result) -> str:
    """Return the findings as SARIF 2.1.0 (OASIS, 2020-03-27), for code scanning."""
    from envcfg.report.background import described

    names = dict.fromkeys(each.rule for each in result.all)
    rules = {rule: at for at, rule in enumerate(names)}
    run: dict[str, object] = {
        "tool": {
            "driver": {
                "name": "envcfg",
                "version": __version__,
                "rules": described(rules),
            }
        },
        "results": [
            {
                "ruleId": each.rule,
                "ruleIndex": rules[each.rule],
                "level": each.severity,
                "message": {"text": printable(_sentence(each))},
                "locations": [_location(result, name, each)],
            }
            for name, found in result.found.items()
            for each in found
        ],
    }
    if result.kind == "file":
        run["artifacts"] = [{"location": {"uri": _uri(name)}} for name in result.found]
    schema = "https://json.schemastore.org/sarif-2.1.0.json"
    return json_text({"$schema": schema, "version": "2.1.0", "runs": [run]})


def _location(result: Result, name: str, each: Finding) -> dict[str, object]:
    place = result.place(name, each)
    if place is None:
        return {"logicalLocations": [{"name": printable(name), "kind": result.kind}]}
    region = {"startLine": place.line, "startColumn": place.column}
    uri = {"uri": _uri(place.path)}
    return {"physicalLocation": {"artifactLocation": uri, "region": region}}


def _junit(result: Result) -> str:
    """Return the findings as JUnit XML: a test for each thing that was looked at."""
    from envcfg.report.junit import JUnitCase, junit_xml

    cases = []
    for name, found in result.found.items():
        case = JUnitCase("envcfg", name)
        if errors := [each for each in found if each.severity == "error"]:
            case = case._replace(
                outcome="failure",
                kind=errors[0].rule,
                message=_sentence(errors[0]),
                details=_listed(name, errors),
            )
        others = [each for each in found if each.severity != "error"]
        cases.append(case._replace(said=_listed(name, others)))
    return junit_xml("envcfg", cases)


def _listed(name: str, found: Sequence[Finding]) -> str:
    return "\n".join(f"{each.where or name}: {_sentence(each)}" for each in found)


def _sentence(each: Finding) -> str:
    return f"{said(each)}; {each.fix}" if each.fix else said(each)


def said(each: Finding) -> str:
    """Return what was found, behind what it is about."""
    return f"{each.subject}: {each.message}" if each.subject else each.message


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
