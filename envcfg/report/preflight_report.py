"""The report on a preflight: for readers, and as JSON (docs/preflight.md)."""

from collections.abc import Iterator, Sequence

from envcfg.common.provenance import now_text
from envcfg.log.numbers import count_of, grouped
from envcfg.nodes.preflight.attachment import attached_nics, attachment_text
from envcfg.nodes.preflight.network_judge import speeds
from envcfg.nodes.preflight.node_judge import said_of_gpus, wanted_gpus
from envcfg.nodes.preflight.node_list import fold_nodes
from envcfg.nodes.preflight.preflight_records import Report, Requirements
from envcfg.nodes.probe.gpu import MIB
from envcfg.nodes.probe.node_answer import NodeAnswer
from envcfg.report.document import json_text
from envcfg.report.finding_report import rule_lines
from envcfg.report.styled import Line, in_columns

_HEAD = ("node", "", "GPUs", "sends", "receives")
_FEW = 16  # up to this number of nodes, each good node has its own row
_GB = 1e9


def preflight_lines(
    report: Report, requirements: Requirements, seconds: float
) -> Iterator[Line]:
    """Yield the lines, each with its style."""
    failed = report.failed
    head = f"{count_of(len(requirements.hosts), 'node')}: "
    head += f"{len(report.nodes) - len(failed)} passed, {len(failed)} failed"
    # An error of the whole job fails even if every node passes alone.
    if any(finding.severity == "error" for finding in report.job):
        head += "; all together fail"
    yield "bold", f"{head} ({seconds:.1f} s)"
    yield "", ""
    yield from _table(report, requirements, failed)
    yield "", ""
    # Equal findings of many nodes are one line, with the nodes folded.
    every = ((host, finding) for host, node in report.nodes.items() for finding in node)
    alike = grouped(every, lambda pair: pair[1]._replace(subject=""))
    for finding, pairs in alike.items():
        yield from rule_lines(finding, fold_nodes(host for host, _ in pairs))
    for finding in report.job:
        yield from rule_lines(finding, finding.subject)
    yield from _attachments(report)
    yield from _measured(report)


def _table(
    report: Report, requirements: Requirements, failed: Sequence[str]
) -> Iterator[Line]:
    measured = speeds(report.ranks)
    rows: list[tuple[str, tuple[str, ...]]] = []
    cells: tuple[str, ...]
    well: list[str] = []
    for host, node in report.nodes.items():
        # With many nodes, good ones share a row, so that bad ones stand out.
        if not node and len(report.nodes) > _FEW:
            well.append(host)
            continue
        sent, received = (
            # A node without a measured rate shows a dash; zero would look like a
            # fault.
            f"{rate / _GB:.2f}" if rate else "-"
            for rate in measured.get(host, (None, None))
        )
        answer = report.answers.get(host, NodeAnswer(host))
        verdict = "FAIL" if host in failed else "PASS"
        cells = (host, verdict, said_of_gpus(answer, requirements), sent, received)
        rows.append(("red" if host in failed else "green", cells))
    if well:
        cells = (fold_nodes(well), "PASS", count_of(len(well), "node"), "", "")
        rows.append(("green", cells))
    styles, cells_of = zip(("bold", _HEAD), *rows, strict=True)
    yield from zip(styles, in_columns(cells_of), strict=True)
    if measured:
        # The numbers need the explanation: they are not the peak of the adapter.
        legend = "GB/s with its best partner of up to three, over all ranks of the node"
        yield "dim", legend


def _attachments(report: Report) -> Iterator[Line]:
    """Yield the NICs of the GPUs, once for all nodes with the same ones."""
    pairs = (
        (attachment_text(attached_nics(answer)), host)
        for host, answer in report.answers.items()
    )
    hosts_by_text: dict[str, list[str]] = {}
    for text, host in pairs:
        if text:
            hosts_by_text.setdefault(text, []).append(host)
    for text, hosts in hosts_by_text.items():
        yield "", f"NICs        {fold_nodes(hosts)}: {text}"


def _measured(report: Report) -> Iterator[Line]:
    if torch := report.torch:
        by = "NCCL or RCCL" if report.backend == "nccl" else "gloo"
        many = count_of(len(report.ranks), "rank")
        yield "", f"collective  {many}, torch {torch[0]} ({torch[1]}), by {by}"
    for sum_ in report.sums:
        # Small sums measure latency, so their size is printed in KiB.
        mib, kib = sum_.size // MIB, sum_.size // 1024
        size = f"{mib} MiB" if mib else f"{kib} KiB"
        took = f"{size:>8}  {sum_.seconds * 1e3:9.3f} ms"
        yield "", f"all-reduce  {took}  {sum_.bandwidth:8.2f} GB/s"
    if report.verdict:
        yield "", f"network     {report.network}: {report.verdict}"


def preflight_json(report: Report, requirements: Requirements, seconds: float) -> str:
    """Return one JSON document; unknown values are null."""
    failed = report.failed
    passed = [host for host in report.nodes if host not in failed]
    return json_text(
        {
            "time": now_text(),
            "seconds": round(seconds, 1),
            "profile": requirements.profile,
            "passed": fold_nodes(passed),
            "failed": fold_nodes(failed),
            "inconclusive": report.is_inconclusive,
            "nodes": _nodes(report, requirements, failed),
            "collective": _collective(report),
            "network": {"state": report.network, "summary": report.verdict},
            "findings": report.job,
        }
    )


def _nodes(
    report: Report, requirements: Requirements, failed: list[str]
) -> list[dict[str, object]]:
    measured = speeds(report.ranks)
    documents: list[dict[str, object]] = []
    for host, findings in report.nodes.items():
        answer = report.answers.get(host, NodeAnswer(host))
        sent, received = measured.get(host, (None, None))
        gpus = answer.gpus
        # Without a tool on the node, the number of GPUs is unknown, not zero.
        is_counted = gpus is not None and gpus.tool != "none"
        documents.append(
            {
                "name": host,
                "passes": host not in failed,
                "answers": answer.is_whole,
                "gpu_tool": gpus and gpus.tool,
                "gpus": sum(gpu.is_ours for gpu in gpus.gpus)
                if gpus and is_counted
                else None,
                "gpus_wanted": wanted_gpus(answer, requirements)[0] or None,
                "attached": attached_nics(answer),
                "sends_bytes_per_second": sent,
                "receives_bytes_per_second": received,
                "findings": findings,
            }
        )
    return documents


def _collective(report: Report) -> dict[str, object] | None:
    if report.torch is None:
        return None
    names = ("bytes", "seconds", "gigabytes_per_second")
    return {
        "ranks": len(report.ranks),
        "torch": report.torch[0],
        "build": report.torch[1],
        "backend": report.backend,
        "sums": [dict(zip(names, sum_, strict=True)) for sum_ in report.sums],
    }
