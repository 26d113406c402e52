"""A running Slurm job: the answers of Slurm's commands, and a step that examines it."""

import os
import re
from collections.abc import Sequence
from typing import NamedTuple

from envcfg.backends.scheduler_client import query, renew_limits
from envcfg.common.characters import joined_lines, split_lines, whole_number
from envcfg.common.child_process import PIPE, ChildProcess
from envcfg.common.errors import JobError, UsageError
from envcfg.nodes.probe.probes import Probe

_LEAVE = 5.0  # seconds for a step to end after each signal, the gentlest first
# Fields without spaces; the last two may be empty or long.
_FORMAT = "%A|%i|%T|%u|%r|%b|%N"
_GPUS = re.compile(r"\bgpu(?::[^:,=()]+)?[:=](\d+)")
_RUNS = frozenset({"RUNNING"})
_WAITS = frozenset(
    {"PENDING", "CONFIGURING", "REQUEUED", "REQUEUE_HOLD", "RESV_DEL_HOLD"}
)
_ENDED = frozenset(
    ("BOOT_FAIL", "CANCELLED", "COMPLETED", "DEADLINE", "FAILED", "NODE_FAIL")
) | {"OUT_OF_MEMORY", "PREEMPTED", "TIMEOUT"}
_NUMBER = re.compile(r"\d{1,10}(?:_\d{1,10})?")  # of a job in the name of its output
_PAUSES = frozenset({"SUSPENDED", "STOPPED", "STAGE_OUT", "SIGNALING", "RESIZING"})
# Slurm's own settings for clients. Other SLURM_ variables describe another job or step, and
# srun would take them as its options.
_CLIENT = frozenset({"SLURM_CONF", "SLURM_JWT", "SLURM_TIME_FORMAT"})
# srun's messages about a node that cannot start a task, and about a lost node.
_LOST = re.compile(
    r"failed on node (?P<node>[\w.-]+): (?P<why>.+)|Node failure on (?P<lost>[\w.-]+)"
)


class SlurmJob(NamedTuple):
    """A job."""

    id: str  # the number that srun takes
    name: str  # as the user gave it: of an array `123_4`
    state: str
    user: str
    reason: str
    gpus: int | None  # of each node; None if the job requested GPUs in another way
    nodes: str  # in Slurm's short form


def ask_job(name: str, command: str) -> SlurmJob:
    """Return squeue's answer on one job, which may have ended recently.

    Raises:
        JobError: there is none, or Slurm does not answer.
        UsageError: there are several of this name.
    """
    # squeue also shows jobs that ended minutes ago, and needs no database.
    argv = ["squeue", "--noheader", "--states=all", f"--jobs={name}"]
    code, out, err = run_command([*argv, f"--format={_FORMAT}"])
    if code and "Invalid job id" in err:
        raise _unknown_job(name)
    if code:
        msg = f"squeue failed: {joined_lines(err) or code}"
        raise JobError(msg, hint="scontrol ping says whether Slurm answers")
    return read_squeue(out, name, command)


