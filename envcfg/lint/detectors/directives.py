"""Directives: what the scheduler refuses of them, overrides, or does not see."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from envcfg.lint.rule import Fault, Job, detects

# Whether the scheduler and the site would take a job: what every command asks of a script.
ADMISSION = ("EC628", "EC647", "EC644", "EC645", "EC646")


def _problems(job: Job, kind: str) -> Iterator[Fault]:
    """Yield what the reader of the directives found of one kind."""
    for each in job.model.problems:
        if each.kind == kind:
            words = {"said": each.message, "instead": each.fix}
            yield Fault(each.at, words, severity=each.severity)


for _rule, _kind in (
    ("EC647", "refused"),
    ("EC644", "unread"),
    ("EC645", "overridden"),
):
    detects(_rule)(partial(_problems, kind=_kind))
