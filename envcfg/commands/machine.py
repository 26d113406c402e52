"""What this machine shows of itself."""

from __future__ import annotations

import os

from envcfg.errors import UsageError


def current_folder() -> str:
    """Return the path of the current folder.

    Raises:
        UsageError: somebody has removed it.
    """
    try:
        return os.getcwd()
    except OSError as err:
        msg = "the current folder does not exist any more"
        raise UsageError(msg, hint="cd to another one") from err


def interfaces() -> list[str]:
    """Return the names of the network interfaces, sorted; none where there is no /sys."""
    try:
        return sorted(os.listdir("/sys/class/net"))
    except OSError:
        return []


def job_kind() -> str | None:
    """Return the scheduler in whose job this runs, if it is one."""
    kinds = {"SLURM_JOB_ID": "Slurm", "FLUX_URI": "Flux", "PBS_JOBID": "PBS"}
    return next((kind for name, kind in kinds.items() if os.environ.get(name)), None)


def job_nodes() -> int:
    """Return how many nodes the job has, where Slurm says it; else 1."""
    nodes = os.environ.get("SLURM_NNODES", "")
    return int(nodes) if nodes.isascii() and nodes.isdigit() and len(nodes) < 9 else 1
