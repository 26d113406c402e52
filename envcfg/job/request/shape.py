"""Compute the nodes, GPUs, tasks, cores and memory of a job; pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from envcfg.backends.launchers import LAUNCHERS, is_local
from envcfg.common.errors import FindingsError
from envcfg.common.findings import Finding, finding_in
from envcfg.job.plan.plan import Plan
from envcfg.job.request.amounts import mebibytes, size_text
from envcfg.profile.job_facts import Reason
from envcfg.profile.profile_model import NodeShape, Profile
from envcfg.profile.scheduler_settings import UNASKED

# Options for the same resource: a rule against one option is a rule against the
# resource.
_ASKING = {
    "tasks": ("--ntasks", "--ntasks-per-node"),
    "cores": ("--cpus-per-task", "--cpus-per-gpu"),
    "memory": ("--mem", "--mem-per-gpu", "--mem-per-cpu"),
}


class Signal(NamedTuple):
    """A signal, and its distance in seconds from the time limit."""

    name: str
    seconds: int


class UserRequest(NamedTuple):
    """The user's request to the scheduler, checked for form only."""

    nodes: int | None = None
    gpus: int | None = None  # the total; *gpus_per_node*: on each node
    gpus_per_node: int | None = None
    gpu_type: str = ""  # such as `a100`; empty: that of the profile, or any
    cpus_per_gpu: int | None = None
    mem_per_gpu: str | None = None  # in Slurm's form, `60G`
    nvme: int | None = None  # GiB of local disk on each node
    seconds: int | None = None
    exclusive: bool = False
    requeue: bool = False  # the job saves after the signal, and starts again
    restarts: int = 0  # the most restarts after a failed step; 0: no restart
    signal: Signal | None = None
    # Values of other options, by option, such as `--account`.
    other_options: Mapping[str, str] = {}
    excluded: str = ""  # nodes to leave out, in Slurm's form; *excluded_by*: their list
    excluded_by: str | None = None
    extra: tuple[str, ...] = ()  # unchanged options, such as `--reservation=x`


