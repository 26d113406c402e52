"""Outliers for the user's attention: nodes, GPUs and interfaces."""

import re
from collections.abc import Iterator, Sequence
from statistics import fmean, median
from typing import NamedTuple

from envcfg.common.findings import SEVERITIES, Finding, finding_in
from envcfg.log.numbers import count_of, number_ranges, said_of
from envcfg.nodes.monitor.node_board import NodeView
from envcfg.nodes.probe.links import links_text, lost_links

_SLOW = 0.5  # share of the GPU use on the other nodes
_BUSY = 20.0  # percent of use on other nodes that shows that the job computes
_CROWDED = 1.5  # load per core
_THREADS = 2  # of each rank, beyond the cores of a small node
_FULL = 0.95  # share of the node's memory
# Errors of a GPU's memory since the first look. Single ones are corrected all the time.
_LEAST_ERRORS = {"corrected": 10, "uncorrected": 1}
_TRAFFIC = 10e6  # bytes per second; less traffic on an interface has no effect


# Rules about values that are missing: the node may be good or bad.
UNKNOWN = frozenset(
    {"node-silent", "gpu-tool-waits", "gpu-tool-fails", "gpu-unseen", "gpu-unknown"}
)


class ExpectedNodes(NamedTuple):
    """The requirements on the nodes."""

    # GPUs of each node that the job requested; None: another request or none.
    asked_gpus: int | None = None
    whole_gpus: int | None = None  # GPUs of a whole node of this system; None: unknown
    # GPUs of the other nodes, if the request is unknown; 0: unknown.
    usual_gpus: int = 0
    interfaces: tuple[str, ...] = ()  # interfaces for the traffic; empty: unknown
    profile: str = ""


class NodeFinding(NamedTuple):
    """A finding on a node."""

    finding: Finding
    gpus: tuple[int, ...] = ()  # in question, as the node's tool counts them
    ranks: tuple[int, ...] = ()  # that use these GPUs; empty if they are unknown

    @property
    def kind(self) -> str:
        """The id of its rule."""
        return self.finding.rule

    @property
    def node(self) -> str:
        """The name of the node."""
        return self.finding.subject

    @property
    def is_unknown(self) -> bool:
        """Whether values are missing, so that the node may be good or bad."""
        return self.kind in UNKNOWN

    @property
    def key(self) -> tuple[object, ...]:
        """The finding without its measured numbers."""
        text = re.sub("[0-9.]+", "", self.finding.message)
        return self.kind, self.node, self.gpus, self.ranks, text


def find_marks(
    nodes: Sequence[NodeView], requirements: ExpectedNodes, *, idle_below: float
) -> list[Finding]:
    """Return the outliers, errors first, then in the order of the nodes."""
    return [mark.finding for mark in marks(nodes, requirements, idle_below=idle_below)]


def marks(
    nodes: Sequence[NodeView], requirements: ExpectedNodes, *, idle_below: float
) -> list[NodeFinding]:
    """Return the outliers of ``find_marks``, each with its GPUs."""
    usual = _usual_use(nodes)
    most: dict[frozenset[str | None], int] = {}  # GPUs of a node, by their models
    for node in nodes:
        models = _models(node)
        most[models] = max(len(node.gpus), most.get(models, 0))
    result: list[NodeFinding] = []
    answers = {
        node.host: dict(node.sample.states)
        for node in nodes
        if node.sample and not node.is_silent
    }
    lost = lost_links(answers)
    for node in nodes:
        if node.is_silent:
            since = "" if node.age is None else f" for {node.age:.0f} s"
            result.append(make_mark("node-silent", node, since=since))
            # A silent node's old values would produce wrong findings.
            continue
        if names := lost.get(node.host):
            result.append(make_mark("link-down", node, links=links_text(names)))
        result += _of_gpus(node, requirements, idle_below=idle_below)
        is_unclear = requirements.usual_gpus and not _expected(node, requirements)[0]
        usual_count = most[_models(node)]
        if is_unclear and len(node.gpus) < usual_count:
            gpus = count_of(len(node.gpus), "GPU")
            result.append(
                make_mark("gpu-unseen", node, "fewer", gpus=gpus, usual=usual_count)
            )
        use = _use(node)
        if usual is not None and use is not None and use < _SLOW * usual:
            result.append(make_mark("node-slow", node, use=use, usual=usual))
        # Threads that wait for a lost node may spin, and are no cause.
        result += [
            mark for mark in _of_host(node) if not lost or mark.kind != "load-high"
        ]
        result += _of_network(node, requirements)
    return sorted(result, key=lambda mark: SEVERITIES.index(mark.finding.severity))


def make_mark(
    rule: str, node: NodeView, which: str = "", /, *numbers: int, **words: object
) -> NodeFinding:
    """Return the finding of *rule* about a node, and about its GPUs of these *numbers*."""
    finding = finding_in(
        "nodes/monitor", rule, node.host, which, host=node.host, **words
    )
    return NodeFinding(finding, numbers)


def by_host(
    nodes: Sequence[NodeView], marks: Sequence[Finding]
) -> dict[str, list[Finding]]:
    """Return *marks* by the host of each node, in their order."""
    return {
        node.host: [mark for mark in marks if mark.subject == node.host]
        for node in nodes
    }


