"""Metrics as Prometheus' own library reads them, in both of its formats."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envcfg.common.datafile import load_yaml
from envcfg.common.findings import Finding
from envcfg.nodes.monitor.node_board import GpuView, NodeView
from envcfg.nodes.probe.gpu import Gpu
from envcfg.nodes.probe.sample import Counter, NodeSample
from envcfg.report import metrics
from envcfg.report.metrics import Sample, metrics_text, node_samples

parser = pytest.importorskip("prometheus_client.parser")
openmetrics = pytest.importorskip("prometheus_client.openmetrics.parser")
NAMES: Mapping[str, str] = load_yaml(metrics.__file__.replace(".py", ".yaml"))
HOSTILE = 'a"b\\n\\\nc{}#,= é\x1b\x00'
Series = dict[tuple[str, frozenset[tuple[str, str]]], float]


def parsed(text: str, *, is_open: bool) -> Series:
    reader = openmetrics if is_open else parser
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in reader.text_string_to_metric_families(text)
        for sample in family.samples
    }


def series(text: str) -> Series:
    """Return the samples, which both formats must read in the same way."""
    samples = parsed(text, is_open=True)
    assert samples == parsed(text, is_open=False)
    return samples


def key(name: str, **labels: str) -> tuple[str, frozenset[tuple[str, str]]]:
    return f"envcfg_{name}", frozenset(labels.items())


NODE = NodeView(
    "nid001",
    NodeSample("nid001", 1, 0.0, load=1.5, cores=64, memory_used=5, memory_total=2**40),
    0.0,
    is_silent=False,
    links=(Counter("hsn0", 1, 2, received_rate=1e9, sent_rate=None),),
    tool="nvidia-smi",
    gpus=(GpuView(Gpu(0, 98.0, 1, 2, 300.0)), GpuView(Gpu(1, 0.0), is_idle=True)),
)


def test_the_values_of_a_node_are_metrics() -> None:
    idle = Finding("gpu-idle", "warning", "nid001", "GPU 1 is idle")
    samples = series(metrics_text(node_samples([NODE], [idle, idle]), {"job": "7"}))
    common = {"job": "7", "node": "nid001"}
    assert samples[key("node_gpus", **common)] == 2
    assert samples[key("node_gpus_idle", **common)] == 1
    assert samples[key("gpu_use_ratio", gpu="0", **common)] == 0.98
    assert samples[key("gpu_use_ratio", gpu="1", **common)] == 0
    assert samples[key("node_memory_bytes", **common)] == 2**40
    assert samples[key("node_finding", rule="gpu-idle", **common)] == 1
    labels = {"interface": "hsn0", "kind": "interface", **common}
    assert samples[key("interface_received_bytes_per_second", **labels)] == 1e9
    # An unknown value is absent, and never 0.
    assert key("interface_sent_bytes_per_second", **labels) not in samples
    assert key("gpu_power_watts", gpu="1", **common) not in samples


@pytest.mark.parametrize(
    ("node", "rest"),
    [
        (NodeView("n"), set()),
        (NODE._replace(host="n", is_silent=True), set()),
        (NODE._replace(host="n", problem="GPU is lost"), {"node_load"}),
        (NODE._replace(host="n", tool_waits=9.0), {"node_load"}),
        (NODE._replace(host="n", tool="none", gpus=()), {"node_load"}),
        (
            NODE._replace(host="n", gpus=(GpuView(Gpu(0)),)),
            {"node_load", "node_gpus"},
        ),
    ],
)
def test_what_is_unknown_is_no_number(node: NodeView, rest: set[str]) -> None:
    samples = series(metrics_text(node_samples([node], []), {}))
    names = {name.removeprefix("envcfg_") for name, _ in samples}
    assert ("node_load" in names, "node_gpus" in names) == (
        "node_load" in rest,
        "node_gpus" in rest,
    )
    assert "node_gpus_idle" not in names
    assert samples[key("node_up", node="n")] == (not node.is_silent)


@given(st.text(), st.floats(allow_nan=False, allow_infinity=False))
def test_any_text_is_a_label(text: str, value: float) -> None:
    sample = Sample("envcfg_node_load", value, {"node": text})
    ((_, labels), number) = next(
        iter(parsed(metrics_text([sample], {}), is_open=True).items())
    )
    assert dict(labels)["node"] == text.encode("utf-8", "replace").decode()
    assert number == value


def test_a_hostile_label_adds_no_line() -> None:
    text = metrics_text([Sample("envcfg_node_load", 1, {"node": HOSTILE})], {})
    assert text.count("\n") == 4
    assert series(text)[key("node_load", node=HOSTILE)] == 1


def test_an_empty_answer_is_valid() -> None:
    assert metrics_text([], {}) == "# EOF\n"
    assert series("# EOF\n") == {}
