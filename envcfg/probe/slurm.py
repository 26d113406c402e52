"""A running job of Slurm: what its commands say of it, and a step that looks into it."""

import os
import re
from collections.abc import Sequence
from typing import NamedTuple

from envcfg.characters import whole_number
from envcfg.errors import JobError, UsageError
from envcfg.probe.probes import Probe
from envcfg.probe.runner import Step

_TIMEOUT = 60  # seconds for a command of Slurm to answer
_LEAVE = 5.0  # seconds for a step to end in each way, from the gentlest on
# Fields that hold no space; the last two may be empty or long.
_FORMAT = "%A|%i|%T|%u|%r|%b|%N"
_GPUS = re.compile(r"\bgpu(?::[^:,=()]+)?[:=](\d+)")
_RUNS = frozenset({"RUNNING"})
_WAITS = frozenset(
    {"PENDING", "CONFIGURING", "REQUEUED", "REQUEUE_HOLD", "RESV_DEL_HOLD"}
)
_PAUSES = frozenset({"SUSPENDED", "STOPPED", "STAGE_OUT", "SIGNALING", "RESIZING"})
# Slurm's own settings for clients; all else that is named SLURM_ speaks of another job or
# step, and would be taken for an option of srun.
_CLIENT = frozenset({"SLURM_CONF", "SLURM_JWT", "SLURM_TIME_FORMAT"})
# What srun says of a node that it cannot start a task on, and of one that it has lost.
_LOST = re.compile(
    r"failed on node (?P<node>[\w.-]+): (?P<why>.+)|Node failure on (?P<lost>[\w.-]+)"
)


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
    reason: str
    gpus: int | None
    nodes: str


def ask_job(name: str, command: str) -> SlurmJob:
    """Return what squeue says of one job, which may have ended lately.

    Raises:
        JobError: there is none, or Slurm does not answer.
        UsageError: there are several of this name.
    """
    argv = ["squeue", "--noheader", "--states=all", f"--jobs={name}"]
    code, out, err = run_command([*argv, f"--format={_FORMAT}"])
    if code and "Invalid job id" in err:
        raise _unknown_job(name)
    if code:
        msg = f"squeue failed: {err.strip() or code}"
        raise JobError(msg, hint="scontrol ping says whether Slurm answers")
    return read_squeue(out, name, command)


def read_squeue(text: str, asked: str, command: str) -> SlurmJob:
    """Return the one job that squeue printed in ``_FORMAT``, for ``envcfg COMMAND``.

    Raises:
        JobError: there is none.
        UsageError: there are several.
    """
    rows = [line.split("|") for line in text.splitlines() if line.count("|") >= 6]
    running = [row for row in rows if row[2] in _RUNS]
    rows = running or rows
    if not rows:
        raise _unknown_job(asked)
    if len(rows) > 1:
        names = ", ".join(row[1] for row in rows[:8])
        msg = f"job {asked} is {len(rows)} jobs: {names}"
        raise UsageError(msg, hint=f"choose one: envcfg {command} {rows[0][1]}")
    number, name, state, user, reason, tres, nodes = rows[0][:7]
    gpus = _GPUS.search(tres)
    return SlurmJob(
        id=number,
        name=name,
        state=state,
        user=user,
        reason=reason,
        gpus=whole_number(gpus[1]) if gpus else None,
        nodes=nodes,
    )


def _unknown_job(asked: str) -> JobError:
    msg = f"Slurm knows no job {asked}"
    hint = f"squeue --me lists yours; sacct -j {asked} has what ended long ago"
    return JobError(msg, hint=hint)


def check_job(job: SlurmJob, user: str, command: str) -> None:
    """Check that *user* can start a step in *job* now.

    Raises:
        JobError: it does not run, or is another's.
    """
    if job.state in _WAITS:
        msg = f"job {job.name} does not run yet: {job.state} ({job.reason})"
        raise JobError(msg, hint=f"squeue --start -j {job.name} says when it may")
    if job.state in _PAUSES:
        msg = f"job {job.name} is halted: {job.state}"
        raise JobError(msg, hint=f"scontrol show job {job.name} says why")
    if job.state not in _RUNS:
        msg = f"job {job.name} no longer runs: {job.state}"
        how = f"scontrol show job {job.name} or sacct -j {job.name} says how"
        hint = f"{how}; envcfg check-log reads its log"
        raise JobError(msg, hint=hint)
    if user not in (job.user, "root"):
        msg = f"job {job.name} belongs to {job.user}, and you are {user}"
        raise JobError(
            msg, hint=f"only {job.user} may look into it: envcfg {command} {job.name}"
        )