def read_squeue(text: str, asked: str, command: str) -> SlurmJob:
    """Return the one job that squeue printed in ``_FORMAT``, for ``envcfg COMMAND``.

    Raises:
        JobError: there is none.
        UsageError: there are several.
    """
    rows = [line.split("|") for line in split_lines(text) if line.count("|") >= 6]
    running = [row for row in rows if row[2] in _RUNS]
    # Tasks of an array that ended are not considered while another one runs.
    rows = running or rows
    # Slurm gives the last task of an array the number of the whole array.
    if len(rows) > 1 and asked == os.environ.get("SLURM_JOB_ID"):
        rows = [row for row in rows if row[0] == asked and "_" in row[1]] or rows
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
        JobError: it does not run, or belongs to another user.
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
        JobError: *nodes* is no list of nodes.
    """
    code, out, err = run_command(["scontrol", "show", "hostnames", nodes])
    if code:
        msg = f"{nodes!r} is not a list of nodes: {joined_lines(err)}"
        raise JobError(msg, hint="as in nid[001000-001003,001007]")
    return out.split()


def own_nodes(job: SlurmJob, parent: int) -> list[str]:
    """Return the nodes of the step that was started by a child of process *parent*.

    Raises:
        JobError: Slurm shows no such step.
    """
    for line in _output_lines(["scontrol", "--oneliner", "show", "step", job.id]):
        step = re.search(r" NodeList=(\S+) .* SrunHost:Pid=\S+:(\d+)", line)
        if step and parent_of(step[2]) == parent:
            return expand_nodes(step[1])
    msg = "Slurm does not show the nodes of this step"
    raise JobError(msg, hint=f"scontrol show step {job.id}")


def parent_of(process: str) -> int | None:
    """Return the number of the parent of *process* on this machine; None if it ended."""
    try:
        with open(f"/proc/{process}/stat", encoding="utf-8", errors="replace") as file:
            return int(file.read().rpartition(")")[2].split()[1])
    except (OSError, ValueError, IndexError):
        return None


def node_names() -> list[str]:
    """Return the names of all nodes of this cluster; empty if Slurm does not answer."""
    # Without --all, sinfo leaves out hidden partitions.
    return _output_lines(["sinfo", "--noheader", "--all", "--Node", "--format=%N"])


def node_states(hosts: Sequence[str]) -> dict[str, str]:
    """Return Slurm's state of each node, with ``*`` if it does not respond.

    Nodes with an unknown state are left out, because the state is only extra information.
    """
    argv = ["sinfo", "--noheader", "--Node", f"--nodes={','.join(hosts)}"]
    rows = [line.split("|") for line in _output_lines([*argv, "--format=%N|%T"])]
    return {row[0]: row[1] for row in rows if len(row) == 2}


def output_path(number: str) -> str:
    """Return the output file of the batch script; empty if Slurm names no file."""
    lines = _output_lines(["scontrol", "show", "job", number])
    return next((line[7:] for line in lines if line.startswith("StdOut=/")), "")


def is_output_complete(files: Sequence[str]) -> bool:
    """Return whether the job that writes one of *files* as its output has ended.

    Their names must contain its number. False without Slurm, for other files, and for
    jobs that Slurm has forgotten, minutes after their end.
    """
    renew_limits()  # each question has its own limit
    for file in files:
        for number in _NUMBER.findall(os.path.basename(file)):
            lines = _output_lines(["scontrol", "show", "job", number])
            fields = dict(
                word.partition("=")[::2]
                for line in lines
                for word in ([line] if line.startswith("StdOut=") else line.split())
            )
            own = os.path.realpath(fields.get("StdOut", "")) == os.path.realpath(file)
            if own and fields.get("JobState") in _ENDED:
                return True
    return False


def slurm_version() -> dict[str, str]:
    """Return the Slurm version of this machine as a fact; empty without Slurm."""
    version = re.search(r"slurm[^ ]* (\d+\.\d+)", query(["scontrol", "--version"]).text)
    return {"slurm": version[1]} if version else {}


def _output_lines(argv: Sequence[str]) -> list[str]:
    """Return the lines that a command prints; empty if it fails."""
    return [line.strip() for line in split_lines(query(argv).text)]


def run_command(
    argv: Sequence[str],
    fault: str = "cannot run",
    hint: str = "run it where Slurm's commands are",
    slow: str = "scontrol ping says whether Slurm answers",
) -> tuple[int, str, str]:
    """Return the exit code of a scheduler's command, its stdout and its stderr.

    Raises:
        JobError: it cannot be run: *fault*, with its *hint*; or it does not answer, with
            the hint *slow*.
    """
    answer = query(argv)
    if answer.is_absent:
        raise JobError(f"{fault} {answer.fault}", hint=hint)  # noqa: EM102
    if answer.exit_code is None:
        raise JobError(answer.fault, hint=slow)
    return answer.exit_code, answer.out, answer.err


def start_step(
    probe: Probe,
    job: str,
    hosts: Sequence[str],
    words: Sequence[str] = (),
    *,
    is_part: bool,
    more: Sequence[str],
    leave: float = _LEAVE,
) -> ChildProcess:
    """Start *probe* on each of *hosts*, beside the steps of a job.

    *more* are options of srun. *is_part*: the job has other nodes, so the step must name
    its own. *leave*: seconds for its end after each signal.

    Raises:
        JobError: there is no srun.
    """
    size = len(hosts)
    argv = [
        "srun",
        f"--jobid={job}",
        f"--job-name=envcfg-{probe.name}",
        "--overlap",  # share the resources of the running step
        f"--nodes={size}",
        f"--ntasks={size}",
        "--ntasks-per-node=1",
        "--cpus-per-task=1",
        "--mem=0",  # no memory for the step: the job's may all be in use
        "--cpu-bind=none",
        "--mpi=none",
        "--kill-on-bad-exit=0",  # a node that fails does not end the others
        "--wait=0",
        "--input=all",
        *([f"--nodelist={','.join(hosts)}"] if is_part else []),
        *more,
        *probe.command(*words),
    ]
    # Variables of another allocation would redirect the step.
    env = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("SLURM_") or name in _CLIENT
    }
    try:
        return ChildProcess(argv, env, stdin=PIPE, leave=leave)
    except OSError as err:
        msg = f"cannot run srun: {err.strerror}"
        raise JobError(msg, hint="run it where Slurm's commands are") from err


def lost_nodes(errors: Sequence[str], hosts: Sequence[str]) -> dict[str, str]:
    """Return the *hosts* that srun could not reach, with the reasons in its *errors*."""
    result: dict[str, str] = {}
    for line in errors:
        if match := _LOST.search(line):
            node = match["node"] or match["lost"]
            if node in hosts:
                result.setdefault(node, (match["why"] or "node failure").strip())
    return result
