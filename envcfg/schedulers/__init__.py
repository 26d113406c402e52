"""Schedulers: a module with a record each; CONTRIBUTING.md says how to add one."""

from __future__ import annotations

from envcfg.datafile import backend, backends
from envcfg.schedulers.model import Scheduler

NONE = "none"  # what a profile says of a system that has none
NAMES = backends(__file__, ("slurm", "flux", "pbs"))
SCHEDULERS: dict[str, Scheduler] = {
    name: backend(__name__, name).SCHEDULER for name in NAMES
}
