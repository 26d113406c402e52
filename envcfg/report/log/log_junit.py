"""The verdict on a log as tests: the job, its ranks, its findings.

The file has failures if the verdict is bad, so that a CI system that reads only the
file gets the same answer. ``inconclusive`` is skipped, with or without ``--strict``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from envcfg.common.findings import Finding
from envcfg.log.numbers import count_of, number_ranges
from envcfg.log.verdict import LogReport, Verdict
from envcfg.report.junit import JUnitCase, junit_xml

SUITE = "envcfg check-log"
_FAILED = ("degraded", "broken")


def log_junit(report: LogReport) -> str:
    """Return the report as JUnit XML in plain ASCII: the job, its ranks, its findings."""
    return junit_xml(
        SUITE, [*_of_job(report), *_of_ranks(report), *_of_findings(report)]
    )


def _of_job(report: LogReport) -> Iterator[JUnitCase]:
    yield _judged(JUnitCase("job", "verdict"), report.verdict, report.summary)
    for job in report.jobs:
        yield _judged(JUnitCase("jobs", job.name), job.verdict, job.summary)
    missing = report.job.ranks_missing
    every = JUnitCase("job", "every rank is in the log")
    if missing:
        text = f"{count_of(len(missing), 'rank')} not in the log: "
        text += number_ranges(missing)
        yield every._replace(outcome="skipped", kind="inconclusive", message=text)
    elif report.job.world_size is not None:
        yield every


def _of_ranks(report: LogReport) -> Iterator[JUnitCase]:
    for rank in report.ranks:
        case = JUnitCase(rank.host or "unknown", f"rank {rank.rank}")
        yield _judged(case, rank.verdict, rank.reason)


def _judged(case: JUnitCase, verdict: Verdict, reason: str) -> JUnitCase:
    if verdict == "ok":
        return case
    outcome = "failure" if verdict in _FAILED else "skipped"
    return case._replace(outcome=outcome, kind=verdict, message=reason or verdict)


def _of_findings(report: LogReport) -> Iterator[JUnitCase]:
    counts: Counter[str] = Counter()
    for finding in report.findings:
        if finding.severity == "note":
            continue
        name = f"{finding.rule}: {finding.subject}"
        counts[name] += 1
        number = f" ({counts[name]})" if counts[name] > 1 else ""
        fails = finding.severity == "error" or report.verdict in _FAILED
        yield JUnitCase(
            group="finding",
            name=name + number,
            outcome="failure" if fails else "skipped",
            kind=finding.severity,
            message=finding.message,
            details=_details(finding),
        )


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
