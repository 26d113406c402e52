"""What of all this a person should look at: nodes, GPUs and interfaces that stand out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import mean, median
from typing import NamedTuple

from envcfg.findings import Finding, Severity
from envcfg.log.numbers import count_of, number_ranges, said_of
from envcfg.monitor.board import NodeView
from envcfg.probe.sample import Counter

_SLOW = 0.5  # of what the GPUs of the other nodes do
_BUSY = 20.0  # percent that those of the others must do, or nobody works
_CROWDED = 1.5  # load for each core
_FULL = 0.95  # of the node's memory
_TRAFFIC = 10e6  # bytes per second; below, an interface carries nothing that matters


class Wanted(NamedTuple):
    """What the nodes should have.

    Attributes:
        asked_gpus: GPUs of each node, as the job asked for them; None: not so, or none.
        whole_gpus: GPUs of a whole node of this system; None: not known.
        interfaces: that should carry the traffic; none: not known.
        profile: the name of the profile that says so.
    """

    asked_gpus: int | None = None
    whole_gpus: int | None = None
    interfaces: tuple[str, ...] = ()
    profile: str = ""


def find_marks(
    nodes: Sequence[NodeView], wanted: Wanted, *, idle_below: float
) -> list[Finding]:
    """Return what stands out, errors first, then in the order of the nodes."""
    usual = _usual_use(nodes)
    found = [
        finding
        for node in nodes
        for finding in _of_node(node, wanted, usual, idle_below=idle_below)
    ]
    order = ("error", "warning", "note")
    return sorted(found, key=lambda finding: order.index(finding.severity))


def by_host(
    nodes: Sequence[NodeView], marks: Sequence[Finding]
) -> dict[str, list[Finding]]:
    """Return *marks* by the host of each node, in their order."""
    return {
        node.host: [each for each in marks if each.subject == node.host]
        for node in nodes
    }


def _of_node(
    node: NodeView, wanted: Wanted, usual: float | None, *, idle_below: float
) -> Iterator[Finding]:
    host = node.host
    if node.is_silent:
        since = "" if node.age is None else f" for {node.age:.0f} s"
        fix = f"scontrol show node {host}; the last numbers are old"
        yield Finding("node-silent", "error", host, f"did not answer{since}", fix)
        return
    yield from _of_gpus(node, wanted, idle_below=idle_below)
    use = _use(node)
    if usual is not None and use is not None and use < _SLOW * usual:
        said = f"its GPUs are used {use:.0f} %, those of the others {usual:.0f} %"
        fix = "compare load, memory and network with those of the other nodes"
        yield Finding("node-slow", "warning", host, said, fix)
    yield from _of_host(node)
    yield from _of_network(node, wanted)


def _of_gpus(node: NodeView, wanted: Wanted, *, idle_below: float) -> Iterator[Finding]:
    host = node.host
    expected, who = _expected(node, wanted)
    if node.tool_waits is not None:
        said = f"the tool of its GPUs did not answer for {node.tool_waits:.0f} s"
        fix = "a GPU or its driver may hang: say so to the site's support"
        yield Finding("gpu-tool-waits", "warning", host, said, fix)
    elif node.problem and node.tool != "none":
        severity: Severity = "error" if expected else "warning"
        fix = "a GPU may be lost: say so to the site's support"
        said = f"{node.tool}: {node.problem}"
        yield Finding("gpu-tool-fails", severity, host, said, fix)
    missing = expected - len(node.gpus) if node.tool is not None else 0
    if missing > 0 and node.tool == "none":
        said = (
            f"{count_of(expected, 'GPU')} should be here ({who}), and neither "
            "nvidia-smi, rocm-smi nor amd-smi is"
        )
        fix = "put the tool on PATH before envcfg monitor: the nodes have it from here"
        yield Finding("gpu-unseen", "warning", host, said, fix)
    elif missing > 0:
        said = f"{count_of(len(node.gpus), 'GPU')} of {expected} ({who}) can be seen"
        fix = f"leave the node out next time: sbatch --exclude={host}"
        yield Finding("gpu-missing", "error", host, said, fix)
    unknown = [each.gpu.number for each in node.gpus if each.gpu.use is None]
    if unknown:
        said = f"nothing is known of the use of {_named(unknown, node)}"
        yield Finding("gpu-unknown", "warning", host, said)
    idle = [each.gpu.number for each in node.gpus if each.is_idle]
    if idle:
        verb = said_of(len(idle), "are")
        said = f"{_named(idle, node)} {verb} idle (below {idle_below:g} %)"
        fix = "a rank that waits, has ended, or is bound to another GPU"
        yield Finding("gpu-idle", "warning", host, said, fix)


def _expected(node: NodeView, wanted: Wanted) -> tuple[int, str]:
    """Return how many GPUs the node should show, and who says so; 0 where nobody does.

    A profile knows whole nodes. A job of which nothing is known may use a part of one, or
    no GPU at all.
    """
    if wanted.asked_gpus is not None:
        return wanted.asked_gpus, "the job asked for them"
    if node.allotted is not None:
        return node.allotted, "Slurm gave them to the job"
    if wanted.whole_gpus is not None and node.gpus:
        return wanted.whole_gpus, f"profile {wanted.profile}"
    return 0, ""


def _named(indices: Sequence[int], node: NodeView) -> str:
    noun = "GPU" if len(indices) == 1 else "GPUs"
    return f"{noun} {number_ranges(indices)} (of {len(node.gpus)})"


def _of_host(node: NodeView) -> Iterator[Finding]:
    sample = node.sample
    if sample is None:
        return
    cores = sample.cores or 0
    if cores and sample.load is not None and sample.load > _CROWDED * cores:
        said = f"the load is {sample.load:.0f} on {cores} cores"
        fix = "too many threads: OMP_NUM_THREADS, workers of data loaders"
        yield Finding("load-high", "warning", node.host, said, fix)
    if sample.memory_used is not None and sample.memory_total:
        share = sample.memory_used / sample.memory_total
        if share > _FULL:
            said = f"{100 * share:.0f} % of the node's memory is used"
            fix = "processes may be killed; files in /tmp may count as well"
            yield Finding("memory-full", "warning", node.host, said, fix)


def _of_network(node: NodeView, wanted: Wanted) -> Iterator[Finding]:
    fitting = _fitting(node.links, wanted)
    if not fitting:
        return
    fast = sum(fitting.values())
    slow = {
        link.name: link.rate
        for link in node.links
        if not _is_wanted(link, wanted) and link.name != "lo"
    }
    # The largest, not the sum: a bond or bridge counts what its parts have counted.
    name = max(slow, key=lambda each: slow[each], default=None)
    if name is not None and slow[name] > max(_TRAFFIC, fast):
        said = (
            f"{name} carries {slow[name] / 1e6:.0f} MB/s, {', '.join(wanted.interfaces)} "
            f"{fast / 1e6:.0f} MB/s (profile {wanted.profile})"
        )
        fix = (
            "envcfg check-log says which network the ranks use; files that are read "
            "over this interface count as well"
        )
        yield Finding("wrong-interface", "warning", node.host, said, fix)


def _is_wanted(link: Counter, wanted: Wanted) -> bool:
    return link.name in wanted.interfaces or link.interface in wanted.interfaces


def _fitting(links: Sequence[Counter], wanted: Wanted) -> dict[str, float]:
    """Return the traffic of each wanted interface; its adapter counts the same bytes."""
    found: dict[str, float] = {}
    for link in links:
        if _is_wanted(link, wanted):
            name = link.interface or link.name
            found[name] = max(found.get(name, 0.0), link.rate)
    return found


def _use(node: NodeView) -> float | None:
    """Return the mean use of a node's GPUs."""
    known = [each.gpu.use for each in node.gpus if each.gpu.use is not None]
    return mean(known) if known else None


def _usual_use(nodes: Sequence[NodeView]) -> float | None:
    """Return what the GPUs of a usual node do; None where nobody works, or of one node."""
    known = [
        use for node in nodes if not node.is_silent and (use := _use(node)) is not None
    ]
    if len(known) < 2:
        return None
    usual = max(known) if len(known) == 2 else median(known)
    return usual if usual >= _BUSY else None
