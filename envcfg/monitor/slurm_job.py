"""What Slurm says of a job, as squeue prints it."""

from __future__ import annotations

import re
from typing import NamedTuple

from envcfg.characters import whole_number
from envcfg.errors import JobError, UsageError

# Fields that hold no space; the last two may be empty or long.
SQUEUE_FORMAT = "%A|%i|%T|%u|%D|%r|%b|%N"
_GPUS = re.compile(r"\bgpu(?::[^:,=()]+)?[:=](\d+)")
_RUNS = frozenset({"RUNNING"})
_WAITS = frozenset(
    {"PENDING", "CONFIGURING", "REQUEUED", "REQUEUE_HOLD", "RESV_DEL_HOLD"}
)
_PAUSES = frozenset({"SUSPENDED", "STOPPED", "STAGE_OUT", "SIGNALING", "RESIZING"})


class SlurmJob(NamedTuple):
    """A job.

    Attributes:
        id: the number that srun takes.
        name: as the user gave it: of an array ``123_4``.
        gpus: of each node; None where it was not asked for so.
        nodes: in Slurm's short form.
    """

    id: str
    name: str
    state: str
    user: str
    node_count: int
    reason: str
    gpus: int | None
    nodes: str


def read_squeue(text: str, asked: str, command: str = "monitor") -> SlurmJob:
    """Return the one job that squeue printed by ``SQUEUE_FORMAT``, for ``envcfg COMMAND``.

    Raises:
        JobError: there is none.
        UsageError: there are several.
    """
    rows = [line.split("|") for line in text.splitlines() if line.count("|") >= 7]
    running = [row for row in rows if row[2] in _RUNS]
    rows = running or rows
    if not rows:
        raise unknown_job(asked)
    if len(rows) > 1:
        names = ", ".join(row[1] for row in rows[:8])
        msg = f"job {asked} is {len(rows)} jobs: {names}"
        raise UsageError(msg, hint=f"choose one: envcfg {command} {rows[0][1]}")
    number, name, state, user, count, reason, tres, nodes = rows[0][:8]
    gpus = _GPUS.search(tres)
    return SlurmJob(
        id=number,
        name=name,
        state=state,
        user=user,
        node_count=whole_number(count) or 0,
        reason=reason,
        gpus=whole_number(gpus[1]) if gpus else None,
        nodes=nodes,
    )


def unknown_job(asked: str) -> JobError:
    """Return the error for a job that Slurm does not know, or no more."""
    msg = f"Slurm knows no job {asked}"
    hint = f"squeue --me lists yours; sacct -j {asked} has what ended long ago"
    return JobError(msg, hint=hint)


def check_job(job: SlurmJob, user: str, command: str = "monitor") -> None:
    """Check that *user* can start a step in *job* now.

    Raises:
        JobError: it does not run, or is another's.
    """
    if job.state in _WAITS:
        msg = f"job {job.name} does not run yet: {job.state} ({job.reason})"
        raise JobError(msg, hint=f"squeue --start -j {job.name} says when it may")
    if job.state in _PAUSES:
        msg = f"job {job.name} stands still: {job.state}"
        raise JobError(msg, hint=f"scontrol show job {job.name} says why")
    if job.state not in _RUNS:
        msg = f"job {job.name} runs no more: {job.state}"
        how = f"scontrol show job {job.name} or sacct -j {job.name} says how"
        hint = f"{how}; envcfg check-log reads its log"
        raise JobError(msg, hint=hint)
    if user not in (job.user, "root"):
        msg = f"job {job.name} belongs to {job.user}, and you are {user}"
        raise JobError(
            msg, hint=f"only {job.user} may look into it: envcfg {command} {job.name}"
        )
