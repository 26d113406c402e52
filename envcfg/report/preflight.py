"""What a preflight comes to: for people, and as JSON, which docs/preflight.md describes."""

from collections.abc import Iterator, Sequence

from envcfg.findings import Finding
from envcfg.log.numbers import count_of, grouped
from envcfg.preflight.node_list import fold_nodes
from envcfg.preflight.nodes import said_of_gpus, wanted_gpus
from envcfg.preflight.records import NodeAnswer, Report, Wanted
from envcfg.preflight.speed import speeds
from envcfg.probe.gpu import MIB
from envcfg.report.document import json_text, now_text
from envcfg.report.findings import STYLES, said
from envcfg.report.styled import Line, in_columns

_HEAD = ("node", "", "GPUs", "sends", "receives")
_FEW = 16  # nodes that are well and have a row each
_GB = 1e9


def preflight_lines(report: Report, wanted: Wanted, seconds: float) -> Iterator[Line]:
    """Yield the lines, each with its style."""
    failed = report.failed
    head = f"{count_of(len(wanted.hosts), 'node')}: "
    head += f"{len(report.nodes) - len(failed)} passed, {len(failed)} failed"
    if any(each.severity == "error" for each in report.job):
        head += "; all together fail"
    yield "bold", f"{head} ({seconds:.1f} s)"
    yield "", ""
    yield from _table(report, wanted, failed)
    yield "", ""
    every = ((host, each) for host, found in report.nodes.items() for each in found)
    alike = grouped(every, lambda pair: pair[1]._replace(subject=""))
    for each, pairs in alike.items():
        yield from _finding(fold_nodes(host for host, _ in pairs), each)
    for each in report.job:
        yield from _finding("", each)
    yield from _measured(report)


def _table(report: Report, wanted: Wanted, failed: Sequence[str]) -> Iterator[Line]:
    measured = speeds(report.ranks)
    rows: list[tuple[str, tuple[str, ...]]] = []
    cells: tuple[str, ...]
    well: list[str] = []
    for host, found in report.nodes.items():
        if not found and len(report.nodes) > _FEW:
            well.append(host)
            continue
        sent, received = (
            f"{each / _GB:.2f}" if each else "-"
            for each in measured.get(host, (None, None))
        )
        answer = report.answers.get(host, NodeAnswer(host))
        verdict = "FAIL" if host in failed else "PASS"
        cells = (host, verdict, said_of_gpus(answer, wanted), sent, received)
        rows.append(("red" if host in failed else "green", cells))
    if well:
        cells = (fold_nodes(well), "PASS", count_of(len(well), "node"), "", "")
        rows.append(("green", cells))
    styles, cells_of = zip(("bold", _HEAD), *rows, strict=True)
    yield from zip(styles, in_columns(cells_of), strict=True)
    if measured:
        what = "GB/s with its best partner of up to three, over all ranks of the node"
        yield "dim", what


def _finding(host: str, each: Finding) -> Iterator[Line]:
    what = said(each._replace(subject=host or each.subject))
    yield STYLES[each.severity], f"{each.severity}: {what}  [{each.rule}]"
    if each.fix:
        yield "dim", f"  fix: {each.fix}"


def _measured(report: Report) -> Iterator[Line]:
    if torch := report.torch:
        by = "NCCL or RCCL" if report.backend == "nccl" else "gloo"
        many = count_of(len(report.ranks), "rank")
        yield "", f"collective  {many}, torch {torch[0]} ({torch[1]}), by {by}"
    for each in report.sums:
        mib, kib = each.size // MIB, each.size // 1024
        size = f"{mib} MiB" if mib else f"{kib} KiB"
        took = f"{size:>8}  {each.seconds * 1e3:9.3f} ms"
        yield "", f"all-reduce  {took}  {each.bandwidth:8.2f} GB/s"
    if report.said:
        yield "", f"network     {report.network}: {report.said}"


def preflight_json(report: Report, wanted: Wanted, seconds: float) -> str:
    """Return one document; what is unknown is null."""
    failed = report.failed
    passed = [host for host in report.nodes if host not in failed]
    document = {
        "schema_version": 1,
        "time": now_text(),
        "seconds": round(seconds, 1),
        "profile": wanted.profile,
        "passed": fold_nodes(passed),
        "failed": fold_nodes(failed),
        "inconclusive": report.is_inconclusive,
        "nodes": _nodes(report, wanted, failed),
        "collective": _collective(report),
        "network": {"state": report.network, "summary": report.said},
        "findings": report.job,
    }
    return json_text(document)


def _nodes(
    report: Report, wanted: Wanted, failed: list[str]
) -> list[dict[str, object]]:
    measured = speeds(report.ranks)
    found: list[dict[str, object]] = []
    for host, findings in report.nodes.items():
        answer = report.answers.get(host, NodeAnswer(host))
        sent, received = measured.get(host, (None, None))
        gpus = answer.gpus
        is_counted = gpus is not None and gpus.tool != "none"
        found.append(
            {
                "name": host,
                "passes": host not in failed,
                "answers": answer.is_whole,
                "gpu_tool": gpus and gpus.tool,
                "gpus": sum(each.is_ours for each in gpus.gpus)
                if gpus and is_counted
                else None,
                "gpus_wanted": wanted_gpus(answer, wanted)[0] or None,
                "sends_bytes_per_second": sent,
                "receives_bytes_per_second": received,
                "findings": findings,
            }
        )
    return found


def _collective(report: Report) -> dict[str, object] | None:
    if report.torch is None:
        return None
    names = ("bytes", "seconds", "gigabytes_per_second")
    return {
        "ranks": len(report.ranks),
        "torch": report.torch[0],
        "build": report.torch[1],
        "backend": report.backend,
        "sums": [dict(zip(names, each, strict=True)) for each in report.sums],
    }
