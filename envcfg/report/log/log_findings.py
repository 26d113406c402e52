"""The verdict on a log for programs: findings by file, as in all checks, and JSON."""

from __future__ import annotations

from collections.abc import Sequence

from envcfg.common.findings import Finding, Severity
from envcfg.log.verdict import LogReport, Verdict
from envcfg.report.document import json_text

# The severity of each verdict: a degraded job is not the wanted result, but it
# works.
_SEVERITIES: dict[Verdict, Severity] = {
    "ok": "note",
    "inconclusive": "warning",
    "degraded": "error",
    "broken": "error",
}
SCHEMA_VERSION = 1


def verdict_finding(report: LogReport) -> Finding:
    """Return the verdict itself as a finding; it alone decides the exit code."""
    return _verdict(report.verdict, report.summary)


def _verdict(verdict: Verdict, reason: str) -> Finding:
    return Finding(f"log-{verdict}", _SEVERITIES[verdict], "", reason or verdict)


def rank_findings(report: LogReport) -> dict[str, list[Finding]]:
    """Return the verdict on each job and rank; it is empty for a good one."""
    rows = [(f"job {job.name}", job.verdict, job.summary) for job in report.jobs]
    for rank in report.ranks:
        name = f"rank {rank.rank} on {rank.host or 'an unknown node'}"
        rows.append((name, rank.verdict, rank.reason))
    return {
        name: [] if verdict == "ok" else [_verdict(verdict, reason)]
        for name, verdict, reason in rows
    }


def log_findings(report: LogReport, files: Sequence[str]) -> dict[str, list[Finding]]:
    """Return the verdict, its evidence and open questions, by file.

    Args:
        report: the report on the log.
        files: the given files; findings without a line belong to the first.
    """
    by_file: dict[str, list[Finding]] = {name: [] for name in files}
    first = by_file.setdefault(next(iter(files), "-"), [])
    first.append(verdict_finding(report))
    for finding in report.findings:
        findings = (
            by_file.setdefault(finding.evidence.file, []) if finding.evidence else first
        )
        findings.append(finding)
    first += (
        Finding("log-incomplete", "note", "", *unknown) for unknown in report.unknowns
    )
    return by_file


def log_json(report: LogReport) -> str:
    """Return the report in the form of docs/check-log.schema.json.

    ``schema_version`` counts incompatible changes.
    """
    interfaces = {
        use: report.job.interfaces.get(use, ()) for use in ("bootstrap", "socket")
    }
    report = report._replace(job=report.job._replace(interfaces=interfaces))
    return json_text(report, version=SCHEMA_VERSION)
