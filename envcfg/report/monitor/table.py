"""How the nodes of a job are, as a table: a row for each node, plain or in colours.

Everything that a colour says stands there in words too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, NamedTuple

from envcfg.characters import one_line
from envcfg.findings import Finding
from envcfg.log.numbers import count_of, first_of, grouped
from envcfg.monitor.board import GpuView, NodeView
from envcfg.probe.sample import Counter
from envcfg.report.styled import Line, in_columns

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.text import Text

HEAD = ("node", "load", "memory", "GPUs", "network, per second")
UNKNOWN = "?"
_GIB = 1024**3
_COLOURS = {"error": "bold red", "warning": "yellow", "note": "cyan"}
# Where a line for each GPU and interface would be too long a table.
MOST_DETAILED = 16

Cell = tuple[Line, ...]  # its lines, one below the other


class Page(NamedTuple):
    """A moment: a title, a row of cells for each node, and what stands out."""

    title: str
    rows: tuple[tuple[Cell, ...], ...]
    marks: tuple[Line, ...]

    @property
    def height(self) -> int:
        """How many lines the rows take."""
        return sum(max(len(cell) for cell in row) for row in self.rows)


def make_page(
    job: str,
    nodes: Sequence[NodeView],
    findings: Sequence[Finding],
    *,
    wanted: Sequence[str] = (),
    is_detailed: bool,
) -> Page:
    """Return the page of a moment.

    Args:
        job: as the user names it.
        nodes: in order.
        findings: what stands out.
        wanted: interfaces that are shown even if they carry nothing.
        is_detailed: a line for each GPU and interface, instead of one for each node.
    """
    rows = tuple(
        tuple(_shown(cell) for cell in _row(node, wanted, is_detailed=is_detailed))
        for node in nodes
    )
    return Page(one_line(_title(job, nodes)), rows, _shown(_marks(findings)))


def _shown(lines: Iterable[Line]) -> Cell:
    """Return *lines* as a terminal may have them: names and words come from outside."""
    return tuple((style, one_line(text)) for style, text in lines)


def page_text(page: Page) -> str:
    """Return the page as plain text."""
    rows: list[tuple[str, ...]] = [HEAD]
    for row in page.rows:
        cells = ([text for _, text in cell] for cell in row)
        rows += zip_longest(*cells, fillvalue="")
    lines = [page.title, *in_columns(rows), *(text for _, text in page.marks)]
    return "".join(f"{line}\n" for line in lines)


def page_renderable(page: Page) -> RenderableType:
    """Return the page for a terminal."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for name in HEAD:
        table.add_column(name, no_wrap=True)
    for row in page.rows:
        table.add_row(*(Text("\n").join(_styled(cell)) for cell in row))
    return Group(Text(page.title, style="bold"), table, *_styled(page.marks))


def _styled(lines: Sequence[Line]) -> list[Text]:
    from rich.text import Text

    return [Text(text, style=style) for style, text in lines]


def _title(job: str, nodes: Sequence[NodeView]) -> str:
    answering = [node for node in nodes if not node.is_silent]
    said = f"{len(answering)} of {count_of(len(nodes), 'node')} answer"
    gpus = [gpu for node in answering for gpu in node.gpus]
    parts = [f"job {job}: {said}"]
    if gpus:
        known = [each.gpu.use for each in gpus if each.gpu.use is not None]
        parts.append(count_of(len(gpus), "GPU"))
        if known:
            parts[-1] += f" used {sum(known) / len(known):.0f} %"
        for number, word in (
            (sum(each.is_idle for each in gpus), "idle"),
            (len(gpus) - len(known), "unknown"),
        ):
            if number:
                parts.append(f"{number} {word}")
        power = [each.gpu.power for each in gpus if each.gpu.power is not None]
        if power:
            parts.append(f"{sum(power) / 1000:.1f} kW")
    return ", ".join(parts)


