"""The state of a job's nodes: a live table, plain text, or JSON (docs/monitor.md).

A table has a row for each node. Everything that a colour shows is also written in
words.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import chain, repeat, zip_longest

from envcfg.common.findings import Finding
from envcfg.common.provenance import now_text
from envcfg.common.secrets import safe_line
from envcfg.log.numbers import count_of, first_of, grouped
from envcfg.nodes.monitor.node_board import NodeView
from envcfg.nodes.probe.sample import Counter
from envcfg.nodes.probe.slurm_job import SlurmJob
from envcfg.report.document import json_text, pick_fields, rounded
from envcfg.report.finding_report import rule_lines
from envcfg.report.styled import Line, in_columns, is_screen, make_console, put

Show = Callable[[Sequence[NodeView], Sequence[Finding]], None]
HEAD = ("node", "load", "memory", "GPUs", "network, per second")
UNKNOWN = "?"
_GIB = 1024**3
# Above this number of nodes, a line for each GPU and interface makes the table too
# long.
_MOST_DETAILED = 16

Row = tuple[str, tuple[str, ...]]  # its style, and its cells


@contextmanager
def showing(
    job: SlurmJob, needed: Sequence[str], *, as_json: bool, once: bool
) -> Iterator[Show]:
    """Yield the writer for each sample: JSON, a live table on a terminal, or text.

    With *once* there is one look: JSON is then a document, and text has no time above
    it.
    """
    make = partial(monitor_lines, job.name, wanted=needed)
    # Without a terminal, each look is appended, so that a file keeps all of them.
    if as_json or once or not is_screen():

        def write(nodes: Sequence[NodeView], findings: Sequence[Finding]) -> None:
            if as_json:
                # A single look has room for an indented document; a stream needs
                # one line per look.
                indent = 2 if once else None
                sys.stdout.write(monitor_json(job, nodes, findings, indent=indent))
            else:
                sys.stdout.write("" if once else time.strftime("\n%H:%M:%S\n"))
                put(make(nodes, findings, is_detailed=len(nodes) <= _MOST_DETAILED))
            # The reader of a pipe expects each look at once.
            sys.stdout.flush()

        yield write
        return
    from rich.live import Live
    from rich.text import Text

    console = make_console()
    with Live(console=console, auto_refresh=False) as live:

        def show(nodes: Sequence[NodeView], findings: Sequence[Finding]) -> None:
            lines = make(nodes, findings, is_detailed=True)
            height = sum(1 + len(text) // console.width for _, text in lines)
            # A table higher than the screen would scroll, and the live display
            # would break.
            if height >= console.height:
                lines = make(nodes, findings, is_detailed=False)
            texts = (Text(safe_line(text), style) for style, text in lines)
            live.update(Text("\n").join(texts), refresh=True)

        yield show


# Keys of JSON, with their fields.
_GPU = """
    index=number name use_percent=use memory_used_bytes=memory_used
    memory_total_bytes=memory_total power_watts=power idle=is_idle
