"""What of all this a person should look at: nodes, GPUs and interfaces that stand out."""

from collections.abc import Iterator, Sequence
from statistics import mean, median
from typing import NamedTuple

from envcfg.datafile import finding_in
from envcfg.findings import Finding
from envcfg.log.numbers import count_of, number_ranges, said_of
from envcfg.monitor.board import NodeView

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
    found: list[Finding] = []
    for node in nodes:
        if node.is_silent:
            since = "" if node.age is None else f" for {node.age:.0f} s"
            found.append(_say("node-silent", node, since=since))
            continue
        found += _of_gpus(node, wanted, idle_below=idle_below)
        use = _use(node)
        if usual is not None and use is not None and use < _SLOW * usual:
            found.append(_say("node-slow", node, use=use, usual=usual))
        found += _of_host(node)
        found += _of_network(node, wanted)
    order = ("error", "warning", "note")
    return sorted(found, key=lambda finding: order.index(finding.severity))


def _say(rule: str, node: NodeView, which: str = "", /, **words: object) -> Finding:
    return finding_in("monitor", rule, node.host, which, host=node.host, **words)


def by_host(
    nodes: Sequence[NodeView], marks: Sequence[Finding]
) -> dict[str, list[Finding]]:
    """Return *marks* by the host of each node, in their order."""
    return {
        node.host: [each for each in marks if each.subject == node.host]
        for node in nodes
    }


def _of_gpus(node: NodeView, wanted: Wanted, *, idle_below: float) -> Iterator[Finding]:
    expected, who = _expected(node, wanted)
    if node.tool_waits is not None:
        yield _say("gpu-tool-waits", node, seconds=node.tool_waits)
    elif node.problem and node.tool != "none":
        which = "expected" if expected else ""
        words = {"tool": node.tool, "problem": node.problem}
        yield _say("gpu-tool-fails", node, which, **words)
    missing = expected - len(node.gpus) if node.tool is not None else 0
    if missing > 0 and node.tool == "none":
        yield _say("gpu-unseen", node, gpus=count_of(expected, "GPU"), who=who)
    elif missing > 0:
        gpus = count_of(len(node.gpus), "GPU")
        yield _say("gpu-missing", node, gpus=gpus, expected=expected, who=who)
    if unknown := [each.gpu.number for each in node.gpus if each.gpu.use is None]:
        yield _say("gpu-unknown", node, gpus=_named(unknown, node))
    if idle := [each.gpu.number for each in node.gpus if each.is_idle]:
        are = said_of(len(idle), "are")
        yield _say("gpu-idle", node, gpus=_named(idle, node), are=are, below=idle_below)


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
        yield _say("load-high", node, load=sample.load, cores=cores)
    if sample.memory_used is not None and sample.memory_total:
        share = sample.memory_used / sample.memory_total
        if share > _FULL:
            yield _say("memory-full", node, share=100 * share)


def _of_network(node: NodeView, wanted: Wanted) -> Iterator[Finding]:
    fitting: dict[str, float] = {}  # an adapter counts the same bytes as its interface
    slow: dict[str, float] = {}
    for link in node.links:
        if link.name in wanted.interfaces or link.interface in wanted.interfaces:
            name = link.interface or link.name
            fitting[name] = max(fitting.get(name, 0.0), link.rate)
        elif link.name != "lo":
            slow[link.name] = link.rate
    # The largest, not the sum: a bond or bridge counts what its parts have counted.
    most = max(slow, key=lambda each: slow[each], default="")
    fast = sum(fitting.values())
    if fitting and most and slow[most] > max(_TRAFFIC, fast):
        words = {"slow": most, "much": slow[most] / 1e6, "fast": fast / 1e6}
        names = ", ".join(wanted.interfaces)
        yield _say(
            "wrong-interface", node, **words, wanted=names, profile=wanted.profile
        )


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
