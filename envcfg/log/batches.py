"""Files of several jobs, as their names tell: each job is judged by itself."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Mapping, Sequence

from envcfg.findings import Finding
from envcfg.log.numbers import count_of
from envcfg.log.rulebook import Rule
from envcfg.log.verdict import WORST_FIRST, Coverage, LogReport

SEVERAL = "several-jobs"  # the rule that says so
# As Slurm, Flux, PBS and SGE name a job's output. What follows may be a task of an array
# or a rank of one job.
_NUMBERED = re.compile(r"^(?:slurm|flux)-([^\W_]+)|\.[oe](\d+)(?![^.])")
_NAMED = 8  # jobs whose verdict is named


def by_job(files: Sequence[str]) -> dict[str, list[str]]:
    """Return *files* by the number of their job; under no number those that have none."""
    jobs: dict[str, list[str]] = {}
    for name in files:
        found = _NUMBERED.search(os.path.basename(name))
        jobs.setdefault(found[1] or found[2] if found else "", []).append(name)
    numbered = [job for job in jobs if job]
    return jobs if len(numbered) > 1 else {"".join(numbered): list(files)}


def of_jobs(reports: Mapping[str, LogReport], rule: Rule) -> LogReport:
    """Return the worst of *reports*, by job, with a note of what the others come to."""
    if len(reports) == 1:
        return next(iter(reports.values()))
    names = {job: f"job {job}" if job else "files without a number" for job in reports}
    worst = min(reports, key=lambda job: WORST_FIRST.index(reports[job].verdict))
    report = reports[worst]
    counts = Counter(each.verdict for each in reports.values())
    said = ", ".join(f"{counts[each]} {each}" for each in WORST_FIRST if counts[each])
    if len(reports) <= _NAMED:
        said = ", ".join(f"{names[job]} {reports[job].verdict}" for job in reports)
    note = Finding(
        rule=rule.id,
        severity="note",
        subject=names[worst],
        message=f"one of {count_of(len(reports), 'job')}, each judged by itself: {said}",
        fix=rule.fix,
        source=rule.source,
        why=rule.meaning,
    )
    read = [each.coverage for each in reports.values()]
    return report._replace(
        summary=f"{report.verdict}: {names[worst]}: {report.summary.partition(': ')[2]}",
        findings=(*report.findings, note),
        coverage=Coverage(*map(sum, zip(*read, strict=True))),
    )
