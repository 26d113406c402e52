"""Names: what nobody sets, and what was meant."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache

from envcfg.lint.flow import command_with
from envcfg.lint.model import Expansion
from envcfg.lint.rule import Fault, Job, detects

_ASKS = frozenset({"-z", "-n", "-v"})
_WRONG_NAMES = {
    "SLURM_JOBNAME": "SLURM_JOB_NAME",
    "SLURM_NNODE": "SLURM_NNODES",
    "SLURM_NUM_NODES": "SLURM_JOB_NUM_NODES",
    "SLURM_NODES": "SLURM_JOB_NUM_NODES",
    "SLURM_JOB_NNODES": "SLURM_JOB_NUM_NODES",
    "SLURM_LOCAL_ID": "SLURM_LOCALID",
    "SLURM_PROC_ID": "SLURM_PROCID",
    "SLURM_NODE_ID": "SLURM_NODEID",
    "SLURM_LOCALRANK": "SLURM_LOCALID",
    "SLURM_RANK": "SLURM_PROCID",
    "SLURM_NODE_LIST": "SLURM_JOB_NODELIST",
    "SLURM_JOB_NODE_LIST": "SLURM_JOB_NODELIST",
    "SLURM_TASKS_PER_NODES": "SLURM_TASKS_PER_NODE",
    "SLURM_CPU_PER_TASK": "SLURM_CPUS_PER_TASK",
    "SLURM_CPUS_PER_TASKS": "SLURM_CPUS_PER_TASK",
    "SLURM_NTASK": "SLURM_NTASKS",
    "SLURM_NTASKS_PER_NODES": "SLURM_NTASKS_PER_NODE",
    "SLURM_GPU_PER_NODE": "SLURM_GPUS_PER_NODE",
    "SLURM_JOB_GPU": "SLURM_JOB_GPUS",
    "JOBID": "SLURM_JOB_ID",
    "JOB_ID": "SLURM_JOB_ID",
}
# Of Slurm too, though no reader of ours asks for them.
_ALSO = frozenset(
    "SLURM_ARRAY_TASK_MIN SLURM_ARRAY_TASK_MAX SLURM_ARRAY_TASK_STEP SLURM_JOB_USER "
    "SLURM_JOB_UID SLURM_JOB_GID SLURM_JOB_GROUP SLURM_JOB_END_TIME SLURM_JOB_START_TIME "
    "SLURM_JOB_DEPENDENCY SLURM_JOB_RESERVATION SLURM_JOB_CONSTRAINTS SLURM_JOB_EXTRA "
    "SLURM_JOB_LICENSES SLURM_JOB_COMMENT SLURM_JOB_DERIVED_EC SLURM_JOB_EXIT_CODE "
    "SLURM_GPUS_PER_SOCKET SLURM_DIST_PLANESIZE SLURM_DIST_LLLP SLURM_PRIO_PROCESS "
    "SLURM_OVERCOMMIT SLURM_PROFILE SLURM_HET_SIZE SLURM_NODE_ALIASES SLURM_MEM_BIND "
    "SLURM_CLUSTERS SLURM_TMPDIR SLURM_UMASK SLURM_DEBUG SLURM_EXACT SLURM_OVERLAP "
    "SLURM_TASK_PID SLURM_CPUS_PER_NODE SLURM_RESERVATION SLURM_PARTITION SLURM_ACCOUNT "
    "SLURM_QOS SLURM_SHARDS_ON_NODE SLURM_TRES_PER_TASK SLURM_RLIMIT_CORE".split()
)
_NO_DIGIT = re.compile(r"\D+")
_SHORTEST = 5  # letters of a name of which another is a slip


@detects("EC106")
def undefined_variable(job: Job) -> Iterator[Fault]:
    """A name that Slurm is thought to set, or a slip of one that the script sets."""
    names = job.model.set_names()
    if job.model.scope != "batch":
        return
    sourced = any(each.what.startswith("source ") for each in job.model.opaque)
    slips: set[str] = set()
    alike: dict[str, list[str]] = {}
    for name in names:
        alike.setdefault(_NO_DIGIT.sub("", name), []).append(name)
    for each in job.model.expansions:
        if each.is_known or each.name in names or each.hole.op:
            continue
        right = _of_slurm(each.name)
        own = None if right else _slip(each.name, alike)
        if right is None and (own is None or each.name in slips):
            continue
        if right is not None and sourced and not each.name.startswith("SLURM_"):
            continue
        if _is_asked_for(each, job):
            continue
        if right is not None:
            yield Fault(each.at, {"name": each.name, "right": right})
        elif own is not None and each.hole.scope != "unknown":
            slips.add(each.name)
            message = "nothing sets {name}; the script sets {right}"
            words = {"name": each.name, "right": own}
            yield Fault(each.at, words, "note" if sourced else "warning", message)


def _is_asked_for(each: Expansion, job: Job) -> bool:
    """Return whether a test around it, or it itself, asks whether it is set."""
    if any(each.name in c for c in each.context.conditions):
        return True
    command = command_with(job.model.commands, each)
    return bool(command and any(w.shown in _ASKS for w in command.words))


def _of_slurm(name: str) -> str | None:
    """Return the name of Slurm's that was meant; None where this is one, or none."""
    if name in _WRONG_NAMES:
        return _WRONG_NAMES[name]
    return _near_slurm(name) if name.startswith("SLURM_") else None


@lru_cache(maxsize=256)
def _near_slurm(name: str) -> str | None:
    from envcfg.knowledge.variables import find_variable, load_variables

    if name in _ALSO or find_variable(name) is not None:
        return None
    known = [each for each in load_variables() if each.startswith("SLURM_")]
    near = [each for each in known if _is_slip(name, each)]
    return near[0] if len(near) == 1 else None


def _slip(name: str, alike: Mapping[str, list[str]]) -> str | None:
    """Return the one name that differs by a letter, of those with the same digits."""
    from envcfg.knowledge.variables import find_variable

    if len(name) < _SHORTEST or name.startswith(("SLURM_", "_")) or not name.isupper():
        return None
    names = alike.get(_NO_DIGIT.sub("", name), ())
    near = [each for each in names if _is_slip(name, each)]
    return near[0] if len(near) == 1 and find_variable(name) is None else None


def _is_slip(one: str, other: str) -> bool:
    """Return whether a letter is missing, wrong, or in the place of its neighbour."""
    if abs(len(one) - len(other)) > 1 or one == other:
        return False
    begin = 0
    while begin < min(len(one), len(other)) and one[begin] == other[begin]:
        begin += 1
    end = 0
    while end < min(len(one), len(other)) - begin and one[-1 - end] == other[-1 - end]:
        end += 1
    left, right = one[begin : len(one) - end], other[begin : len(other) - end]
    if any(sign.isdigit() for sign in left + right):
        return False  # NODE1 and NODE2
    swapped = len(left) == 2 and left == right[::-1]
    return swapped or max(len(left), len(right)) == 1
