"""How many nodes, GPUs, tasks, cores and how much memory a job asks for; pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from envcfg.datafile import finding_in
from envcfg.errors import FindingsError
from envcfg.findings import Finding
from envcfg.launch.plan import Plan
from envcfg.launchers import LAUNCHERS, is_local
from envcfg.profile.facts import Reason
from envcfg.profile.model import Node, Profile
from envcfg.profile.scheduler import UNASKED
from envcfg.request.amounts import mebibytes, size_text

# Options that ask for the same thing: a rule against one is a rule against asking.
_ASKING = {
    "tasks": ("--ntasks", "--ntasks-per-node"),
    "cores": ("--cpus-per-task", "--cpus-per-gpu"),
    "memory": ("--mem", "--mem-per-gpu", "--mem-per-cpu"),
}


class Signal(NamedTuple):
    """A signal and how many seconds before the time limit it comes."""

    name: str
    seconds: int


class Asked(NamedTuple):
    """What the user asks of the scheduler, checked for form only.

    Attributes:
        gpus: in all; *gpus_per_node*: on each node.
        memory_per_gpu: as Slurm takes it, ``60G``.
        nvme: GiB of local disk on each node.
        seconds: the time limit.
        named: values of other options by option, such as ``--account``.
        requeue: warned before its end, the job saves and starts again.
        restarts: how often it may, at most, where its step fails; 0: not for that.
        extra: options as they stand, such as ``--reservation=x``.
    """

    nodes: int | None = None
    gpus: int | None = None
    gpus_per_node: int | None = None
    cpus_per_gpu: int | None = None
    memory_per_gpu: str | None = None
    nvme: int | None = None
    seconds: int | None = None
    exclusive: bool = False
    requeue: bool = False
    restarts: int = 0
    signal: Signal | None = None
    named: Mapping[str, str] = {}
    extra: tuple[str, ...] = ()


class Shape(NamedTuple):
    """What each of a job's nodes gives to it; memory in MiB, local disk in GiB.

    Attributes:
        tasks: that srun starts on a node.
        cores: None where nobody says, as *memory*.
        asks_tasks: whether the site lets a job name them; *asks_cores*, *asks_memory*.
    """

    nodes: int
    gpus: int
    tasks: int
    cores: int | None
    memory: int | None
    nvme: int
    asks_tasks: bool
    asks_cores: bool
    asks_memory: bool

    @property
    def cores_per_task(self) -> int | None:
        """How many cores each task gets; at least one."""
        return None if self.cores is None else max(1, self.cores // self.tasks)


class RequestError(FindingsError):
    """A request that the system would refuse; carries all that is wrong with it."""


def refused(which: str, reason: Reason | None = None, /, **words: object) -> Finding:
    """Return one thing for which the system would refuse the job, and the remedy.

    Who says so stands in its source, not in its sentence.

    Args:
        which: of the texts of ``findings.yaml``, filled with *words*.
    """
    found = finding_in("request", "request-refused", "", which, **words)
    return found._replace(source=reason.cited if reason else None)


def tasks_per_node(launcher: str, gpus: int, ranks: int | None) -> int:
    """Return how many tasks srun is to start on a node of *gpus* GPUs."""
    is_one = is_local(launcher) or LAUNCHERS[launcher].has_node
    return 1 if is_one else ranks or gpus


def may_ask(profile: Profile, what: str) -> bool:
    """Tell whether the site lets a job name its ``tasks``, ``cores`` or ``memory``.

    A rule against one value of an option is none against the option.
    """
    rules = (profile.rules.get(option) for option in _ASKING[what])
    return not any(
        rule and rule.rule == "must not" and rule.value is None for rule in rules
    )


def shape_of(profile: Profile, plan: Plan, asked: Asked) -> tuple[Shape, list[Finding]]:
    """Return the shape of the job, and what is wrong with what was asked for.

    Raises:
        RequestError: nobody says how many GPUs a node has, or they do not divide.
    """
    nodes, gpus = _nodes_and_gpus(profile, asked)
    node = profile.node
    cores = asked.cpus_per_gpu or (node.cores_per_gpu if node else None)
    memory = asked.memory_per_gpu or (node.memory_per_gpu if node else None)
    shape = Shape(
        nodes=nodes,
        gpus=gpus,
        tasks=tasks_per_node(plan.launcher, gpus, plan.ranks),
        cores=cores and cores * gpus,
        memory=mebibytes(memory) * gpus if memory else None,
        nvme=asked.nvme or 0,
        asks_tasks=may_ask(profile, "tasks"),
        asks_cores=may_ask(profile, "cores"),
        asks_memory=may_ask(profile, "memory"),
    )
    refusals = [*_beyond_node(node, asked, gpus), *_unasked(profile, gpus)]
    return shape, refusals


def _nodes_and_gpus(profile: Profile, asked: Asked) -> tuple[int, int]:
    """Return the nodes, and the GPUs on each."""
    has = profile.node.gpus if profile.node else None
    total, each = asked.gpus, asked.gpus_per_node
    if total and each is None and (asked.nodes or has):
        nodes = asked.nodes or -(-total // (has or total))
        each = total // nodes
        if each == 0 or total != nodes * each:
            raise RequestError([refused("gpus-undivided", gpus=total, nodes=nodes)])
        return nodes, each
    each = each or total or has
    if each is None:
        raise RequestError([refused("gpus-unknown", profile=profile.name)])
    nodes = asked.nodes or max(1, (total or each) // each)
    if total not in {None, nodes * each}:
        raise RequestError([refused("gpus-undivided", gpus=total, nodes=nodes)])
    return nodes, each


def _unasked(profile: Profile, gpus: int) -> Iterator[Finding]:
    """Yield that a job cannot have some of a node's GPUs, where they are not asked for."""
    asking, node = profile.request, profile.node
    if asking and asking.gpus == UNASKED and node and gpus < node.gpus:
        yield refused("gpus-unnamed", asking.reason, gpus=gpus, all=node.gpus)


def gpus_beyond(node: Node, gpus: int) -> Finding | None:
    """Return that a node does not have so many GPUs, if it does not."""
    if gpus <= node.gpus:
        return None
    return refused("gpus-of-node", node.reason, gpus=gpus, most=node.gpus)


def _beyond_node(node: Node | None, asked: Asked, gpus: int) -> Iterator[Finding]:
    if node is None:
        return
    if beyond := gpus_beyond(node, gpus):
        yield beyond
        return
    cores = (node.cores_per_gpu or 0) * node.gpus
    if cores and (asked.cpus_per_gpu or 0) * gpus > cores:
        words = {"each": asked.cpus_per_gpu, "gpus": gpus, "cores": cores}
        yield refused("cores-of-node", node.reason, most=cores // gpus, **words)
    if node.memory_per_gpu and asked.memory_per_gpu:
        most = mebibytes(node.memory_per_gpu) * node.gpus
        wanted = mebibytes(asked.memory_per_gpu) * gpus
        if wanted > most:
            sizes = {"asked": wanted, "most": most, "each": most // gpus}
            said = {name: size_text(each) for name, each in sizes.items()}
            yield refused("memory-of-node", node.reason, **said)
