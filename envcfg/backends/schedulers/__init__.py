"""Schedulers: one module and record each; CONTRIBUTING.md describes how to add one."""

from __future__ import annotations

import re
from functools import cache

from envcfg.backends.schedulers.scheduler import Scheduler
from envcfg.common.datafile import backend, backends

NONE = "none"  # the name in a profile for a system without a scheduler
NAMES = backends(__file__, ("slurm", "flux", "pbs"))
SCHEDULERS: dict[str, Scheduler] = {
    name: backend(__name__, name).SCHEDULER for name in NAMES
}
# Prefixes of the variables that schedulers set.
PREFIXES = tuple(scheduler.prefix for scheduler in SCHEDULERS.values())
# Programs of one word that submit a job, or end one.
SUBMITTERS = frozenset(s.submit for s in SCHEDULERS.values() if " " not in s.submit)
ENDERS = frozenset(s.cancel for s in SCHEDULERS.values() if " " not in s.cancel)


# A pattern of the marks of all schedulers.
MARK = "|".join(scheduler.sign for scheduler in SCHEDULERS.values())
# The words of all marks, also of schedulers without a record.
MARK_WORDS = "|".join(
    [*(known.mark.strip("#") for known in SCHEDULERS.values()), "BSUB"]
)


@cache
def _job_lines() -> re.Pattern[str]:
    signs = (f"(?P<{name}>{known.sign})" for name, known in SCHEDULERS.items())
    return re.compile(f"^(?:{'|'.join(signs)})", re.MULTILINE)


def find_scheduler(text: str) -> str | None:
    """Return the name of the scheduler in the first directive of *text*, if any."""
    line = _job_lines().search(text)
    return line.lastgroup if line else None
