"""Where a setting is made: once on the host, or in every rank.

A value that refers to something only a task knows is made in the rank part. So is one
that refers to another setting, which stands there, or to itself
(``PATH=/opt/bin:${PATH}``): what it extends is the program's own, inside the container.
All others are made in the host part, which sets none of them for itself: a library path
for the program must not reach srun.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from envcfg.errors import UsageError
from envcfg.profile.words import Word, references

# What the rank part itself sets, in every rank.
OWN = frozenset(
    "RANK LOCAL_RANK NODE_RANK WORLD_SIZE LOCAL_WORLD_SIZE MASTER_ADDR MASTER_PORT "
    "ENVCFG_CACHE".split()
)
# What differs from task to task, or is known in the task only.
PER_RANK = OWN | frozenset(
    # srun(1), "OUTPUT ENVIRONMENT VARIABLES": those set for each task or step
    "SLURMD_NODENAME SLURM_CPUS_ON_NODE SLURM_CPU_BIND SLURM_GTIDS SLURM_LOCALID "
    "SLURM_NODEID SLURM_PROCID SLURM_STEPID SLURM_STEP_GPUS SLURM_STEP_ID "
    "SLURM_STEP_NODELIST SLURM_STEP_NUM_NODES SLURM_STEP_NUM_TASKS "
    "SLURM_STEP_TASKS_PER_NODE SLURM_TASK_PID SLURM_TOPOLOGY_ADDR "
    # set by the scheduler in each task, by its GPUs
    "CUDA_VISIBLE_DEVICES GPU_DEVICE_ORDINAL HIP_VISIBLE_DEVICES ROCR_VISIBLE_DEVICES "
    "ZE_AFFINITY_MASK "
    # the node's name, wherever the shell knows it
    "HOSTNAME".split()
)


def rank_scoped(words: Mapping[str, Sequence[Word]]) -> frozenset[str]:
    """Return the names whose values belong into the rank part.

    Args:
        words: each name with the values it can take.
    """
    known = PER_RANK | words.keys()
    return frozenset(
        name
        for name, values in words.items()
        if any(ref in known for word in values for ref in references(word))
    )


def in_order(words: Mapping[str, Sequence[Word]]) -> list[str]:
    """Return the names so that each comes after those it refers to, else as given.

    Raises:
        UsageError: if settings refer to each other in a circle.
    """
    done: dict[str, None] = {}

    def visit(name: str, path: tuple[str, ...]) -> None:
        if name in done or name not in words:
            return
        if name in path:
            circle = " -> ".join((*path[path.index(name) :], name))
            msg = f"settings refer to each other in a circle: {circle}"
            raise UsageError(msg, hint="give one of them a value of its own")
        for word in words[name]:
            for ref in references(word):
                if ref != name:
                    visit(ref, (*path, name))
        done[name] = None

    for name in words:
        visit(name, ())
    return list(done)
