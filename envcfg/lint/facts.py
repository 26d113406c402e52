"""What is certain of a job: nodes, tasks, cores and GPUs, of the whole and of each step."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import NamedTuple

from envcfg.characters import whole_number
from envcfg.lint.model import Command, Model
from envcfg.lint.program import SHELLS, load_programs, load_words

_COUNT = r"([0-9]{1,9})(?![0-9])"  # nobody has more of anything
_NODES = re.compile(rf"{_COUNT}(?:-{_COUNT})?")
_GRES = re.compile(rf"gpu(?::[A-Za-z][\w.-]*)?(?::{_COUNT})?(?![0-9]|:[0-9])")
_NUMBERS = (
    ("ntasks", "tasks"), ("ntasks-per-node", "tasks_per_node"), ("cpus-per-task", "cpus"),
)  # fmt: skip
_COUNTED = re.compile(rf"(?:[A-Za-z][\w.-]*:)?{_COUNT}")


class Shape(NamedTuple):
    """What a job or step asks for; None where it is not known."""

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


def is_many(shape: Shape) -> bool:
    """Return whether there is more than one task, as far as the job says."""
    return (shape.nodes or 1) > 1 or (shape.per_node or 1) > 1


def most_nodes(model: Model, shape: Shape) -> int:
    """Return on how many nodes the job or a step of it certainly runs."""
    each = (step_shape(step, shape).nodes or 1 for step in steps(model))
    return max(shape.nodes or 1, *each, 1)


def job_shape(model: Model) -> Shape:
    """Return what the directives ask for."""
    asked = {d.name: d.value or "" for d in model.directives if not d.late}
    return _shape(asked, Shape())


def step_shape(step: Command, job: Shape) -> Shape:
    """Return what a step gets: its own options, else the job's.

    A step of its own size has what it says; one that says nothing has all of the job.
    """
    asked = {
        name: ""
        if word.at == step.at
        else "?"
        if word.literal is None
        else word.literal
        for name, word in step.options.items()
    }
    if step.is_open:
        return Shape()
    base = job
    if "nodes" in asked or "ntasks" in asked:
        base = job._replace(tasks=None)
    if "ntasks" in asked and "ntasks-per-node" not in asked:
        base = base._replace(tasks_per_node=None)
    if "ntasks-per-node" in asked and "ntasks" not in asked:
        base = base._replace(tasks=None)
    return _shape(asked, base)


def _shape(asked: Mapping[str, str], base: Shape) -> Shape:
    shape = base
    if "nodes" in asked:
        found = _NODES.fullmatch(asked["nodes"])
        count = int(found[1]) if found and found[2] in (None, found[1]) else None
        shape = shape._replace(nodes=count)
    for name, field in _NUMBERS:
        if name in asked:
            count = whole_number(asked[name])
            shape = shape._replace(**{field: count})  # type: ignore[arg-type]
    if gpus := gpus_asked(asked):
        shape = shape._replace(gpus_per_node=max(gpus.values()))
    if "exclusive" in asked:
        shape = shape._replace(is_exclusive=True)
    return shape


def gpus_asked(asked: Mapping[str, str]) -> dict[str, int]:
    """Return the GPUs of a node, by the option that says how many."""
    found = {}
    if gres := _GRES.search(asked.get("gres", "")):
        found["gres"] = int(gres[1] or 1)
    if count := _COUNTED.fullmatch(asked.get("gpus-per-node", "")):
        found["gpus-per-node"] = int(count[1])
    return found


def steps(model: Model) -> list[Command]:
    """Return every place in which srun starts something, in order."""
    found = (each for each in model.commands if each.is_step)
    return [each for each in found if each.scope != "container"]


@cache
def helpers() -> frozenset[str]:
    """Return the names of programs that only look or tidy up."""
    return frozenset(load_words()["helpers"].split())


def is_helper(step: Command, model: Model) -> bool:
    """Return whether a step only looks or tidies up; what is not known is none."""
    names, left = set(), [step]
    while left:
        below = model.children(left.pop())
        names |= {each.name for each in below}
        left += below
    names -= SHELLS | load_programs().keys()
    return bool(names) and names <= helpers()
