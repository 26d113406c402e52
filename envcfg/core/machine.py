"""What this machine shows of itself."""

from __future__ import annotations

import os
from collections.abc import Sequence

from envcfg.characters import whole_number
from envcfg.errors import UsageError
from envcfg.schedulers import SCHEDULERS


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


def srun_has(options: Sequence[str]) -> list[str]:
    """Return those of *options* that srun has here, which plug-ins add to it."""
    import subprocess
    from shutil import which

    if not (srun := which("srun")):
        return []
    try:
        asked = subprocess.run(
            [srun, "--help"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=10,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return []
    return [each for each in options if f"{each}=" in asked.stdout]


def job_kind() -> str | None:
    """Return the scheduler in whose job this runs, if it is one."""
    known = SCHEDULERS.values()
    return next(
        (each.title for each in known if os.environ.get(each.job_variable)), None
    )


def cluster_name() -> str | None:
    """Return the name of this cluster, where a scheduler says it."""
    names = (each.cluster_variable or "" for each in SCHEDULERS.values())
    return next((os.environ[name] for name in names if name in os.environ), None)


def job_nodes() -> int:
    """Return how many nodes the job has, where its scheduler says it; else 1."""
    names = (each.nodes_variable or "" for each in SCHEDULERS.values())
    nodes = next((os.environ[name] for name in names if name in os.environ), "")
    return whole_number(nodes) or 1
