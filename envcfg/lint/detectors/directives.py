"""Directives: what the scheduler refuses of them, overrides, or does not see."""

from __future__ import annotations

from collections.abc import Iterator

from envcfg.lint.rule import Fault, Job, detects

# Whether the scheduler and the site would take a job: what every command asks of a script.
ADMISSION = ("EC628", "EC647", "EC644", "EC645", "EC646")


@detects("EC647")
def refused(job: Job) -> Iterator[Fault]:
    """What sbatch refuses before it asks the controller, in its own words."""
    return _problems(job, "refused")


@detects("EC644")
def unread(job: Job) -> Iterator[Fault]:
    """Lines that were to be directives, and are comments."""
    return _problems(job, "unread")


@detects("EC645")
def overridden(job: Job) -> Iterator[Fault]:
    """Options that are given twice, of which the last counts."""
    return _problems(job, "overridden")


def _problems(job: Job, kind: str) -> Iterator[Fault]:
    for each in job.model.problems:
        if each.kind == kind:
            words = {"said": each.message, "instead": each.fix}
            yield Fault(each.at, words, severity=each.severity)