def expand_nodes(nodes: str) -> list[str]:
    """Return the names of *nodes* in Slurm's short form, in its order.

    Raises:
        JobError: it is none.
    """
    code, out, err = run_command(["scontrol", "show", "hostnames", nodes])
    if code:
        msg = f"{nodes!r} is not a list of nodes: {err.strip()}"
        raise JobError(msg, hint="as in nid[001000-001003,001007]")
    return out.split()


def node_states(hosts: Sequence[str]) -> dict[str, str]:
    """Return how Slurm has each node: a state, with ``*`` where it does not answer either.

    What is not known is not there: this only adds to what is known already.
    """
    argv = ["sinfo", "--noheader", "--Node", f"--nodes={','.join(hosts)}"]
    rows = [line.split("|") for line in _told([*argv, "--format=%N|%T"])]
    return {row[0]: row[1] for row in rows if len(row) == 2}


def output_path(number: str) -> str:
    """Return where the batch script of a job writes; nothing where Slurm names no file."""
    lines = _told(["scontrol", "show", "job", number])
    return next((line[7:] for line in lines if line.startswith("StdOut=/")), "")


def slurm_version() -> dict[str, str]:
    """Return the Slurm that this machine has, as a fact; none where it has none."""
    paths = (os.path.join(each, "scontrol") for each in os.get_exec_path())
    if not any(os.access(each, os.X_OK) for each in paths):
        return {}
    said = " ".join(_told(["scontrol", "--version"]))
    found = re.search(r"slurm[^ ]* (\d+\.\d+)", said)
    return {"slurm": found[1]} if found else {}


def _told(argv: Sequence[str]) -> list[str]:
    """Return the lines that a command prints; none where it cannot tell."""
    try:
        code, out, _ = run_command(argv)
    except JobError:
        return []
    return [line.strip() for line in out.splitlines()] if not code else []


def run_command(
    argv: Sequence[str],
    fault: str = "cannot run",
    hint: str = "run it where Slurm's commands are",
    slow: str = "scontrol ping says whether Slurm answers",
) -> tuple[int, str, str]:
    """Return the exit code of a scheduler's command, its stdout and its stderr.

    Raises:
        JobError: *fault*, with its *hint*, or, with *slow*, that it does not answer.
    """
    import subprocess

    try:
        done = subprocess.run(
            argv,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            timeout=_TIMEOUT,
        )
    except OSError as err:
        raise JobError(f"{fault} {argv[0]}: {err.strerror}", hint=hint) from err  # noqa: EM102
    except subprocess.TimeoutExpired as err:
        msg = f"{argv[0]} did not answer for {_TIMEOUT} s"
        raise JobError(msg, hint=slow) from err
    return done.returncode, done.stdout, done.stderr


def start_step(
    probe: Probe,
    job: str,
    hosts: Sequence[str],
    words: Sequence[str] = (),
    *,
    is_part: bool,
    more: Sequence[str],
) -> Step:
    """Start *probe* on each of *hosts*, beside the steps of a job.

    *more* are options of srun. *is_part*: the job has other nodes, which must be
    told from these.

    Raises:
        JobError: there is no srun.
    """
    size = len(hosts)
    argv = [
        "srun",
        f"--jobid={job}",
        f"--job-name=envcfg-{probe.name}",
        "--overlap",  # beside the step that works
        f"--nodes={size}",
        f"--ntasks={size}",
        "--ntasks-per-node=1",
        "--cpus-per-task=1",
        "--mem=0",  # no memory of its own: the job's may all be given away
        "--cpu-bind=none",
        "--mpi=none",
        "--kill-on-bad-exit=0",  # a node that fails does not take the others along
        "--wait=0",
        "--input=all",
        *([f"--nodelist={','.join(hosts)}"] if is_part else []),
        *more,
        *probe.command(*words),
    ]
    env = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("SLURM_") or name in _CLIENT
    }
    hint = "run it where Slurm's commands are"
    return Step(argv, env, hint=hint, is_asked=True, leave=_LEAVE)


def lost_nodes(errors: Sequence[str], hosts: Sequence[str]) -> dict[str, str]:
    """Return which of *hosts* srun could not reach, and why, as its *errors* say it."""
    found: dict[str, str] = {}
    for line in errors:
        if match := _LOST.search(line):
            node = match["node"] or match["lost"]
            if node in hosts:
                found.setdefault(node, (match["why"] or "node failure").strip())
    return found
