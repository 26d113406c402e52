"""Launchers of several processes: what they are told of the other nodes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from envcfg.characters import whole_number
from envcfg.lint.facts import step_shape
from envcfg.lint.flow import STEP_SIZES, Option, agent_of, is_alone, options
from envcfg.lint.model import Command
from envcfg.lint.rule import Fault, Job, detects
from envcfg.lint.text import holes

_PLACES = frozenset({"rdzv-endpoint", "master-addr"})
# What torchrun reads in place of its options.
_BY_ENVIRONMENT = frozenset({"PET_RDZV_ENDPOINT", "PET_MASTER_ADDR", "PET_STANDALONE"})


@detects("EC420")
def rendezvous_options(job: Job) -> Iterator[Fault]:
    """Options of torchrun that do nothing, or that keep nodes apart."""
    seen: set[int] = set()
    for command in job.model.commands:
        agent = agent_of(command)
        if agent is None or agent.own_hosts or command.at in seen:
            continue
        seen.add(command.at)
        asked = {o.name: o for o in options(command)}
        apart = list(_apart(command, asked, job))
        yield from apart
        if not apart:
            yield from _size(command, asked, job)
            yield from _idle(command, asked, job)


def _apart(command: Command, asked: Mapping[str, Option], job: Job) -> Iterator[Fault]:
    """Yield where several nodes run a launcher, each of which asks no other."""
    nodes = _nodes(command, job)
    agent = agent_of(command)
    if nodes is None or nodes < 2 or command.context.conditions:
        return
    count, words = asked.get("nnodes"), {"name": command.name, "nodes": nodes}
    places = {"rdzv-endpoint"} if _is_c10d(asked) else _PLACES
    is_told = places & asked.keys() or _BY_ENVIRONMENT & job.model.set_names()
    if is_alone(command):
        yield Fault(command.at, words | {"option": "--standalone"}, "alone")
    elif count and count.value.literal == "1":
        yield Fault(count.value.at, words | {"option": "--nnodes=1"}, "alone")
    elif agent and not (agent.counts_all or _may_be_told(command) or is_told):
        yield Fault(command.at, words, "no-place")


def _is_c10d(asked: Mapping[str, Option]) -> bool:
    """Return whether ranks meet by c10d, which reads the endpoint alone."""
    backend = asked.get("rdzv-backend")
    return backend is not None and backend.value.literal == "c10d"


def _may_be_told(command: Command) -> bool:
    """Return whether words that are not known may be options; a value of one is none."""
    before = ""
    for word in command.words:
        takes = before.startswith("--") and "=" not in before
        if word.text and word.text[0].hole and word.is_loose and not takes:
            return True
        before = word.shown
    return False


def _nodes(command: Command, job: Job) -> int | None:
    """Return on how many nodes a step certainly starts *command*."""
    step = job.model.step_of(command)
    if step is None or step.is_open or command.scope not in ("task", "container"):
        return None
    if STEP_SIZES & step.options.keys():
        return None
    return job.shape.nodes


def _size(command: Command, asked: Mapping[str, Option], job: Job) -> Iterator[Fault]:
    """Yield where the number of nodes is written out, and is another."""
    count, nodes = asked.get("nnodes"), _nodes(command, job)
    said, step = count.value.literal if count else None, job.model.step_of(command)
    number = whole_number(said)
    if not (count and number is not None and step and nodes and nodes > 1):
        return
    shape = step_shape(step, job.shape)
    # With one process each, every task may be a node of its own.
    sizes = {nodes, shape.tasks, (shape.per_node or 1) * nodes}
    if number not in sizes:
        yield Fault(count.value.at, {"said": said, "nodes": nodes}, "count")


def _idle(command: Command, asked: Mapping[str, Option], job: Job) -> Iterator[Fault]:
    """Yield options that are the same for all jobs, differ in each task, or do nothing."""
    name = asked.get("rdzv-id")
    literal_id = name.value.literal if name else None
    if name and literal_id and "$" not in literal_id:
        yield Fault(name.value.at, {"value": literal_id})
    elif name and (_nodes(command, job) or 1) > 1:
        for hole in holes(name.value.text):
            if hole.scope in ("task", "container") and hole.name in ("RANDOM", "$"):
                yield Fault(hole.at, {}, "own-id")
    for each in {"node-rank", "master-addr"} & asked.keys() if _is_c10d(asked) else ():
        # What is not certainly one word, as what Slurm sets is, may be no value.
        loose = [hole.name for hole in holes(asked[each].value.text) if hole.loose]
        if all(name.startswith("SLURM_") for name in loose):
            said = [(w.shown.replace("_", "-"), w.at) for w in command.words]
            at = next(at for word, at in said if word.startswith(f"--{each}"))
            yield Fault(at, {"name": each}, "unread")
