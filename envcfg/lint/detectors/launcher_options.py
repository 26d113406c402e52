"""Launchers of several processes: the options that connect them with other nodes."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping

from envcfg.backends.launchers import ONCE
from envcfg.common.characters import whole_number
from envcfg.job.plan.parallel_degrees import size_fault
from envcfg.job.plan.program_start import KINDS
from envcfg.lint.lint_rule import Fault, ScriptJob, detects
from envcfg.lint.resource_facts import step_nodes, step_shape
from envcfg.lint.script_model import Command
from envcfg.lint.script_source import read_beside
from envcfg.lint.traced_text import INSIDE, holes
from envcfg.lint.value_flow import (
    CommandOption,
    agent_of,
    is_alone,
    options,
    program_row,
)

_PLACES = frozenset({"rdzv-endpoint", "master-addr"})
# Variables that torchrun reads instead of its options.
_BY_ENVIRONMENT = frozenset({"PET_RDZV_ENDPOINT", "PET_MASTER_ADDR", "PET_STANDALONE"})


@detects("EC420")
def rendezvous_options(job: ScriptJob) -> Iterator[Fault]:
    """Options of torchrun that keep nodes apart."""
    visited: set[int] = set()
    for command in job.model.commands:
        agent = agent_of(command)
        if agent is None or "own_hosts" in agent or command.offset in visited:
            continue
        visited.add(command.offset)
        options_given = {o.name: o for o in options(command)}
        # Nodes that never meet make wrong sizes and names irrelevant.
        apart = list(_apart(command, options_given, job))
        yield from apart
        if not apart:
            yield from _size(command, options_given, job)
            yield from _own_id(command, options_given, job)


def _apart(
    command: Command, asked: Mapping[str, CommandOption], job: ScriptJob
) -> Iterator[Fault]:
    """Yield launchers that run on several nodes without connecting to each other."""
    nodes = _nodes(command, job)
    if nodes is None or nodes < 2 or command.context.is_chosen:
        return
    count, words = asked.get("nnodes"), {"name": command.name, "nodes": nodes}
    places = {"rdzv-endpoint"} if _is_c10d(asked) else _PLACES
    is_told = places & asked.keys() or _BY_ENVIRONMENT & job.model.set_names
    if is_alone(command):
        yield Fault(command.offset, words | {"option": "--standalone"})
    elif count and count.value.literal == "1":
        yield Fault(count.value.offset, words | {"option": "--nnodes=1"})
    elif "counts_all" in (agent_of(command) or ()) or _may_be_told(command):
        return
    elif not is_told:
        yield Fault(command.offset, words, "no-place")
    elif not count and "PET_NNODES" not in job.model.set_names:
        yield Fault(command.offset, words, "no-count")


def _is_c10d(asked: Mapping[str, CommandOption]) -> bool:
    """Return whether ranks meet by c10d, which reads only the endpoint."""
    backend = asked.get("rdzv-backend")
    return backend is not None and backend.value.literal == "c10d"


def _may_be_told(command: Command) -> bool:
    """Return whether an unknown word may be an option, not the value of one."""
    before = ""
    for word in command.words:
        takes = before.startswith("--") and "=" not in before
        if word.text and word.text[0].hole and word.is_loose and not takes:
            return True
        before = word.shown
    return False


def _nodes(command: Command, job: ScriptJob) -> int | None:
    """Return the number of nodes on which a step certainly starts *command*."""
    step = job.model.step_of(command)
    if step is None or step.is_open or command.scope not in INSIDE:
        return None
    return step_nodes(step, job.shape)


def _size(
    command: Command, asked: Mapping[str, CommandOption], job: ScriptJob
) -> Iterator[Fault]:
    """Yield a fixed number of nodes that differs from the step's."""
    count, nodes = asked.get("nnodes"), _nodes(command, job)
    literal, step = count.value.literal if count else None, job.model.step_of(command)
    number = whole_number(literal)
    if not (count and number is not None and step and nodes and nodes > 1):
        return
    shape = step_shape(step, job.shape)
    # With one process each, every task may be its own node.
    sizes = {nodes, shape.tasks, (shape.per_node or 1) * nodes}
    if number not in sizes:
        yield Fault(count.value.offset, {"said": literal, "nodes": nodes}, "count")


def _own_id(
    command: Command, asked: Mapping[str, CommandOption], job: ScriptJob
) -> Iterator[Fault]:
    """Yield a rendezvous ID that differs in each task."""
    name = asked.get("rdzv-id")
    if name and (_nodes(command, job) or 1) > 1:
        for hole in holes(name.value.text):
            if hole.scope in INSIDE and hole.name in ("RANDOM", "$"):
                yield Fault(hole.offset, {}, "own-id")


@detects("EC666")
def parallel_sizes(job: ScriptJob) -> Iterator[Fault]:
    """Sizes of parallel groups that do not fit the GPUs of the job."""
    folder = os.path.dirname(job.model.path)
    has_moved = any(command.name in {"cd", "pushd"} for command in job.model.commands)

    def read(path: str) -> bytes | None:
        # The files of a job are next to its script; another folder has others.
        return None if has_moved else read_beside(os.path.join(folder, path))

    for command in job.model.commands:
        # The words of a step are those of its program, too.
        step, gpus = job.model.step_of(command), job.shape.gpus_per_node
        nodes = step_nodes(step, job.shape) if step else job.shape.nodes
        is_unknown = command.is_open or command.context.is_chosen or command.is_step
        if not nodes or not gpus or is_unknown:
            continue
        row = program_row(command) or {}
        is_cluster = "needs" in row or KINDS.get(row.get("kind", "")) == ONCE
        lines = [("", [word.shown for word in command.words])]
        fault = size_fault(lines, nodes, gpus, None, read, is_cluster=is_cluster)
        if fault:
            yield Fault(command.offset, {"fault": fault})
