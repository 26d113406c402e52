"""How the nodes of a job are, as JSON for programs; docs/monitor.md says what it means."""

import time
from collections.abc import Sequence

from envcfg.findings import Finding
from envcfg.monitor.board import GpuView, NodeView
from envcfg.probe.sample import Counter
from envcfg.probe.slurm import SlurmJob
from envcfg.report.document import json_text

SCHEMA_VERSION = 1


def monitor_json(
    job: SlurmJob,
    nodes: Sequence[NodeView],
    findings: Sequence[Finding],
    *,
    indent: int | None,
) -> str:
    """Return one document, on one line where *indent* is None; what is unknown is null."""
    document = {
        "schema_version": SCHEMA_VERSION,
        "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "job": {"id": job.name, "user": job.user, "nodes": len(nodes)},
        "nodes": [_node(node) for node in nodes],
        "findings": findings,
    }
    return json_text(document, indent)


def _node(node: NodeView) -> dict[str, object]:
    sample = node.sample
    return {
        "name": node.host,
        "answers": not node.is_silent,
        "age_seconds": _rounded(node.age),
        "load": sample and sample.load,
        "cores": sample and sample.cores,
        "processor_use_percent": _rounded(node.processor_use),
        "memory_used_bytes": sample and sample.memory_used,
        "memory_total_bytes": sample and sample.memory_total,
        "gpu_tool": node.tool,
        "gpu_tool_waits_seconds": _rounded(node.tool_waits),
        "gpu_problem": node.problem,
        "gpus": [_gpu(each) for each in node.gpus],
        "gpus_of_others": node.others,
        "interfaces": [_link(link) for link in node.links],
    }


def _gpu(view: GpuView) -> dict[str, object]:
    gpu = view.gpu
    return {
        "index": gpu.number,
        "name": gpu.name,
        "use_percent": gpu.use,
        "memory_used_bytes": gpu.memory_used,
        "memory_total_bytes": gpu.memory_total,
        "power_watts": gpu.power,
        "idle": view.is_idle,
    }


def _link(link: Counter) -> dict[str, object]:
    return {
        "name": link.name,
        "kind": "adapter" if link.is_adapter else "interface",
        "interface": link.interface,
        "received_bytes": link.received,
        "sent_bytes": link.sent,
        "received_bytes_per_second": _rounded(link.received_rate),
        "sent_bytes_per_second": _rounded(link.sent_rate),
    }


def _rounded(number: float | None) -> float | None:
    return None if number is None else round(number, 1)