class Shape(NamedTuple):
    """The resources of each node of a job; memory in MiB, local disk in GiB."""

    nodes: int
    gpus: int
    tasks: int  # the number that srun starts on a node
    cores: int | None  # None if unknown, as for *memory*
    memory: int | None
    nvme: int
    asks_tasks: bool  # whether a job may request them here; *asks_cores*, *asks_memory*
    asks_cores: bool
    asks_memory: bool

    @property
    def cores_per_task(self) -> int | None:
        """How many cores each task gets; at least one."""
        # A task without a core cannot run, so the result is at least one.
        return None if self.cores is None else max(1, self.cores // self.tasks)


class RequestError(FindingsError):
    """A request that the system would refuse; carries all its errors."""


def refused(which: str, reason: Reason | None = None, /, **words: object) -> Finding:
    """Return one reason for which the system would refuse the job, and the remedy.

    The source of the rule is in the finding's source, not in its sentence.

    Args:
        which: the key of a text in ``findings.yaml``, filled with *words*.
    """
    finding = finding_in("job/request", "request-refused", "", which, **words)
    return finding._replace(source=reason.cited if reason else None)


def tasks_per_node(launcher: str, gpus: int, ranks: int | None) -> int:
    """Return how many tasks srun is to start on a node of *gpus* GPUs."""
    is_one = is_local(launcher) or LAUNCHERS[launcher].has_node
    # An agent is one task per node, and it starts the ranks itself.
    return 1 if is_one else ranks or gpus


def may_ask(profile: Profile, subject: str) -> bool:
    """Return whether the site lets a job name its ``tasks``, ``cores`` or ``memory``.

    A rule against one value does not forbid the option.
    """
    rules = (profile.rules.get(option) for option in _ASKING[subject])
    return not any(
        rule and rule.rule == "must not" and rule.value is None for rule in rules
    )


def shape_of(
    profile: Profile, plan: Plan, request: UserRequest
) -> tuple[Shape, list[Finding]]:
    """Return the shape of the job, and problems of the request.

    Raises:
        RequestError: the GPUs of a node are unknown, or the total does not divide
            evenly.
    """
    nodes, gpus = nodes_and_gpus(profile, request)
    node = profile.node
    cores = request.cpus_per_gpu or (node.cores_per_gpu if node else None)
    # Without a value, memory and cores stay unknown: the scheduler's default then
    # applies.
    memory = request.mem_per_gpu or (node.memory_per_gpu if node else None)
    shape = Shape(
        nodes=nodes,
        gpus=gpus,
        tasks=tasks_per_node(plan.launcher, gpus, plan.ranks),
        cores=cores and cores * gpus,
        # Memory is counted in MiB, because Slurm's suffixes are powers of 1,024.
        memory=mebibytes(memory) * gpus if memory else None,
        nvme=request.nvme or 0,
        asks_tasks=may_ask(profile, "tasks"),
        asks_cores=may_ask(profile, "cores"),
        asks_memory=may_ask(profile, "memory"),
    )
    refusals = [*_beyond_node(node, request, gpus), *_unasked(profile, gpus)]
    return shape, refusals


def _undivided(request: UserRequest, each: int) -> RequestError:
    """Return the error for a total that *each* GPUs per node do not give."""
    if request.nodes is None:
        return RequestError([refused("gpus-uneven", gpus=request.gpus, each=each)])
    words = {"gpus": request.gpus, "nodes": request.nodes}
    return RequestError([refused("gpus-undivided", **words)])


def nodes_and_gpus(profile: Profile, request: UserRequest) -> tuple[int, int]:
    """Return the nodes, and the GPUs on each."""
    has = profile.gpus
    total, per_node = request.gpus, request.gpus_per_node
    # The total decides, so the nodes are rounded up and the division must be exact.
    if total and per_node is None and (request.nodes or has):
        nodes = request.nodes or -(-total // (has or total))
        per_node = total // nodes
        if per_node == 0 or total != nodes * per_node:
            raise _undivided(request, has or total)
        return nodes, per_node
    per_node = per_node or total or has
    if per_node is None:
        raise RequestError([refused("gpus-unknown", profile=profile.name)])
    # A total smaller than one node still needs a node.
    nodes = request.nodes or max(1, (total or per_node) // per_node)
    if total not in {None, nodes * per_node}:
        raise _undivided(request, per_node)
    return nodes, per_node


def _unasked(profile: Profile, gpus: int) -> Iterator[Finding]:
    """Yield a refusal if a job wants some of a node's GPUs, but they cannot be
    requested."""
    asking, node = profile.request, profile.node
    # On a system that does not count GPUs, every job gets and pays all GPUs of its
    # nodes.
    if asking and asking.gpus == UNASKED and node and gpus < node.gpus:
        yield refused("gpus-unnamed", asking.reason, gpus=gpus, all=node.gpus)


def gpus_beyond(node: NodeShape, gpus: int) -> Finding | None:
    """Return the refusal of more GPUs than a node has; None if it has enough."""
    if gpus <= node.gpus:
        return None
    return refused("gpus-of-node", node.reason, gpus=gpus, most=node.gpus)


def _beyond_node(
    node: NodeShape | None, request: UserRequest, gpus: int
) -> Iterator[Finding]:
    if node is None:
        return
    if beyond := gpus_beyond(node, gpus):
        # More GPUs than the node has make the following sums meaningless.
        yield beyond
        return
    cores = (node.cores_per_gpu or 0) * node.gpus
    if cores and (request.cpus_per_gpu or 0) * gpus > cores:
        words = {"each": request.cpus_per_gpu, "gpus": gpus, "cores": cores}
        yield refused("cores-of-node", node.reason, most=cores // gpus, **words)
    if node.memory_per_gpu and request.mem_per_gpu:
        most = mebibytes(node.memory_per_gpu) * node.gpus
        memory = mebibytes(request.mem_per_gpu) * gpus
        if memory > most:
            sizes = {"asked": memory, "most": most, "each": most // gpus}
            size_texts = {name: size_text(size) for name, size in sizes.items()}
            yield refused("memory-of-node", node.reason, **size_texts)