def _marks(findings: Sequence[Finding]) -> Iterator[Line]:
    """Yield what stands out: once for all nodes of which the same is said."""
    alike = grouped(findings, lambda each: each._replace(subject=""))
    for each, some in alike.items():
        names = first_of([one.subject for one in some])
        said = f"{each.severity}: {names}: {each.message}  [{each.rule}]"
        yield _COLOURS[each.severity], said
        if each.fix:
            yield "", f"  fix: {each.fix}"


def _row(
    node: NodeView, wanted: Sequence[str], *, is_detailed: bool
) -> tuple[Cell, ...]:
    if node.sample is None:
        return ((("bold red", node.host),), (("bold red", "no answer"),), (), (), ())
    if node.is_silent:
        silent = ("bold red", f"silent {node.age or 0:.0f} s")
        return ((("bold red", node.host),), (silent,), (), (), ())
    number = UNKNOWN if node.sample.load is None else f"{node.sample.load:.1f}"
    load = [f"{number} on {node.sample.cores or UNKNOWN} cores"]
    if is_detailed and node.processor_use is not None:
        load.append(f"{node.processor_use:.0f} % busy")
    gpus = _gpu_lines(node) if is_detailed else _gpus_in_one(node)
    links = [
        link
        for link in node.links
        if link.name in wanted
        or link.interface in wanted
        or (link.name != "lo" and link.received + link.sent > 0)
    ]
    width = max((len(_link_name(link)) for link in links), default=0)
    network = [("", _link_text(link, width)) for link in links]
    if not is_detailed and links:
        busiest = _link_text(max(links, key=lambda each: each.rate))
        more = f"  and {len(links) - 1} more" if len(links) > 1 else ""
        network = [("", busiest + more)]
    return (
        (("", node.host),),
        tuple(("", line) for line in load),
        (("", _share(node.sample.memory_used, node.sample.memory_total)),),
        tuple(gpus),
        tuple(network),
    )


def _gpu_lines(node: NodeView) -> list[Line]:
    if node.tool_waits is not None:
        return [("bold red", f"no answer for {node.tool_waits:.0f} s")]
    if node.problem and not node.gpus:
        return [("bold red", "not to be asked")]
    return [_gpu_line(each) for each in node.gpus] or [("dim", "none")]


def _gpu_line(each: GpuView) -> Line:
    gpu = each.gpu
    use = "  ? %" if gpu.use is None else f"{gpu.use:3.0f} %"
    power = "" if gpu.power is None else f"  {gpu.power:.0f} W"
    memory = _share(gpu.memory_used, gpu.memory_total)
    text = f"{gpu.number:<2} {use}  {memory}{power}{'  idle' if each.is_idle else ''}"
    style = "yellow" if each.is_idle else "bold red" if gpu.use is None else ""
    return style, text


def _gpus_in_one(node: NodeView) -> list[Line]:
    lines = _gpu_lines(node)
    if not node.gpus or node.tool_waits is not None:
        return lines
    words = [
        "idle"
        if each.is_idle
        else UNKNOWN
        if each.gpu.use is None
        else f"{each.gpu.use:.0f}"
        for each in node.gpus
    ]
    stands_out = any(style for style, _ in lines)
    return [("yellow" if stands_out else "", f"{' '.join(words)} %")]


def _link_name(link: Counter) -> str:
    return f"{link.name} ({link.interface})" if link.interface else link.name


def _link_text(link: Counter, width: int = 0) -> str:
    name = _link_name(link).ljust(width)
    return f"{name}  in {_rate(link.received_rate)}  out {_rate(link.sent_rate)}"


def _rate(rate: float | None) -> str:
    if rate is None:
        return "   ?   "
    for unit, name in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if rate >= unit:
            return f"{rate / unit:4.3g} {name}"
    return f"{rate:4.0f} B "


def _share(used: int | None, total: int | None) -> str:
    if used is None or total is None:
        return f"{UNKNOWN} GiB"
    return f"{used / _GIB:.0f} of {total / _GIB:.0f} GiB"
