"""The verdict on a log as one page of HTML that needs nothing else, and no network.

``page.html`` is the page, a template of Jinja; here is what it shows. Everything stands in
the page before any script runs: the script adds search, and the details of a rank on a
click. Nothing of a log becomes markup: each value is escaped where it is put in.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Sequence
from functools import cache
from typing import Any

from envcfg.characters import printable
from envcfg.datafile import read_text
from envcfg.errors import LibraryError
from envcfg.log.numbers import count_of, number_ranges
from envcfg.log.verdict import WORST_FIRST, LogReport, Transport
from envcfg.provenance import marked
from envcfg.report.log.layout import fold_alike, lay_out, without_silent
from envcfg.report.log.matrix import MARKS, describe, lay_matrix, ways_of
from envcfg.report.log.text import progress_of

_TEMPLATE = os.path.join(os.path.dirname(__file__), "page.html")
_URL = re.compile(r"https?://[^\s<>\"']+")
_WIDE = 160  # characters of a title, which may be the names of a thousand files
_MOST_LISTED = 50_000  # transports that the script gets: it lists those of one rank
# A keyboard steps through the cells of small jobs only; the search serves large ones.
_MOST_FOCUSABLE = 256
# Of the table of ranks: what is in each; the first two are drawn by themselves.
_COLUMNS = {
    "Rank": "",
    "Verdict": "",
    "Node": "host",
    "GPU": "device",
    "Reason": "reason",
    "Network": "network",
    "Provider": "provider",
    "NICs": "nics",
    "GPU RDMA": "gdr",
    "Plugin": "plugin",
    "Bootstrap": "interface",
    "PID": "pid",
}


def log_html(report: LogReport, title: str) -> str:
    """Return the report as a page; *title* names the log."""
    text, template = _template()
    layout = lay_out(report)
    ranks = fold_alike(layout)
    drawn = without_silent(layout, report.transports)
    counts = Counter[str](each.verdict for each in layout.ranks.values())
    counts["missing"] = layout.missing
    names = ("broken", "degraded", "inconclusive", "missing", "ok")
    large = "large" if ranks.size <= 64 else "medium" if ranks.size <= 512 else "small"
    most = max((len(node.ranks) for node in ranks.nodes if node.known), default=0)
    page = template.render(
        report=report,
        style_hash=_content_hash(text, "style"),
        script_hash=_content_hash(text, "script"),
        title=title if len(title) <= _WIDE else f"{title[:_WIDE]}\u2026",
        progress=progress_of(report.job),
        jobs=sorted(report.jobs, key=lambda each: WORST_FIRST.index(each.verdict)),
        causes=[each for each in report.findings if each.cause],
        effects=[each for each in report.findings if not each.cause],
        layout=layout,
        counts=[(name, counts[name]) for name in names if counts[name]],
        shown=ranks,
        folded=len(report.ranks) - len(ranks.ranks),
        size=f"{large} four" if most <= 8 else large,
        focusable=ranks.size <= _MOST_FOCUSABLE,
        most_focusable=_MOST_FOCUSABLE,
        columns=_COLUMNS,
        space=lay_matrix(report.transports, drawn) if report.transports else None,
        ways=ways_of(report.transports),
        marks=MARKS,
        data=_data_island(report.transports),
        many="{:,}".format,
        size_of=_size_of,
        count_of=count_of,
        number_ranges=number_ranges,
        is_url=_URL.fullmatch,
    )
    return marked("page", page.partition("\n")[2])


@cache
def _template() -> tuple[str, Any]:
    """Return the page's text, and what fills it."""
    try:
        from jinja2 import Environment, StrictUndefined
        from markupsafe import escape
    except ImportError as err:
        raise LibraryError(package="jinja2", use="a report in HTML") from err

    def shown(value: object) -> object:
        if hasattr(value, "__html__"):  # markup already
            return value
        text = f"{value:g}" if isinstance(value, float) else str(value)
        return "" if value is None else escape(printable(text))

    text = read_text(_TEMPLATE)
    environment = Environment(
        autoescape=True,
        finalize=shown,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    return text, environment.from_string(text)


def _content_hash(page: str, element: str) -> str:
    """Return the hash by which a content security policy knows a page's *element*."""
    from base64 import b64encode

    from envcfg.provenance import sha256_of

    text = page.partition(f"<{element}>")[2].partition(f"</{element}>")[0]
    digest = bytes.fromhex(sha256_of(text.encode()))
    return f"sha256-{b64encode(digest).decode()}"


def _data_island(transports: Sequence[Transport]) -> str:
    """Return what the script lists for a rank: sender, receiver and kind by number.

    It is JSON that can stand in a script element of type JSON.
    """
    import json

    kinds: dict[str, int] = {}
    listed: list[Any] = [
        [each.sender, each.receiver, kinds.setdefault(describe(each), len(kinds))]
        for each in (transports if len(transports) <= _MOST_LISTED else ())
    ]
    data = {"kinds": list(kinds), "transports": listed}
    text = json.dumps(data, ensure_ascii=True, separators=(",", ":"))
    return text.replace("<", r"\u003c").replace(">", r"\u003e").replace("&", r"\u0026")


def _size_of(size: float) -> str:
    """Return a number of bytes as people write it."""
    for unit in ("bytes", "kB", "MB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "bytes" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} GB"
