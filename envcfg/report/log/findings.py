"""The verdict on a log for programs: findings by file, as of all checks, and JSON."""

from __future__ import annotations

from collections.abc import Sequence

from envcfg.findings import Finding, Severity
from envcfg.log.verdict import LogReport, Verdict
from envcfg.report.document import json_text

# What a verdict is worth to whoever asked: a job that is degraded is not what was wanted.
_SEVERITIES: dict[Verdict, Severity] = {
    "ok": "note",
    "inconclusive": "warning",
    "degraded": "error",
    "broken": "error",
}
SCHEMA_VERSION = 1


def verdict_finding(report: LogReport) -> Finding:
    """Return the verdict itself as a finding; it alone decides the exit code."""
    severity = _SEVERITIES[report.verdict]
    return Finding(f"log-{report.verdict}", severity, "", report.summary)


def log_findings(report: LogReport, files: Sequence[str]) -> dict[str, list[Finding]]:
    """Return the verdict, what it rests on and what stays open, by file.

    Args:
        report: what the log comes to.
        files: what was read, as it was given; what no line shows stands at the first.
    """
    found: dict[str, list[Finding]] = {name: [] for name in files}
    first = found.setdefault(next(iter(files), "-"), [])
    first.append(verdict_finding(report))
    for each in report.findings:
        at = found.setdefault(each.evidence.file, []) if each.evidence else first
        at.append(each)
    first += (Finding("log-incomplete", "note", "", *each) for each in report.unknowns)
    return found


def log_json(report: LogReport) -> str:
    """Return the report as docs/check-log.schema.json says.

    ``schema_version`` counts incompatible changes.
    """
    interfaces = {
        use: report.job.interfaces.get(use, ()) for use in ("bootstrap", "socket")
    }
    report = report._replace(job=report.job._replace(interfaces=interfaces))
    return json_text({"schema_version": SCHEMA_VERSION, **report._asdict()})
