"""JUnit XML, which CI systems show as test results; the one writer of it."""

from collections.abc import Sequence
from typing import NamedTuple

from envcfg.common.secrets import safe_text


class JUnitCase(NamedTuple):
    """One test."""

    group: str  # its group in the output
    name: str
    outcome: str = ""  # `failure`, `skipped`, or empty for a passed test
    kind: str = ""  # the kind of the outcome, in one word
    message: str = ""  # the reason, in a sentence; *details*: in several lines
    details: str = ""
    output: str = ""  # the output of a test that did not fail


def junit_xml(suite: str, cases: Sequence[JUnitCase]) -> str:
    """Return *cases* as JUnit XML in plain ASCII."""
    from xml.etree import ElementTree as ET

    outcomes = [case.outcome for case in cases]
    root = ET.Element(
        "testsuites",
        name=suite,
        tests=str(len(cases)),
        failures=str(outcomes.count("failure")),
        errors="0",
        skipped=str(outcomes.count("skipped")),
    )
    tests = ET.SubElement(root, "testsuite", root.attrib)
    for case in cases:
        names = {"classname": safe_text(case.group), "name": safe_text(case.name)}
        test = ET.SubElement(tests, "testcase", names)
        if case.outcome:
            why = {"type": case.kind, "message": safe_text(case.message)}
            ET.SubElement(test, case.outcome, why).text = (
                safe_text(case.details) or None
            )
        if case.output:
            ET.SubElement(test, "system-out").text = safe_text(case.output)
    ET.indent(root)
    body = ET.tostring(root).decode("ascii")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{body}\n'
