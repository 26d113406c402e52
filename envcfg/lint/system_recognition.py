"""The system of a script: recognised by at least two signs, with its properties."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from envcfg.backends.schedulers import MARK
from envcfg.common.datafile import load_kept_file
from envcfg.job.request.amounts import mebibytes
from envcfg.lint.program_starts import load_programs
from envcfg.lint.script_source import Source

if TYPE_CHECKING:
    from envcfg.job.request.admission import GivenOption
    from envcfg.lint.lint_rule import ScriptJob
    from envcfg.lint.script_model import Command, Model
    from envcfg.profile.profile_model import Profile

_COMMENT = re.compile(rf"^[ \t]*(?!{MARK})#.*$", re.MULTILINE)
ENOUGH = 2
_LONGEST = 1000  # characters of a line that may hold a sign
_ASK_GPUS = frozenset("gpus gres gpus-per-node gpus-per-task ntasks-per-gpu".split())


def recognise(sources: Iterable[Source]) -> tuple[str, tuple[str, ...]]:
    """Return the profile of the one system with signs in the scripts, and the signs.

    Both are empty if the system is not clear.
    """
    lines = (line for source in sources for line in source.chars.split("\n"))
    text = _COMMENT.sub("", "\n".join(line[:_LONGEST] for line in lines))
    # Signs of directives count only in directives; comments are removed before.
    heads = "\n".join(line for line in text.split("\n") if line[:1] == "#")
    systems = []
    for name, signs in load_kept_file("lint/systems.yaml").items():
        visited = tuple(
            sign["sign"]
            for sign in signs
            if _is_in(sign["pattern"], heads if sign["pattern"][0] == "^" else text)
        )
        if len(visited) >= ENOUGH:
            systems.append((name, visited))
    # Two systems with equally many signs leave the answer open.
    most = max((len(signs) for _, signs in systems), default=0)
    best = [system for system in systems if len(system[1]) == most]
    return best[0] if len(best) == 1 else ("", ())


def _is_in(pattern: str, text: str) -> bool:
    # The search for a word without boundaries is ten times as fast.
    is_near = re.search(pattern.replace(r"\b", ""), text, re.MULTILINE)
    return bool(is_near and re.search(pattern, text, re.MULTILINE))


def directives(job: ScriptJob) -> dict[str, GivenOption]:
    """Return the script's requests to the scheduler, by long name; the last one counts."""
    return {
        directive.name: directive
        for directive in job.model.directives
        if not directive.late
    }


def node_options_of(model: Model) -> list[tuple[str, str | None]]:
    """Return the directives of a script that may select a kind of node."""
    return [
        (f"--{each.name}", each.value) for each in model.directives if not each.late
    ]


def asked_partition(job: ScriptJob) -> str | None:
    """Return the only partition that a script names; None if there is not exactly one."""
    partition = directives(job).get("partition")
    text = (partition.value or "") if partition else ""
    return text if re.fullmatch(r"[\w-]+", text) else None


def owns_nodes(job: ScriptJob) -> bool | None:
    """Return whether the job owns its nodes; None if unknown."""
    if job.shape.is_exclusive:
        return True
    if job.profile is None:
        return None
    partition = job.profile.partitions.get(asked_partition(job) or "")
    return partition.exclusive if partition else None


def is_singularity(command: Command, job: ScriptJob) -> bool:
    """Return whether *command* certainly starts its container with SingularityCE."""
    runtimes = job.profile.runtimes if job.profile else None
    program = load_programs().get(command.name)
    reads_one = program is not None and bool(program.prefix)
    return reads_one and runtimes == (command.name,)


def shares_nodes(job: ScriptJob) -> bool:
    """Return whether other jobs may run on the same nodes, according to the profile."""
    profile, gpus = job.profile, job.shape.gpus_per_node
    if profile is None or profile.node is None or owns_nodes(job) is not False:
        return False
    return gpus is None or gpus < profile.node.gpus


def is_gpu_job(job: ScriptJob) -> bool:
    """Return whether a directive asks for GPUs."""
    return any(
        "gpu" in f"{name}={directive.value or ''}"
        for name, directive in directives(job).items()
        if name in _ASK_GPUS
    )


def most_cores(profile: Profile | None) -> int | None:
    """Return the number of cores, as Slurm counts them, that a job can have on a node.

    Masks list all cores. Without masks, twice the cores of the GPUs is a bound that also
    holds with two threads for each core.
    """
    if profile is None or profile.node is None:
        return None
    if profile.cpu_masks is not None:
        every = 0
        for mask in profile.cpu_masks.masks:
            every |= int(mask, 16)
        return every.bit_count()
    share = profile.node.cores_per_gpu
    return 2 * share * profile.node.gpus if share else None


def most_memory(profile: Profile | None) -> tuple[int, int]:
    """Return a node's memory for jobs, and the least that no job gets; 0: unknown."""
    node = profile.node if profile else None
    if profile is None or node is None:
        return 0, 0
    if node.memory_limit:
        return mebibytes(node.memory_limit), mebibytes(node.memory_limit) + 1
    share = mebibytes(node.memory_per_gpu) if node.memory_per_gpu else 0
    priced = (profile.billing.memory_per_share or 0) << 10 if profile.billing else 0
    # A price per larger share than that of a GPU covers all of a node's memory.
    # Otherwise a share is not a limit: some of a node's memory belongs to no GPU.
    refused = priced if priced > share else share * 5 // 4
    return share * node.gpus, refused * node.gpus
