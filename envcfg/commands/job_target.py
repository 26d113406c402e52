"""The target of commands that examine a running job: the job and its nodes."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from envcfg.common.errors import JobError, UsageError

if TYPE_CHECKING:
    from envcfg.nodes.probe.slurm_job import SlurmJob

# Messages of srun, with remedies.
_REMEDIES = (
    (
        "interconnect",
        "on Slingshot a step takes a share of the network: try --srun-arg=--network=no_vni",
    ),
    ("nvalid job id", "squeue --me lists your jobs"),
    ("ermission denied", "only the owner of a job may start a step in it"),
    ("ccess/permission", "only the owner of a job may start a step in it"),
    ("busy", "the nodes take no further step now; is --overlap allowed at this site?"),
)


def job_name(value: str | None, command: str) -> str:
    """Return the job for ``envcfg COMMAND``: *value*, or the current job.

    Raises:
        UsageError: there is no job, or the value is not a job id.
    """
    name = value or os.environ.get("SLURM_JOB_ID")
    if not name:
        msg = "no job given, and this is none (SLURM_JOB_ID is not set)"
        raise UsageError(msg, hint=f"envcfg {command} JOBID; squeue --me lists yours")
    if not re.fullmatch(r"[0-9]+(?:[_+][0-9]+)?", name, re.ASCII):
        msg = f"{name!r} is not a job id"
        hint = "as squeue shows it: 4321, of an array 4321_7; check-log reads files"
        if os.path.isfile(name):
            hint = (
                f"a log is for envcfg check-log {name}; a job has a number, as in 4321"
            )
        raise UsageError(msg, hint=hint)
    return name


def user_name() -> str:
    """Return the name of the current user."""
    import pwd

    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return os.environ.get("USER", str(os.geteuid()))


def find_job(
    name: str, nodes: str | None, command: str
) -> tuple[SlurmJob, list[str], bool]:
    """Return job *name*, and the nodes for ``envcfg COMMAND``.

    *nodes* are the user's choice, in Slurm's short form. The result has the job, the
    nodes, and whether the job has others.

    Raises:
        JobError: the job does not exist, or cannot be examined now.
        UsageError: a node does not belong to the job.
    """
    from envcfg.nodes.probe.slurm_job import ask_job, check_job, expand_nodes

    job = ask_job(name, command)
    check_job(job, user_name(), command)
    hosts = expand_nodes(job.nodes)
    if not nodes:
        return job, hosts, False
    selection = expand_nodes(nodes)
    if foreign := [host for host in selection if host not in hosts]:
        msg = f"--nodes: {', '.join(foreign)} is not in job {name}"
        raise UsageError(msg, hint=f"its nodes: {', '.join(hosts[:8])}")
    selection = list(dict.fromkeys(selection))
    return job, selection, len(selection) < len(hosts)


def no_answer(errors: Sequence[str], subject: str) -> JobError:
    """Return the error for a step without output, with the last message of srun."""
    messages = [line for line in errors if line]
    text = "\n".join(messages)
    hint = next((fix for word, fix in _REMEDIES if word in text), None)
    msg = f"{subject}: {messages[-1]}" if messages else subject
    return JobError(
        msg, hint=hint or "srun --overlap --jobid=JOBID hostname tells more"
    )
