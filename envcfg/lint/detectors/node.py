"""Nodes: what the first of them puts into texts that all of them run."""

from __future__ import annotations

import re
from collections.abc import Iterator

from envcfg.lint.flow import options, texts, uses
from envcfg.lint.model import Command
from envcfg.lint.rule import Fault, Job, detects
from envcfg.lint.text import Hole, holes

_HOST = re.compile(r"^(?:/bin/|/usr/bin/)?hostname\b")
_MEETS = re.compile(
    r"ADDR|HOST|MASTER|HEAD|ENDPOINT|RDZV|COORD|SERVER|URL|IP$|NODE0|LEADER", re.I
)
# Options by which a process says on which node it is, or writes to a file of that name.
_OF_NODES = re.compile(r"role|node-?name|local-addr|log-(?:dir|file|path)|run-name")


@detects("EC103")
def node_in_batch(job: Job) -> Iterator[Fault]:
    """The name of the first node, given to all of them as their own."""
    if job.model.scope != "batch" or (job.shape.nodes or 0) < 2:
        return
    assigned = uses(job.model).values
    meets = {
        at for at, each in assigned.items() if any(_MEETS.search(a.name) for a in each)
    }
    for hole in _in_tasks(job):
        named = hole.name == "SLURMD_NODENAME" or _HOST.match(hole.text)
        if hole.scope == "batch" and named and hole.at not in meets:
            yield Fault(hole.at, {"name": hole.name or f"$({hole.text})"})


def _in_tasks(job: Job) -> Iterator[Hole]:
    """Yield what tasks of all nodes take for the name of their own."""
    for each in job.model.assignments:
        if each.scope in ("task", "container"):
            for text in texts(each.value):
                yield from holes(text)
    for command in job.model.commands:
        if command.scope in ("task", "container") and not _is_one_node(command, job):
            yield from holes(command.output)
            for option in options(command):
                if _OF_NODES.fullmatch(option.name):
                    yield from holes(option.value.text)


def _is_one_node(command: Command, job: Job) -> bool:
    """Return whether the step that starts *command* is told on how many nodes, or which."""
    step = job.model.step_of(command)
    return step is not None and not {"nodes", "nodelist"}.isdisjoint(step.options)
