"""The ranks of a job in HTML: a box for each node, and a table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from envcfg.log.numbers import count_of
from envcfg.log.verdict import RankReport
from envcfg.report.log.layout import Layout, NodeBox, fold_alike
from envcfg.report.markup import escape

# A keyboard steps through the cells of small jobs only; the search serves large ones.
MOST_FOCUSABLE = 256
COLUMNS = (
    "Rank",
    "Verdict",
    "Node",
    "GPU",
    "Reason",
    "Network",
    "Provider",
    "NICs",
    "GPU RDMA",
    "Plugin",
    "Bootstrap",
    "PID",
)


def render_key(layout: Layout) -> str:
    """Return how many ranks have each verdict, which is the key to the grid as well."""
    counts = Counter[str](each.verdict for each in layout.ranks.values())
    counts["missing"] = layout.missing
    texts = {"missing": "not in the log"}
    items = (
        f'<li><span class="mark {name}"></span>{number:,} {texts.get(name, name)}</li>'
        for name in ("broken", "degraded", "inconclusive", "missing", "ok")
        if (number := counts[name])
    )
    return f'<ul class="key">{"".join(items)}</ul>'


def render_grid(layout: Layout) -> str:
    """Return the nodes as boxes with a cell for each rank; those alike are one box."""
    layout = fold_alike(layout)
    size = "large" if layout.size <= 64 else "medium" if layout.size <= 512 else "small"
    focusable = layout.size <= MOST_FOCUSABLE
    most = max((len(node.ranks) for node in layout.nodes if node.known), default=0)
    if most <= 8:
        size += " four"
    boxes = "\n".join(_box(node, layout, focusable=focusable) for node in layout.nodes)
    return f'<ul class="grid {size}" id="grid">\n{boxes}\n</ul>'


def render_head() -> str:
    """Return the head of the table of ranks."""
    cells = "".join(f'<th scope="col">{name}</th>' for name in COLUMNS)
    return f"<tr>{cells}</tr>"


def render_rows(layout: Layout) -> str:
    """Return a row for each rank of which the log holds lines."""
    return "\n".join(_row(each) for each in layout.ranks.values())


def _box(node: NodeBox, layout: Layout, *, focusable: bool) -> str:
    cells = "".join(_cells(node, layout, focusable=focusable))
    wide = "" if node.known else ' class="wide"'
    content = f'<span class="cells">{cells}</span>'
    if not cells:
        content = '<span class="unknown">no rank known</span>'
    number = count_of(len(node.ranks), "rank")
    if node.alike:
        alike = f"and {count_of(node.alike, 'node')} like it"
        wide, content = ' class="wide"', f"{content} {alike}"
        number += f" {alike}"
    return (
        f'<li{wide}><span class="host" title="{escape(node.name)}: {number}">'
        f"{escape(node.name)}</span>{content}</li>"
    )


def _cells(node: NodeBox, layout: Layout, *, focusable: bool) -> Iterator[str]:
    skip = "" if focusable else ' tabindex="-1"'
    for number in node.ranks:
        rank = layout.ranks.get(number)
        if rank is None:
            title = f"rank {number}: not in the log"
            yield f'<b class="missing" title="{title}">{number}</b>'
        else:
            title = escape(_title(rank, node))
            yield (
                f'<a class="{rank.verdict}" href="#r{number}" title="{title}"{skip}>'
                f"{number}</a>"
            )


def _title(rank: RankReport, node: NodeBox) -> str:
    device = "" if rank.device is None else f", GPU {rank.device}"
    verdict = f"{rank.verdict}: {rank.reason}" if rank.reason else rank.verdict
    return f"rank {rank.rank} ({node.name}{device}) is {verdict}"


def _row(rank: RankReport) -> str:
    cells = (
        rank.host,
        rank.device,
        rank.reason,
        rank.network,
        rank.provider,
        rank.nics,
        rank.gdr,
        rank.plugin,
        rank.interface,
        rank.pid,
    )
    return (
        f'<tr id="r{rank.rank}" class="{rank.verdict}"><th scope="row">{rank.rank}</th>'
        f'<td><span class="mark {rank.verdict}"></span>{rank.verdict}</td>'
        + "".join(f"<td>{_cell(each)}</td>" for each in cells)
        + "</tr>"
    )


def _cell(value: str | int | None) -> str:
    return "" if value is None or value == "unknown" else escape(str(value))
