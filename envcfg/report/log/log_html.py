"""The verdict on a log as one self-contained page of HTML, without network access.

``page.html`` is the Jinja template; this module prepares its values. The page is
complete without scripts: the script adds the search, and the details of a rank on a
click. Nothing of a log becomes markup, because each value is escaped.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from functools import cache
from typing import Any

from envcfg.common.datafile import read_text
from envcfg.common.errors import LibraryError
from envcfg.common.provenance import marked
from envcfg.common.secrets import safe_text
from envcfg.log.numbers import count_of, number_ranges
from envcfg.log.verdict import WORST_FIRST, LogReport, Transport
from envcfg.report.log.log_text import progress_of
from envcfg.report.log.rank_layout import fold_alike, lay_out, without_silent
from envcfg.report.log.traffic_matrix import describe, lay_matrix, ways_of

_URL = re.compile(r"https?://[^\s<>\"']+")
_WIDE = 160  # characters of a title, which may list a thousand files
_MOST_LISTED = 50_000  # transports for the script, which lists those of one rank
# Only small jobs have cells that the keyboard can reach; the search serves large
# ones.
_MOST_FOCUSABLE = 256
# Columns of the table of ranks with their fields. The template draws the first two
# itself.
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
    """Return the report as a page; *title* is the name of the log."""
    text, template = template_of("report/log/page.html")
    layout = lay_out(report)
    # Equal nodes are drawn once, because a page with ten thousand cells is slow.
    ranks = fold_alike(layout)
    drawn = without_silent(layout, report.transports)
    counts = Counter[str](rank.verdict for rank in layout.ranks.values())
    counts["missing"] = layout.missing
    names = ("broken", "degraded", "inconclusive", "missing", "ok")
    # The size of a cell depends on the number of ranks.
    large = "large" if ranks.size <= 64 else "medium" if ranks.size <= 512 else "small"
    most = max((len(node.ranks) for node in ranks.nodes if node.known), default=0)
    page = template.render(
        report=report,
        # The hashes allow exactly this style and script, and block injected ones.
        style_hash=content_hash(text, "style"),
        script_hash=content_hash(text, "script"),
        title=title if len(title) <= _WIDE else f"{title[:_WIDE]}\u2026",
        progress=progress_of(report.job),
        jobs=sorted(
            report.jobs, key=lambda job_row: WORST_FIRST.index(job_row.verdict)
        ),
        causes=[finding for finding in report.findings if finding.cause],
        effects=[finding for finding in report.findings if not finding.cause],
        layout=layout,
        counts=[(name, counts[name]) for name in names if counts[name]],
        shown=ranks,
        folded=len(report.ranks) - len(ranks.ranks),
        size=f"{large} four" if most <= 8 else large,
        focusable=ranks.size <= _MOST_FOCUSABLE,
        most_focusable=_MOST_FOCUSABLE,
        columns=_COLUMNS,
        matrix=lay_matrix(report.transports, drawn),
        drawn=drawn,
        ways=ways_of(report.transports),
        data=_data_island(report.transports),
        many="{:,}".format,
        size_of=_size_of,
        count_of=count_of,
        number_ranges=number_ranges,
        is_url=_URL.fullmatch,
    )
    # The first line is a comment of the template, which is not part of the page.
    return marked("page", page.partition("\n")[2])


@cache
def template_of(path: str) -> tuple[str, Any]:
    """Return the text of a page, and its compiled template.

    Raises:
        LibraryError: Jinja is not installed.
    """
    try:
        from jinja2 import Environment, StrictUndefined
        from markupsafe import escape
    except ImportError as err:
        raise LibraryError(package="jinja2", use="a report in HTML") from err

    # Every value passes here, so that no value can contain control characters.
    def shown(value: object) -> object:
        if hasattr(value, "__html__"):  # markup already
            return value
        text = f"{value:g}" if isinstance(value, float) else str(value)
        return "" if value is None else escape(safe_text(text))

    text = read_text(path)
    environment = Environment(
        autoescape=True,
        finalize=shown,
        # A misspelt name in the template must fail, not disappear.
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    return text, environment.from_string(text)


def content_hash(page: str, element: str) -> str:
    """Return the hash that allows an *element* in a content security policy."""
    from base64 import b64encode

    from envcfg.common.provenance import sha256_of

    text = page.partition(f"<{element}>")[2].partition(f"</{element}>")[0]
    digest = bytes.fromhex(sha256_of(text.encode()))
    return f"sha256-{b64encode(digest).decode()}"


def _data_island(transports: Sequence[Transport]) -> str:
    """Return the data of the script: sender, receiver and kind, as numbers.

    The result is JSON that is safe inside a script element.
    """
    import json

    kinds: dict[str, int] = {}
    listed: list[Any] = [
        [
            transport.sender,
            transport.receiver,
            kinds.setdefault(describe(transport), len(kinds)),
        ]
        # A longer list would make the page too large for a browser.
        for transport in (transports if len(transports) <= _MOST_LISTED else ())
    ]
    data = {"kinds": list(kinds), "transports": listed}
    text = json.dumps(data, ensure_ascii=True, separators=(",", ":"))
    # These characters could end the script element early.
    return text.replace("<", r"\u003c").replace(">", r"\u003e").replace("&", r"\u0026")


def _size_of(size: float) -> str:
    """Return a number of bytes in readable form."""
    for unit in ("bytes", "kB", "MB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "bytes" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} GB"
