"""Findings in every form for readers and programs; one writer for all checks.

A check returns its findings by file or node. An empty list means that the item was
checked and is good, so a report can also list it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from envcfg import __version__
from envcfg.common.characters import one_line, printable
from envcfg.common.findings import Finding, Result
from envcfg.common.secrets import safe_line, safe_text
from envcfg.log.numbers import count_of
from envcfg.report.document import json_text

if TYPE_CHECKING:
    from envcfg.core.explainable import Ruled
    from envcfg.report.styled import Line

# The style shows the severity, which is also written in words.
STYLES = {"error": "red", "warning": "yellow", "note": ""}  # by severity
_JUNIT = {"error": "failure", "warning": "skipped"}  # the worst first
_GITHUB = {"error": "error", "warning": "warning", "note": "notice"}


def write_findings(result: Result, form: str) -> str:
    """Return *result* in one of the ``FORMATS`` of the command line."""
    writers = {
        "text": lambda result: "".join(
            f"{safe_line(line)}\n" for _, line in finding_lines(result)
        ),
        "json": findings_json,
        "github": _github,
        "sarif": _sarif,
        "junit": _junit,
    }
    return writers[form](result)


def finding_lines(result: Result) -> Iterator[Line]:
    """Yield every finding, and a last line with their number."""
    for name, findings in result.findings.items():
        # A checked item without findings is reported too: silence could mean that
        # it was skipped.
        if not findings:
            yield "green", f"{name}: ok"
        for finding in findings:
            where = finding.where or name
            # The subject is often the file itself, whose name is already at the
            # left.
            message = finding.message if finding.subject == name else said(finding)
            yield STYLES[finding.severity], f"{where}: {finding.severity}: {message}"
            yield from _excerpt(finding)
            if finding.fix:
                yield "dim", f"  hint: {finding.fix}"
    severities = [finding.severity for finding in result.all]
    counts = ", ".join(
        count_of(severities.count(severity), severity)
        for severity in ("error", "warning")
    )
    repairs = f"; lint --fix repairs {result.repairs}" if result.repairs else ""
    yield "bold", f"{count_of(len(result.findings), result.kind)}: {counts}{repairs}"
    if result.undecided:
        rules = (
            f"{count_of(len(result.undecided), 'rule')} ({', '.join(result.undecided)})"
        )
        yield "", f"not decided, because words of a launch line are unknown: {rules}"


def rule_lines(finding: Finding, subject: str, more: str = "") -> Iterator[Line]:
    """Yield a finding on *subject* with its rule and its remedy; *more* ends the message.

    >>> [text for _, text in rule_lines(Finding("r", "note", "", "is odd"), "n1")]
    ['note: n1: is odd  [r]']
    """
    message = said(finding._replace(subject=subject))
    line = f"{finding.severity}: {message}{more}  [{finding.rule}]"
    yield STYLES[finding.severity], line
    if finding.fix:
        yield "dim", f"  fix: {finding.fix}"


def _excerpt(finding: Finding) -> Iterator[Line]:
    """Yield the faulty line, with a caret below the position."""
    place, evidence = finding.place, finding.evidence
    # The excerpt belongs to the place only if both name the same line.
    if not place or not evidence or (evidence.file, evidence.line) != place[:2]:
        return
    indent = len(evidence.text) - len(evidence.text.lstrip())
    yield "", f"    {one_line(evidence.text[indent:])}"
    # A column beyond the line means that the file has changed since.
    if indent < place.column <= len(evidence.text) + 1:
        before = one_line(evidence.text[indent : place.column - 1])
        yield "green", f"    {' ' * len(before)}^ {finding.rule}"


def findings_json(result: Result) -> str:
    """Return the findings as JSON, in the form of docs/findings.schema.json."""
    checked = [
        {"name": name, "findings": findings}
        for name, findings in result.findings.items()
    ]
    return json_text({"kind": result.kind, "checked": checked}, version=2)


def _github(result: Result) -> str:
    """Return the findings as workflow commands, which GitHub shows in the code."""
    lines = []
    for name, findings in result.findings.items():
        for finding in findings:
            values: dict[str, object] = {}
            if place := result.place(name, finding):
                values = {"file": place.path, "line": place.line, "col": place.column}
            values["title"] = f"envcfg {finding.rule}"
            # as packages/core/src/command.ts of github.com/actions/toolkit writes them
            properties = ",".join(
                f"{key}={_escaped(str(value), ':,')}" for key, value in values.items()
            )
            message = _escaped(_sentence(finding))
            lines.append(f"::{_GITHUB[finding.severity]} {properties}::{message}\n")
    return "".join(lines)


def _sarif(result: Result) -> str:
    """Return the findings as SARIF 2.1.0 (OASIS, 2020-03-27), for code scanning."""
    names = dict.fromkeys(finding.rule for finding in result.all)
    # SARIF refers to rules by index, so their order must be fixed.
    rules = {rule: index for index, rule in enumerate(names)}
    run: dict[str, object] = {
        "tool": {
            "driver": {
                "name": "envcfg",
                "version": __version__,
                "rules": described_rules(rules),
            }
        },
        "results": [
            {
                "ruleId": finding.rule,
                "ruleIndex": rules[finding.rule],
                "level": finding.severity,
                "message": {"text": safe_text(_sentence(finding))},
                "locations": [_location(result, name, finding)],
            }
            for name, findings in result.findings.items()
            for finding in findings
        ],
    }
    # Nodes have no files, so only checks of files list artifacts.
    if result.kind == "file":
        run["artifacts"] = [
            {"location": {"uri": _uri(name)}} for name in result.findings
        ]
    schema = "https://json.schemastore.org/sarif-2.1.0.json"
    return json_text(
        {"$schema": schema, "version": "2.1.0", "runs": [run]}, version=None
    )


def described_rules(names: Iterable[str]) -> list[dict[str, object]]:
    """Return the descriptions of findings for SARIF; an unknown finding has only its id."""
    from envcfg.core.explainable import log_rules, said_findings, words_of
    from envcfg.knowledge.topics import load_topics
    from envcfg.lint.lint_rule import load_rules

    # Lint rules come last, because their descriptions are the most detailed.
    explained_rules: Mapping[str, Ruled] = {
        **log_rules(),
        **said_findings(load_topics()),
        **load_rules(),
    }
    descriptors: list[dict[str, object]] = []
    for name in names:
        descriptor: dict[str, object] = {"id": name}
        if name in explained_rules:
            meaning = {"text": printable(words_of(explained_rules[name])[0])}
            # GitHub requires all three.
            descriptor |= {"shortDescription": meaning, "fullDescription": meaning}
            descriptor["help"] = {"text": f"envcfg explain {name} says more."}
        descriptors.append(descriptor)
    return descriptors


def _location(result: Result, name: str, finding: Finding) -> dict[str, object]:
    place = result.place(name, finding)
    if place is None:
        # A finding without a line still needs a location in SARIF.
        return {"logicalLocations": [{"name": printable(name), "kind": result.kind}]}
    region = {"startLine": place.line, "startColumn": place.column}
    uri = {"uri": _uri(place.path)}
    return {"physicalLocation": {"artifactLocation": uri, "region": region}}


def _junit(result: Result) -> str:
    """Return the findings as JUnit XML in plain ASCII: one test for each checked item.

    An error fails the test. Without an error, a warning skips it.
    """
    from xml.etree import ElementTree as ET

    root = ET.Element("testsuites", name="envcfg")
    tests = ET.SubElement(root, "testsuite", name="envcfg")
    outcomes: list[str] = []
    for name, findings in result.findings.items():
        names = {"classname": "envcfg", "name": safe_text(name)}
        test = ET.SubElement(tests, "testcase", names)
        lines = (f"{each.where or name}: {_sentence(each)}" for each in findings)
        text = safe_text("\n".join(lines))
        bad = [
            (finding, outcome)
            for severity, outcome in _JUNIT.items()
            for finding in findings
            if finding.severity == severity
        ]
        for worst, outcome in bad[:1]:
            why = {"type": worst.rule, "message": _sentence(worst)}
            why = {key: safe_text(value) for key, value in why.items()}
            ET.SubElement(test, outcome, why).text = text
            outcomes.append(outcome)
        if text and not bad:
            ET.SubElement(test, "system-out").text = text
    counts = {"tests": len(result.findings), "errors": 0}
    counts |= {"failures": outcomes.count("failure")}
    counts |= {"skipped": outcomes.count("skipped")}
    for element in (root, tests):
        element.attrib |= {name: str(count) for name, count in counts.items()}
    ET.indent(root)
    body = ET.tostring(root).decode("ascii")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{body}\n'


def _sentence(finding: Finding) -> str:
    return f"{said(finding)}; {finding.fix}" if finding.fix else said(finding)


def said(finding: Finding) -> str:
    """Return ``subject: message``, or only the message if there is no subject."""
    return (
        f"{finding.subject}: {finding.message}" if finding.subject else finding.message
    )


def _uri(path: str) -> str:
    """Return a path as a reference by RFC 3986: relative ones stay relative."""
    from urllib.parse import quote

    quoted = quote(path, safe="/", errors="surrogateescape")
    return f"file://{quoted}" if quoted.startswith("/") else quoted.removeprefix("./")


def _escaped(value: str, more: str = "") -> str:
    """Return a value with escapes for the special characters of workflow commands."""
    for sign in ("%", "\r", "\n", *more):
        value = value.replace(sign, f"%{ord(sign):02X}")
    return safe_line(value)
