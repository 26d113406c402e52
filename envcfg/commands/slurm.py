"""Questions to Slurm's commands."""

from __future__ import annotations

from collections.abc import Sequence

from envcfg.errors import JobError
from envcfg.monitor.slurm_job import SQUEUE_FORMAT, SlurmJob, read_squeue, unknown_job

_TIMEOUT = 60


def ask_job(name: str, command: str = "monitor") -> SlurmJob:
    """Return what squeue says of one job, which may have ended lately.

    Raises:
        JobError: there is none, or Slurm does not answer.
        UsageError: there are several of this name.
    """
    argv = ["squeue", "--noheader", "--states=all", f"--jobs={name}"]
    code, out, err = _run([*argv, f"--format={SQUEUE_FORMAT}"])
    if code and "Invalid job id" in err:
        raise unknown_job(name)
    if code:
        msg = f"squeue failed: {err.strip() or code}"
        raise JobError(msg, hint="scontrol ping says whether Slurm answers")
    return read_squeue(out, name, command)


def expand_nodes(nodes: str) -> list[str]:
    """Return the names of *nodes* in Slurm's short form, in its order.

    Raises:
        JobError: it is none.
    """
    code, out, err = _run(["scontrol", "show", "hostnames", nodes])
    if code:
        msg = f"{nodes!r} is no list of nodes: {err.strip()}"
        raise JobError(msg, hint="as in nid[001000-001003,001007]")
    return out.split()


def node_states(hosts: Sequence[str]) -> dict[str, str]:
    """Return how Slurm has each node: a state, with ``*`` where it does not answer either.

    What is not known is not there: this only adds to what is known already.
    """
    argv = ["sinfo", "--noheader", "--Node", f"--nodes={','.join(hosts)}"]
    try:
        code, out, _ = _run([*argv, "--format=%N|%T"])
    except JobError:
        return {}
    rows = [line.strip().split("|") for line in out.splitlines()] if not code else []
    return {row[0]: row[1] for row in rows if len(row) == 2}


def output_path(number: str) -> str:
    """Return where the batch script of a job writes; nothing where Slurm names no file."""
    try:
        code, out, _ = _run(["scontrol", "show", "job", number])
    except JobError:
        return ""
    lines = [line.strip() for line in out.splitlines()] if not code else []
    return next((line[7:] for line in lines if line.startswith("StdOut=/")), "")


def _run(argv: Sequence[str]) -> tuple[int, str, str]:
    import subprocess

    try:
        done = subprocess.run(
            argv,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            timeout=_TIMEOUT,
        )
    except OSError as err:
        msg = f"cannot run {argv[0]}: {err.strerror}"
        raise JobError(msg, hint="run it where Slurm's commands are") from err
    except subprocess.TimeoutExpired as err:
        msg = f"{argv[0]} has not answered for {_TIMEOUT} s"
        raise JobError(msg, hint="scontrol ping says whether Slurm answers") from err
    return done.returncode, done.stdout, done.stderr
