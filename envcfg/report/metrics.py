"""Measurements as OpenMetrics text, for node-exporter's textfile collector.

All metrics are gauges without a time, because that collector refuses times, and reads the
older text format, which knows neither ``info`` nor ``stateset``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from envcfg.common.characters import without_surrogates
from envcfg.common.datafile import load_yaml
from envcfg.common.findings import Finding
from envcfg.nodes.monitor.node_board import NodeView

_ESCAPES = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})


class Sample(NamedTuple):
    """A value of a metric; *labels* without the common ones."""

    name: str
    value: float
    labels: Mapping[str, object]


def metrics_text(samples: Iterable[Sample], common: Mapping[str, object]) -> str:
    """Return *samples* as OpenMetrics text, each with the labels *common* too."""
    texts: Mapping[str, str] = load_yaml(f"{__file__.removesuffix('.py')}.yaml")
    # A series may have one value only, so the last one counts.
    series: dict[str, dict[str, float]] = {}
    for name, value, labels in samples:
        words = ",".join(
            f'{label}="{_label(text)}"' for label, text in {**common, **labels}.items()
        )
        series.setdefault(name, {})[f"{name}{{{words}}}"] = value
    lines = []
    for name, text in texts.items():
        if name in series:
            lines += [f"# HELP {name} {text}", f"# TYPE {name} gauge"]
            lines += [f"{key} {float(value)!r}" for key, value in series[name].items()]
    return "\n".join([*lines, "# EOF\n"])


def _label(value: object) -> str:
    # The format is UTF-8, and texts of logs may hold undecodable bytes.
    return without_surrogates(str(value)).translate(_ESCAPES)


def node_samples(
    nodes: Sequence[NodeView], findings: Sequence[Finding]
) -> Iterator[Sample]:
    """Yield the measurements of nodes; an unknown value has no sample."""
    for node in nodes:
        for name, value, labels in _of_node(node):
            if value is not None:
                yield Sample(f"envcfg_{name}", value, {"node": node.host, **labels})
    yield from finding_samples(findings)


def finding_samples(findings: Iterable[Finding]) -> Iterator[Sample]:
    """Yield the errors and warnings on nodes, once for each node and rule."""
    for node, rule, severity in dict.fromkeys(
        (finding.subject, finding.rule, finding.severity) for finding in findings
    ):
        name = "bad" if severity == "error" else "finding"
        yield Sample(f"envcfg_node_{name}", 1, {"node": node, "rule": rule})


def _of_node(
    node: NodeView,
) -> Iterator[tuple[str, float | None, Mapping[str, object]]]:
    yield "node_up", not node.is_silent, {}
    # The last values of a silent node would look like new ones.
    if node.is_silent or node.sample is None:
        return
    yield "node_load", node.sample.load, {}
    yield "node_cores", node.sample.cores, {}
    yield "node_memory_used_bytes", node.sample.memory_used, {}
    yield "node_memory_bytes", node.sample.memory_total, {}
    for link in node.links:
        kind = "adapter" if link.is_adapter else "interface"
        labels = {"interface": link.name, "kind": kind}
        yield "interface_received_bytes_per_second", link.received_rate, labels
        yield "interface_sent_bytes_per_second", link.sent_rate, labels
    # A tool that hangs or is missing has no GPUs to count.
    if node.tool in (None, "none") or node.tool_waits is not None or node.problem:
        return
    yield "node_gpus", len(node.gpus), {}
    uses = [gpu.gpu.use for gpu in node.gpus]
    # The number of idle GPUs is unknown if the use of any GPU is unknown.
    if None not in uses:
        yield "node_gpus_idle", sum(gpu.is_idle for gpu in node.gpus), {}
    for gpu in (view.gpu for view in node.gpus):
        labels = {"gpu": f"{gpu.number}"}
        yield "gpu_use_ratio", None if gpu.use is None else gpu.use / 100, labels
        yield "gpu_memory_used_bytes", gpu.memory_used, labels
        yield "gpu_memory_bytes", gpu.memory_total, labels
        yield "gpu_power_watts", gpu.power, labels