def _of_gpus(
    node: NodeView, requirements: ExpectedNodes, *, idle_below: float
) -> Iterator[NodeFinding]:
    expected, source = _expected(node, requirements)
    if node.tool_waits is not None:
        yield make_mark("gpu-tool-waits", node, seconds=node.tool_waits)
    elif node.problem and node.tool != "none":
        which = "expected" if expected else ""
        yield make_mark(
            "gpu-tool-fails", node, which, tool=node.tool, problem=node.problem
        )
    # A tool that fails may list no GPU, and one of its answers may be torn.
    is_list = node.gpus or not node.problem
    missing = expected - len(node.gpus) if node.tool is not None and is_list else 0
    if missing > 0 and node.tool == "none":
        yield make_mark("gpu-unseen", node, gpus=count_of(expected, "GPU"), who=source)
    elif missing > 0:
        gpus = count_of(len(node.gpus), "GPU")
        yield make_mark("gpu-missing", node, gpus=gpus, expected=expected, who=source)
    if unknown := [gpu.number for gpu in node.gpus if gpu.use is None]:
        yield make_mark(
            "gpu-unknown", node, "", *unknown, gpus=_gpu_text(unknown, node)
        )
    if idle := [gpu.number for gpu in node.gpus if gpu.is_idle]:
        words = {"gpus": _gpu_text(idle, node), "are": said_of(len(idle), "are")}
        yield make_mark("gpu-idle", node, "", *idle, **words, below=idle_below)
    for gpu in node.gpus:
        for which, least in _LEAST_ERRORS.items():
            if (errors := getattr(gpu, which) or 0) >= least:
                count = count_of(errors, f"{which} error")
                words = {"gpu": f"GPU {gpu.number}", "count": count}
                yield make_mark("gpu-memory-errors", node, which, gpu.number, **words)


def _expected(node: NodeView, requirements: ExpectedNodes) -> tuple[int, str]:
    """Return the expected number of GPUs and its source; 0 if it is unknown.

    A profile describes whole nodes. An unknown job may use a part of a node, or no GPU.
    """
    if requirements.asked_gpus is not None:
        return requirements.asked_gpus, "the job asked for them"
    if node.allotted is not None:
        return node.allotted, "Slurm gave them to the job"
    # A node without visible GPUs may not be a GPU node at all.
    if requirements.whole_gpus is not None and node.gpus:
        return requirements.whole_gpus, f"profile {requirements.profile}"
    if node.tool == "none":
        return requirements.usual_gpus, "other nodes have them"
    return 0, ""


def _gpu_text(indices: Sequence[int], node: NodeView) -> str:
    noun = "GPU" if len(indices) == 1 else "GPUs"
    return f"{noun} {number_ranges(indices)} (of {len(node.gpus)})"


def _of_host(node: NodeView) -> Iterator[NodeFinding]:
    sample = node.sample
    if sample is None:
        return
    cores = sample.cores or 0
    ranks = len(sample.ranks) or len(node.gpus)
    most = max(_CROWDED * cores, cores + _THREADS * ranks)
    if cores and sample.load is not None and sample.load > most:
        yield make_mark("load-high", node, load=sample.load, cores=cores)
    if sample.memory_used is not None and sample.memory_total:
        share = sample.memory_used / sample.memory_total
        if share > _FULL:
            yield make_mark("memory-full", node, share=100 * share)


def _of_network(node: NodeView, requirements: ExpectedNodes) -> Iterator[NodeFinding]:
    fitting: dict[str, float] = {}  # an adapter counts the same bytes as its interface
    slow: dict[str, float] = {}
    for link in node.links:
        if (
            link.name in requirements.interfaces
            or link.interface in requirements.interfaces
        ):
            name = link.interface or link.name
            fitting[name] = max(fitting.get(name, 0.0), link.rate)
        elif link.name != "lo":
            slow[link.name] = link.rate
    # The largest, not the sum: a bond or bridge repeats the bytes of its parts.
    most = max(slow, key=lambda name: slow[name], default="")
    fast = sum(fitting.values())
    if fitting and most and slow[most] > max(_TRAFFIC, fast):
        words = {"slow": most, "much": slow[most] / 1e6, "fast": fast / 1e6}
        names = ", ".join(requirements.interfaces)
        yield make_mark(
            "wrong-interface", node, **words, wanted=names, profile=requirements.profile
        )


def _models(node: NodeView) -> frozenset[str | None]:
    return frozenset(gpu.name for gpu in node.gpus)


def _use(node: NodeView) -> float | None:
    """Return the mean use of a node's GPUs."""
    uses = [gpu.use for gpu in node.gpus if gpu.use is not None]
    return fmean(uses) if uses else None


def _usual_use(nodes: Sequence[NodeView]) -> float | None:
    """Return the GPU use of a typical node; None if all are idle, or for a single node."""
    uses = [
        use for node in nodes if not node.is_silent and (use := _use(node)) is not None
    ]
    if len(uses) < 2:
        return None
    # With two nodes the busier one is usual; a median would hide the slow one.
    usual = max(uses) if len(uses) == 2 else median(uses)
    return usual if usual >= _BUSY else None
