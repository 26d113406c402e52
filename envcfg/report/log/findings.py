"""The verdict on a log as findings by file, for the forms that all checks share."""

from __future__ import annotations

from collections.abc import Sequence

from envcfg.findings import Finding, Severity
from envcfg.log.verdict import LogReport, Unknown, Verdict

# What a verdict is worth to whoever asked: a job that is degraded is not what was wanted.
_SEVERITIES: dict[Verdict, Severity] = {
    "ok": "note",
    "inconclusive": "warning",
    "degraded": "error",
    "broken": "error",
}


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
    first += map(_open, report.unknowns)
    return found


def _open(unknown: Unknown) -> Finding:
    return Finding("log-incomplete", "note", "", unknown.what, unknown.remedy)
