"""JUnit XML, which CI systems show as test results; the one writer of it."""

from collections.abc import Sequence
from typing import NamedTuple

from envcfg.characters import printable
from envcfg.provenance import marked


class JUnitCase(NamedTuple):
    """One test.

    Attributes:
        group: what it is shown under.
        outcome: ``failure``, ``skipped``, or empty where it has passed.
        kind: of the outcome, in a word.
        message: why, in a sentence; *details*: in several lines.
        said: what a test that need not fail has to say.
    """

    group: str
    name: str
    outcome: str = ""
    kind: str = ""
    message: str = ""
    details: str = ""
    said: str = ""


def junit_xml(suite: str, cases: Sequence[JUnitCase]) -> str:
    """Return *cases* as JUnit XML in plain ASCII, with the mark of what envcfg wrote."""
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
        names = {"classname": printable(case.group), "name": printable(case.name)}
        test = ET.SubElement(tests, "testcase", names)
        if case.outcome:
            why = {"type": case.kind, "message": printable(case.message)}
            ET.SubElement(test, case.outcome, why).text = (
                printable(case.details) or None
            )
        if case.said:
            ET.SubElement(test, "system-out").text = printable(case.said)
    ET.indent(root)
    return marked("junit", ET.tostring(root).decode("ascii") + "\n")
