"""What a preflight comes to, as a table of nodes and what was measured."""

from collections.abc import Iterator, Sequence

from envcfg.findings import Finding
from envcfg.log.numbers import count_of
from envcfg.preflight.node_list import fold_nodes
from envcfg.preflight.nodes import said_of_gpus
from envcfg.preflight.records import NodeAnswer, Report, Wanted
from envcfg.preflight.speed import speeds
from envcfg.probe.gpu import MIB
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
    alike: dict[Finding, list[str]] = {}
    for host, found in report.nodes.items():
        for each in found:
            alike.setdefault(each._replace(subject=""), []).append(host)
    for each, hosts in alike.items():
        yield from _finding(fold_nodes(hosts), each)
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
        yield (
            "dim",
            "GB/s with its best partner of up to three, over all ranks of the node",
        )


def _finding(host: str, each: Finding) -> Iterator[Line]:
    what = said(each._replace(subject=host or each.subject))
    yield STYLES[each.severity], f"{each.severity}: {what}  [{each.rule}]"
    if each.fix:
        yield "dim", f"  fix: {each.fix}"


def _measured(report: Report) -> Iterator[Line]:
    torch = next((each.torch for each in report.ranks.values() if each.torch), None)
    if torch:
        by = "NCCL or RCCL" if any(e.devices for e in report.ranks.values()) else "gloo"
        many = count_of(len(report.ranks), "rank")
        yield "", f"collective  {many}, torch {torch[0]} ({torch[1]}), by {by}"
    for each in (made for rank in report.ranks.values() for made in rank.sums):
        mib, kib = each.size // MIB, each.size // 1024
        size = f"{mib} MiB" if mib else f"{kib} KiB"
        took = f"{size:>8}  {each.seconds * 1e3:9.3f} ms"
        yield "", f"all-reduce  {took}  {each.bandwidth:8.2f} GB/s"
    if report.said:
        yield "", f"network     {report.network}: {report.said}"