"""


def monitor_json(
    job: SlurmJob,
    nodes: Sequence[NodeView],
    findings: Sequence[Finding],
    *,
    indent: int | None,
) -> str:
    """Return one JSON document, on one line if *indent* is None; unknown values are
    null."""
    return json_text(
        {
            "time": now_text(),
            "job": {"id": job.name, "user": job.user, "nodes": len(nodes)},
            "nodes": [_node(node) for node in nodes],
            "findings": findings,
        },
        indent,
    )


def _node(node: NodeView) -> dict[str, object]:
    sample = node.sample
    return {
        # Unknown numbers are null. Zero would mean an idle or empty node.
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
        "gpus": [pick_fields(gpu, _GPU) for gpu in node.gpus],
        "gpus_of_others": node.other_gpus,
        "interfaces": [
            {
                "name": link.name,
                "kind": "adapter" if link.is_adapter else "interface",
                **pick_fields(
                    link, "interface received_bytes=received sent_bytes=sent"
                ),
                "received_bytes_per_second": rounded(link.received_rate),
                "sent_bytes_per_second": rounded(link.sent_rate),
            }
            for link in node.links
        ],
    }


def monitor_lines(
    job: str,
    nodes: Sequence[NodeView],
    findings: Sequence[Finding],
    *,
    wanted: Sequence[str] = (),
    is_detailed: bool,
) -> list[Line]:
    """Return one moment as lines: a title, a table with rows for each node, and the
    outliers.

    Interfaces in *wanted* are shown even without traffic. *is_detailed*: a line for
    each GPU and interface, instead of one for each node.
    """
    rows: list[Row] = [("", HEAD)]
    for node in nodes:
        rows += _rows(node, wanted, is_detailed=is_detailed)
    # Names are foreign, and a replaced character changes the width of its column.
    table = in_columns([[*map(safe_line, cells)] for _, cells in rows])
    styles = [style for style, _ in rows]
    return [
        ("bold", _title(job, nodes)),
        *zip(styles, table, strict=True),
        *_marks(findings),
    ]


def _title(job: str, nodes: Sequence[NodeView]) -> str:
    answering = [node for node in nodes if not node.is_silent]
    parts = [f"job {job}: {len(answering)} of {count_of(len(nodes), 'node')} answer"]
    if gpus := [gpu for node in answering for gpu in node.gpus]:
        # GPUs with unknown use are left out of the mean, and counted below.
        uses = [gpu.use for gpu in gpus if gpu.use is not None]
        used = f" used {sum(uses) / len(uses):.0f} %" if uses else ""
        parts.append(f"{count_of(len(gpus), 'GPU')}{used}")
        if idle := sum(gpu.is_idle for gpu in gpus):
            parts.append(f"{idle} idle")
        if unknown := len(gpus) - len(uses):
            parts.append(f"{unknown} unknown")
        if power := [gpu.power for gpu in gpus if gpu.power is not None]:
            parts.append(f"{sum(power) / 1000:.1f} kW")
    return ", ".join(parts)


def _marks(findings: Sequence[Finding]) -> Iterator[Line]:
    """Yield the outliers: one line for all nodes with the same message."""
    # The subject is removed for the comparison, so that equal findings of several
    # nodes are one line.
    alike = grouped(findings, lambda finding: finding._replace(subject=""))
    for finding, some in alike.items():
        names = first_of([finding.subject for finding in some])
        yield from rule_lines(finding, names)


def _rows(node: NodeView, needed: Sequence[str], *, is_detailed: bool) -> Iterator[Row]:
    """Yield the lines of a node; the state of the GPU in a line is its style."""
    if node.sample is None or node.is_silent:
        text = f"silent {node.age or 0:.0f} s" if node.sample else "no answer"
        # A silent node still shows its age, because the last values could mislead.
        yield "bold red", (node.host, text, "", "", "")
        return
    number = UNKNOWN if node.sample.load is None else f"{node.sample.load:.1f}"
    load = [f"{number} on {node.sample.cores or UNKNOWN} cores"]
    if is_detailed and node.processor_use is not None:
        load.append(f"{node.processor_use:.0f} % busy")
    links = [
        link
        for link in node.links
        # Idle interfaces are hidden: a node may have dozens of them.
        if link.name in needed
        or link.interface in needed
        or (link.name != "lo" and link.received + link.sent > 0)
    ]
    width = max((len(_link_name(link)) for link in links), default=0)
    network = [_link_text(link, width) for link in links]
    # In short form, the busiest interface represents the node.
    if not is_detailed and links:
        busiest = _link_text(max(links, key=lambda counter: counter.rate))
        more = f"  and {len(links) - 1} more" if len(links) > 1 else ""
        network = [busiest + more]
    memory = _share(node.sample.memory_used, node.sample.memory_total)
    styles, gpus = zip(*_gpu_lines(node, is_detailed=is_detailed), strict=True)
    # Columns have different heights, so the shorter ones are filled with empty cells.
    cells = zip_longest([node.host], load, [memory], gpus, network, fillvalue="")
    yield from zip(chain(styles, repeat("")), cells, strict=False)


def _gpu_lines(node: NodeView, *, is_detailed: bool) -> list[Line]:
    # A hanging GPU tool is the finding itself, so no old values are shown.
    if node.tool_waits is not None:
        return [("bold red", f"no answer for {node.tool_waits:.0f} s")]
    if not node.gpus:
        return [("bold red", "not to be asked") if node.problem else ("dim", "none")]
    lines, words = [], []
    for view in node.gpus:
        gpu, is_idle = view, view.is_idle
        use = UNKNOWN if gpu.use is None else f"{gpu.use:.0f}"
        words.append("idle" if is_idle else use)
        power = "" if gpu.power is None else f"  {gpu.power:.0f} W"
        memory = _share(gpu.memory_used, gpu.memory_total)
        idle = "  idle" if is_idle else ""
        style = "yellow" if is_idle else "bold red" if gpu.use is None else ""
        lines.append((style, f"{gpu.number:<2} {use:>3} %  {memory}{power}{idle}"))
    # The colour of the short form must show that some GPU is unusual.
    stands_out = any(style for style, _ in lines)
    in_one = ("yellow" if stands_out else "", f"{' '.join(words)} %")
    return lines if is_detailed else [in_one]


def _link_name(link: Counter) -> str:
    return f"{link.name} ({link.interface})" if link.interface else link.name


def _link_text(link: Counter, width: int = 0) -> str:
    name = _link_name(link).ljust(width)
    return f"{name}  in {_rate(link.received_rate)}  out {_rate(link.sent_rate)}"


def _rate(rate: float | None) -> str:
    # The text has the width of a number, so that columns stay aligned.
    if rate is None:
        return "   ?   "
    # Decimal units, because network rates are decimal.
    for unit, name in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if rate >= unit:
            return f"{rate / unit:4.3g} {name}"
    return f"{rate:4.0f} B "


def _share(used: int | None, total: int | None) -> str:
    if used is None or total is None:
        return f"{UNKNOWN} GiB"
    return f"{used / _GIB:.0f} of {total / _GIB:.0f} GiB"
