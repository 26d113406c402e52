"""Where the looks at a job go: a live table, plain text, or JSON (docs/monitor.md)."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from envcfg.findings import Finding
from envcfg.monitor.board import NodeView
from envcfg.probe.slurm import SlurmJob
from envcfg.report.document import json_text, now_text, rounded
from envcfg.report.monitor.table import (
    MOST_DETAILED,
    Page,
    make_page,
    page_renderable,
    page_text,
)
from envcfg.report.styled import make_console

Show = Callable[[Sequence[NodeView], Sequence[Finding]], None]
_AROUND = 4  # lines of a terminal for title, head and the cursor


def json_show(job: SlurmJob, *, once: bool) -> Show:
    """Return what writes JSON: a document, or a line for each look."""

    def show(nodes: Sequence[NodeView], findings: Sequence[Finding]) -> None:
        indent = 2 if once else None
        sys.stdout.write(monitor_json(job, nodes, findings, indent=indent))
        sys.stdout.flush()

    return show


def text_show(job: SlurmJob, wanted: Sequence[str], *, once: bool) -> Show:
    """Return what writes the table, with the time above it where there are several."""

    def show(nodes: Sequence[NodeView], findings: Sequence[Finding]) -> None:
        detailed = len(nodes) <= MOST_DETAILED
        page = make_page(job.name, nodes, findings, wanted=wanted, is_detailed=detailed)
        if once and sys.stdout.isatty():
            make_console().print(page_renderable(page))
            return
        above = "" if once else time.strftime("\n%H:%M:%S\n")
        sys.stdout.write(above + page_text(page))
        sys.stdout.flush()

    return show


@contextmanager
def live_show(job: SlurmJob, wanted: Sequence[str]) -> Iterator[Show]:
    """Give what renews a table on the terminal."""
    from rich.live import Live

    console = make_console()
    with Live(console=console, auto_refresh=False) as live:

        def show(nodes: Sequence[NodeView], findings: Sequence[Finding]) -> None:
            def page(*, is_detailed: bool) -> Page:
                return make_page(
                    job.name, nodes, findings, wanted=wanted, is_detailed=is_detailed
                )

            chosen = page(is_detailed=True)
            if chosen.height + len(chosen.marks) + _AROUND > console.height:
                chosen = page(is_detailed=False)
            live.update(page_renderable(chosen), refresh=True)

        yield show


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
