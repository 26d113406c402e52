"""Certain facts of a job: nodes, tasks, cores and GPUs, in total and per step."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from envcfg.backends.schedulers import SCHEDULERS
from envcfg.common.characters import whole_number
from envcfg.job.plan.shell_text import SHELLS
from envcfg.lint.program_starts import helpers, load_programs
from envcfg.lint.script_model import Command, Model
from envcfg.lint.traced_text import Word

_COUNT = r"([0-9]{1,9})(?![0-9])"  # larger numbers are not counts of resources
_NODES = re.compile(rf"{_COUNT}(?:-{_COUNT})?")
_GRES = re.compile(rf"gpu(?::[A-Za-z][\w.-]*)?(?::{_COUNT})?(?=$|[,(])")
_NUMBERS = (
    ("ntasks", "tasks"), ("ntasks-per-node", "tasks_per_node"), ("cpus-per-task", "cpus"),
)  # fmt: skip
_COUNTS = {
    name: size
    for scheduler in SCHEDULERS.values()
    for name, size in scheduler.sizes.items()
}
# Options that select nodes which the script does not count.
_PARTS_OF_NODES = frozenset("nodelist nodefile relative exclude".split())
# The outer mask first: an inner one counts the GPUs that the outer one leaves.
GPU_MASKS = ("ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES")
_COUNTED = re.compile(rf"(?:[A-Za-z][\w.-]*:)?{_COUNT}")


class ResourceShape(NamedTuple):
    """The resources of a job or step; None if unknown."""

    nodes: int | None = None
    tasks: int | None = None
    tasks_per_node: int | None = None
    cpus: int | None = None
    gpus_per_node: int | None = None
    is_exclusive: bool = False

    @property
    def per_node(self) -> int | None:
        """Tasks on each node."""
        if self.tasks_per_node is not None:
            return self.tasks_per_node
        if self.tasks is not None and self.nodes:
            return -(-self.tasks // self.nodes)
        return None

    @property
    def all_tasks(self) -> int:
        """All tasks: Slurm starts one on each node by default."""
        if self.tasks is not None:
            return self.tasks
        return (self.tasks_per_node or 1) * (self.nodes or 1)


def is_many(shape: ResourceShape) -> bool:
    """Return whether the job has more than one task, as far as its options show."""
    return (shape.nodes or 1) > 1 or (shape.per_node or 1) > 1


def most_nodes(model: Model, shape: ResourceShape) -> int:
    """Return the number of nodes on which the job or one of its steps certainly runs."""
    node_counts = (step_shape(step, shape).nodes or 1 for step in steps(model))
    return max(shape.nodes or 1, *node_counts, 1)


def job_shape(model: Model) -> ResourceShape:
    """Return the resources that the directives request."""
    values = {d.name: d.value or "" for d in model.directives if not d.late}
    return _shape(values, ResourceShape())


def step_shape(step: Command, job: ResourceShape) -> ResourceShape:
    """Return the resources of a step: its own options, else those of the job.

    A step with its own size has only that; a step without options has all of the job.
    """
    values = {
        name: "" if word.offset == step.offset else _amount(word, job)
        for name, word in step.options.items()
    }
    if step.is_open:
        return ResourceShape()
    base = job
    # An own number of nodes or tasks replaces the job's total, which no longer fits.
    if "nodes" in values or "ntasks" in values:
        base = job._replace(tasks=None)
    if "ntasks" in values and "ntasks-per-node" not in values:
        base = base._replace(tasks_per_node=None)
    if "ntasks-per-node" in values and "ntasks" not in values:
        base = base._replace(tasks=None)
    return _shape(values, base)


def asked_shape(step: Command, job: ResourceShape) -> ResourceShape:
    """Return the resources of a step if its unknown words are empty."""
    return step_shape(step._replace(is_open=False), job)


def _amount(word: Word, job: ResourceShape) -> str:
    """Return the value of an option, with the job's counts for Slurm's names of them."""
    if word.literal is not None:
        return word.literal
    hole = word.text[0].hole if len(word.text) == 1 else None
    field = _COUNTS.get(hole.name) if hole and not hole.op else None
    count = getattr(job, field) if field else None
    return "?" if count is None else str(count)


def has_known_size(step: Command, job: ResourceShape) -> bool:
    """Return whether the numbers of nodes and tasks in the options of a step are known."""
    words = (step.options.get(name) for name in ("nodes", "ntasks", "ntasks-per-node"))
    return all(_amount(word, job) != "?" for word in words if word)


def step_nodes(step: Command, job: ResourceShape) -> int | None:
    """Return the number of nodes on which a step certainly runs; None if unknown.

    Without a number of nodes srun uses all nodes of the job, if there are enough tasks.
    Other starters may fill the first node before they use the next.
    """
    words = step.options
    is_part = not _PARTS_OF_NODES.isdisjoint(words) and "nodes" not in words
    if step.is_open or is_part:
        return None
    shape = step_shape(step, job)
    if "nodes" in words or "ntasks" not in words or shape.tasks == 1:
        return 1 if shape.tasks == 1 else shape.nodes
    if shape.tasks is None:
        return None
    if step.is_srun:
        enough = job.nodes is not None and shape.tasks >= job.nodes
        return job.nodes if enough else None
    if "ntasks-per-node" in words and shape.tasks_per_node:
        return -(-shape.tasks // shape.tasks_per_node)
    return None


def _shape(requested: Mapping[str, str], base: ResourceShape) -> ResourceShape:
    shape = base
    if "nodes" in requested:
        match = _NODES.fullmatch(requested["nodes"])
        # A range of nodes ("2-4") has no certain number.
        count = int(match[1]) if match and match[2] in (None, match[1]) else None
        shape = shape._replace(nodes=count)
    for name, field in _NUMBERS:
        if name in requested:
            count = whole_number(requested[name])
            shape = shape._replace(**{field: count})  # type: ignore[arg-type]
    if gpus := gpus_asked(requested):
        shape = shape._replace(gpus_per_node=max(gpus.values()))
    elif shape.nodes == 1 and (total := _COUNTED.fullmatch(requested.get("gpus", ""))):
        shape = shape._replace(gpus_per_node=int(total[1]))
    if "exclusive" in requested:
        shape = shape._replace(is_exclusive=True)
    return shape


def gpus_asked(requested: Mapping[str, str]) -> dict[str, int]:
    """Return the number of GPUs of a node, for each option that requests them."""
    counts = {}
    if gres := _GRES.search(requested.get("gres", "")):
        counts["gres"] = int(gres[1] or 1)
    if count := _COUNTED.fullmatch(requested.get("gpus-per-node", "")):
        counts["gpus-per-node"] = int(count[1])
    return counts


def steps(model: Model) -> list[Command]:
    """Return every place in which tasks are started, in order."""
    commands = (command for command in model.commands if command.is_step)
    return [command for command in commands if command.scope != "container"]


def is_helper(step: Command, model: Model) -> bool:
    """Return whether a step certainly only inspects or cleans up."""
    names, commands = set(), [step]
    while commands:
        below = model.children(commands.pop())
        names |= {command.name for command in below}
        commands += below
    names -= SHELLS | load_programs().keys()
    return bool(names) and names <= helpers()


def gpus_listed(value: str) -> int | None:
    """Return the number of GPUs in a mask such as ``0,1,2,3``; None for other values."""
    return value.count(",") + 1 if re.fullmatch(r"\d+(?:,\d+)*", value) else None
