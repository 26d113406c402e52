"""The system of a script: which it shows by two signs or more, and what it gives."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from envcfg.datafile import load_kept
from envcfg.lint.program import load_programs
from envcfg.lint.source import Source
from envcfg.request.amounts import mebibytes

if TYPE_CHECKING:
    from envcfg.lint.model import Command
    from envcfg.lint.rule import Job
    from envcfg.profile.model import Profile
    from envcfg.request.admission import Given

_FILE = os.path.join(os.path.dirname(__file__), "systems.yaml")
_COMMENT = re.compile(r"^[ \t]*#(?!SBATCH|PBS|flux:).*$", re.MULTILINE)
ENOUGH = 2
_LONGEST = 1000  # characters of a line that may hold a sign
_ASK_GPUS = frozenset("gpus gres gpus-per-node gpus-per-task ntasks-per-gpu".split())


class Recognised(NamedTuple):
    """A profile, and by which signs the scripts show it."""

    profile: str
    signs: tuple[str, ...]


def recognise(sources: Iterable[Source]) -> Recognised | None:
    """Return the one system whose signs the scripts show; None where it is not clear."""
    lines = (line for each in sources for line in each.chars.split("\n"))
    text = _COMMENT.sub("", "\n".join(line[:_LONGEST] for line in lines))
    heads = "\n".join(line for line in text.split("\n") if line[:1] == "#")
    found = []
    for name, signs in load_kept("systems", [_FILE])[0].items():
        seen = tuple(
            each["sign"]
            for each in signs
            if _is_in(each["pattern"], heads if each["pattern"][0] == "^" else text)
        )
        if len(seen) >= ENOUGH:
            found.append(Recognised(name, seen))
    most = max((len(each.signs) for each in found), default=0)
    best = [each for each in found if len(each.signs) == most]
    return best[0] if len(best) == 1 else None


def _is_in(pattern: str, text: str) -> bool:
    # Without boundaries a word is searched for ten times as fast.
    is_near = re.search(pattern.replace(r"\b", ""), text, re.MULTILINE)
    return bool(is_near and re.search(pattern, text, re.MULTILINE))


def directives(job: Job) -> dict[str, Given]:
    """Return what the script asks of the scheduler, by long name; the last one counts."""
    return {each.name: each for each in job.model.directives if not each.late}


def asked_partition(job: Job) -> str | None:
    """Return the one partition that a script names; None where it is not one."""
    found = directives(job).get("partition")
    said = (found.value or "") if found else ""
    return said if re.fullmatch(r"[\w-]+", said) else None


def owns_nodes(job: Job) -> bool | None:
    """Return whether the job has its nodes to itself; None where nobody says."""
    if job.shape.is_exclusive:
        return True
    if job.profile is None:
        return None
    found = job.profile.partitions.get(asked_partition(job) or "")
    return found.exclusive if found else None


def is_singularity(command: Command, job: Job) -> bool:
    """Return whether SingularityCE certainly is what *command* starts a container by."""
    runtimes = job.profile.runtimes if job.profile else None
    program = load_programs().get(command.name)
    reads_one = program is not None and bool(program.prefix)
    return reads_one and runtimes == (command.name,)


def shares_nodes(job: Job) -> bool:
    """Return whether the profile says that other jobs may be on the same nodes."""
    profile, gpus = job.profile, job.shape.gpus_per_node
    if profile is None or profile.node is None or owns_nodes(job) is not False:
        return False
    return gpus is None or gpus < profile.node.gpus


def is_gpu_job(job: Job) -> bool:
    """Return whether a directive asks for GPUs."""
    return any(
        "gpu" in f"{name}={each.value or ''}"
        for name, each in directives(job).items()
        if name in _ASK_GPUS
    )


def most_cores(profile: Profile | None) -> int | None:
    """Return how many cores, as Slurm counts them, a job can have of a node.

    Masks name them all. Where there are none, twice what the GPUs have is a bound that
    holds with two threads for each core, too.
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


def most_memory(profile: Profile | None) -> int | None:
    """Return how much memory, in MiB, no node has for jobs."""
    if profile is None or profile.node is None:
        return None
    asked, billing = profile.node.memory_per_gpu, profile.billing
    share = mebibytes(asked) if asked else 0
    priced = (billing.memory_per_share or 0) << 10 if billing else 0
    # A price by more than what is asked for with a GPU counts all of a node's memory.
    if priced > share:
        return priced * profile.node.gpus
    # Else a share is not a limit: some of a node's memory belongs to no GPU.
    return share * profile.node.gpus * 5 // 4 or None
