"""What commands that look at a running job have in common: which job, which nodes."""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from envcfg.errors import JobError, UsageError

if TYPE_CHECKING:
    from envcfg.probe.slurm import SlurmJob

# What srun says, and what helps.
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


def add_target(parser: argparse.ArgumentParser) -> None:
    """Add what says which job is looked at, and on which of its nodes."""
    parser.add_argument(
        "job", metavar="JOBID", nargs="?", help="default: the job that this runs in"
    )
    parser.add_argument(
        "--nodes", metavar="LIST", help="only these, as in nid[001000-001003]"
    )
    parser.add_argument(
        "--srun-arg",
        metavar="OPTION",
        action="append",
        default=[],
        help="a further option of srun; may be repeated",
    )


def job_name(given: str | None, command: str) -> str:
    """Return which job ``envcfg COMMAND`` looks at: *given*, or the one that it runs in.

    Raises:
        UsageError: there is none, or it is not a job id.
    """
    name = given or os.environ.get("SLURM_JOB_ID")
    if not name:
        msg = "no job given, and this is none (SLURM_JOB_ID is not set)"
        raise UsageError(msg, hint=f"envcfg {command} JOBID; squeue --me lists yours")
    if not re.fullmatch(r"[0-9]+(?:[_+][0-9]+)?", name, re.ASCII):
        msg = f"{name!r} is not a job id"
        raise UsageError(msg, hint="as squeue shows it: 4321, of an array 4321_7")
    return name


def user_name() -> str:
    """Return who runs this."""
    import pwd

    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return os.environ.get("USER", str(os.geteuid()))


def find_job(
    name: str, nodes: str | None, command: str
) -> tuple[SlurmJob, list[str], bool]:
    """Return job *name*, and which of its nodes ``envcfg COMMAND`` looks at.

    *nodes* are those that were chosen, in Slurm's short form. Behind the job stand its
    nodes, each once, and whether it has others.

    Raises:
        JobError: there is no such job, or nobody may look at it now.
        UsageError: a node is not among its own.
    """
    from envcfg.probe.slurm import ask_job, check_job, expand_nodes

    job = ask_job(name, command)
    check_job(job, user_name(), command)
    hosts = expand_nodes(job.nodes)
    if not nodes:
        return job, hosts, False
    chosen = expand_nodes(nodes)
    if foreign := [host for host in chosen if host not in hosts]:
        msg = f"--nodes: {', '.join(foreign)} is not in job {name}"
        raise UsageError(msg, hint=f"its nodes: {', '.join(hosts[:8])}")
    chosen = list(dict.fromkeys(chosen))
    return job, chosen, len(chosen) < len(hosts)


def no_answer(errors: Sequence[str], what: str) -> JobError:
    """Return the error for a step of which nothing came, with what srun said last."""
    said = [line for line in errors if line]
    text = "\n".join(said)
    hint = next((fix for word, fix in _REMEDIES if word in text), None)
    msg = f"{what}: {said[-1]}" if said else what
    return JobError(
        msg, hint=hint or "srun --overlap --jobid=JOBID hostname tells more"
    )
