"""The verdict on a log as JUnit XML, which CI systems show as test results.

The file has failures where the verdict is bad, so that a CI system that reads only the file
comes to the same answer; ``inconclusive`` is skipped, whatever ``--strict`` makes of it.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from envcfg.characters import printable
from envcfg.findings import Finding
from envcfg.log.numbers import count_of, number_ranges
from envcfg.log.verdict import LogReport, Verdict
from envcfg.mark import marked

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

SUITE = "envcfg check-log"
_FAILED = ("degraded", "broken")


def log_junit(report: LogReport) -> str:
    """Return the report as JUnit XML in plain ASCII: the job, its ranks, its findings."""
    from xml.etree import ElementTree as ET

    suite = ET.Element("testsuite", name=SUITE)
    _add_job(suite, report)
    for rank in report.ranks:
        case = _add_case(suite, rank.host or "unknown", f"rank {rank.rank}")
        _judge(case, rank.verdict, rank.reason)
    _add_findings(suite, report)
    counts = {
        "tests": len(suite),
        "failures": len(suite.findall("*/failure")),
        "errors": 0,
        "skipped": len(suite.findall("*/skipped")),
    }
    suite.attrib.update({name: str(count) for name, count in counts.items()})
    root = ET.Element("testsuites", suite.attrib)
    root.append(suite)
    ET.indent(root)
    text = ET.tostring(root).decode("ascii")
    return marked("junit", f"{text}\n")


def _add_job(suite: Element, report: LogReport) -> None:
    _judge(_add_case(suite, "job", "verdict"), report.verdict, report.summary)
    if report.job.world_size is None and not report.job.ranks_missing:
        return
    case = _add_case(suite, "job", "every rank is in the log")
    if missing := report.job.ranks_missing:
        text = (
            f"{count_of(len(missing), 'rank')} not in the log: {number_ranges(missing)}"
        )
        _outcome(case, "skipped", kind="inconclusive", message=text)


def _add_findings(suite: Element, report: LogReport) -> None:
    seen: Counter[str] = Counter()
    for finding in report.findings:
        if finding.severity == "note":
            continue
        name = f"{finding.rule}: {finding.subject}"
        seen[name] += 1
        number = f" ({seen[name]})" if seen[name] > 1 else ""
        case = _add_case(suite, "finding", name + number)
        fails = finding.severity == "error" or report.verdict in _FAILED
        element = _outcome(
            case,
            "failure" if fails else "skipped",
            kind=finding.severity,
            message=finding.message,
        )
        element.text = printable(_details(finding)) or None


def _details(finding: Finding) -> str:
    lines = [
        f"{name}: {text}"
        for name, text in (
            ("why", finding.why),
            ("fix", finding.fix),
            ("source", finding.source),
            ("seen", count_of(finding.count, "time") if finding.count > 1 else None),
        )
        if text
    ]
    if finding.evidence:
        lines.append(f"{finding.evidence}: {finding.evidence.text}")
    return "\n".join(lines)


def _judge(case: Element, verdict: Verdict, reason: str) -> None:
    if verdict in _FAILED:
        _outcome(case, "failure", kind=verdict, message=reason or verdict)
    elif verdict == "inconclusive":
        _outcome(case, "skipped", kind=verdict, message=reason or verdict)


def _add_case(suite: Element, classname: str, name: str) -> Element:
    from xml.etree.ElementTree import SubElement

    attributes = {"classname": printable(classname), "name": printable(name)}
    return SubElement(suite, "testcase", attributes)


def _outcome(case: Element, tag: str, *, kind: str, message: str) -> Element:
    from xml.etree.ElementTree import SubElement

    return SubElement(case, tag, {"type": kind, "message": printable(message)})
