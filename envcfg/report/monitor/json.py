"""How the nodes of a job are, as JSON for programs; docs/monitor.md says what it means."""

from __future__ import annotations

from collections.abc import Sequence

from envcfg.findings import Finding
from envcfg.monitor.board import NodeView
from envcfg.probe.slurm import SlurmJob
from envcfg.report.document import json_text, now_text, rounded


def monitor_json(
    job: SlurmJob,
    nodes: Sequence[NodeView],
    findings: Sequence[Finding],
    *,
    indent: int | None,
) -> str:
    """Return one document, on one line where *indent* is None; what is unknown is null."""
    document = {
        "schema_version": 1,
        "time": now_text(),
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
        "age_seconds": rounded(node.age),
        "load": sample and sample.load,
        "cores": sample and sample.cores,
        "processor_use_percent": rounded(node.processor_use),
        "memory_used_bytes": sample and sample.memory_used,
        "memory_total_bytes": sample and sample.memory_total,
        "gpu_tool": node.tool,
        "gpu_tool_waits_seconds": rounded(node.tool_waits),
        "gpu_problem": node.problem,
        "gpus": [
            {
                "index": each.gpu.number,
                "name": each.gpu.name,
                "use_percent": each.gpu.use,
                "memory_used_bytes": each.gpu.memory_used,
                "memory_total_bytes": each.gpu.memory_total,
                "power_watts": each.gpu.power,
                "idle": each.is_idle,
            }
            for each in node.gpus
        ],
        "gpus_of_others": node.others,
        "interfaces": [
            {
                "name": link.name,
                "kind": "adapter" if link.is_adapter else "interface",
                "interface": link.interface,
                "received_bytes": link.received,
                "sent_bytes": link.sent,
                "received_bytes_per_second": rounded(link.received_rate),
                "sent_bytes_per_second": rounded(link.sent_rate),
            }
            for link in node.links
        ],
    }
