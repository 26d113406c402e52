"""The verdict on a log as one page of HTML that needs nothing else, and no network.

``log.html`` is the page; here are its parts. Everything stands in the page before any
script runs: the script adds search, and the details of a rank on a click.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

from envcfg.datafile import read_text
from envcfg.findings import Finding
from envcfg.log.numbers import count_of, number_ranges
from envcfg.log.verdict import WORST_FIRST, JobRow, LogReport, Transport
from envcfg.provenance import marked
from envcfg.report.log.facts import job_facts
from envcfg.report.log.grid import (
    MOST_FOCUSABLE,
    render_grid,
    render_head,
    render_key,
    render_rows,
)
from envcfg.report.log.layout import Layout, fold_alike, lay_out, without_silent
from envcfg.report.log.matrix import (
    describe,
    render_legend,
    render_matrix,
    render_note,
)
from envcfg.report.markup import content_hash, data_island, definitions, escape, fill

_TEMPLATE = os.path.join(os.path.dirname(__file__), "page.html")
_URL = re.compile(r"https?://[^\s<>\"']+")
_WIDE = 160  # characters of a title, which may be the names of a thousand files
_MOST_LISTED = 50_000  # transports that the script gets: it lists those of one rank


def log_html(report: LogReport, title: str) -> str:
    """Return the report as a page; *title* names the log."""
    template = read_text(_TEMPLATE)
    layout = lay_out(report)
    causes = [each for each in report.findings if each.cause]
    effects = [each for each in report.findings if not each.cause]
    parts = {
        "style_hash": content_hash(template, "style"),
        "script_hash": content_hash(template, "script"),
        "title": escape(title if len(title) <= _WIDE else f"{title[:_WIDE]}\u2026"),
        "verdict": escape(report.verdict),
        "summary": escape(report.summary),
        "facts": _facts(report),
        "jobs": _jobs(report.jobs),
        "findings": _findings(causes, effects),
        "unknowns": _unknowns(report),
        "ranks": _ranks(layout),
        "transports": _transports(report.transports, layout),
        "table": _table(report, layout),
        "data": data_island(_data(report.transports)),
    }
    return marked("page", fill(template, parts).partition("\n")[2])


def _facts(report: LogReport) -> str:
    pairs = {}
    for fact in job_facts(report):
        if fact.text is None:
            value = '<span class="unknown">not known</span>'
        else:
            value = escape(fact.text)
            value = f'<span class="odd">{value}</span>' if fact.odd else value
        pairs[escape(fact.name)] = value
    return definitions(pairs)


def _jobs(jobs: Sequence[JobRow]) -> str:
    """Return a row for each job, the worst first; nothing where there is one."""
    if not jobs:
        return ""
    head = "".join(f'<th scope="col">{each}</th>' for each in ("Job", "Verdict", "Why"))
    rows = "\n".join(
        f"<tr><td>{escape(name)}</td><td>{escape(verdict)}</td>"
        f"<td>{escape(summary.partition(': ')[2])}</td></tr>"
        for name, verdict, summary in sorted(
            jobs, key=lambda each: WORST_FIRST.index(each.verdict)
        )
    )
    table = (
        f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}\n</tbody>\n</table>"
    )
    content = (
        "<p>What follows is of the first.</p>\n"
        f"{_scrolled(table, 'Table of jobs', look=' tall')}"
    )
    return _section("jobs", count_of(len(jobs), "job"), content)


def _findings(causes: Sequence[Finding], effects: Sequence[Finding]) -> str:
    if not causes and not effects:
        return "<p>Nothing in the log tells of trouble.</p>"
    text = "\n".join(map(_card, causes))
    if effects:
        verb = "follows" if len(effects) == 1 else "follow"
        cards = "\n".join(map(_card, effects))
        text += (
            f"\n<details><summary>{count_of(len(effects), 'finding')} that {verb} from"
            f" {'these' if causes else 'others'}</summary>\n{cards}\n</details>"
        )
    return text


def _card(finding: Finding) -> str:
    severity = escape(finding.severity)
    times = f"{finding.count:,}\u00d7" if finding.count > 1 else ""
    pairs = {
        "Why": escape(finding.why) if finding.why else "",
        "Fix": escape(finding.fix) if finding.fix else "",
        "Source": _source(finding.source) if finding.source else "",
    }
    pairs = {name: text for name, text in pairs.items() if text}
    evidence = ""
    if finding.evidence:
        evidence = (
            f"<figure><figcaption>{escape(str(finding.evidence))}</figcaption>"
            f"<pre>{escape(finding.evidence.text)}</pre></figure>"
        )
    return (
        f'<article class="finding {severity}"><h3><span class="badge">{severity}</span> '
        f'{escape(finding.message)} <span class="times">{times}</span></h3>'
        f'<p class="about">{escape(finding.subject)}'
        f" <code>{escape(finding.rule)}</code></p>"
        f"{definitions(pairs) if pairs else ''}{evidence}</article>"
    )


def _source(source: str) -> str:
    text = escape(source)
    if not _URL.fullmatch(source):
        return text
    return f'<a href="{text}" rel="noreferrer">{text}</a>'


def _unknowns(report: LogReport) -> str:
    if not report.unknowns:
        return ""
    pairs = ((escape(each.what), escape(each.remedy)) for each in report.unknowns)
    items = (f"<li>{what}<br>To find out: {remedy}</li>" for what, remedy in pairs)
    listed = f"<ul>{''.join(items)}</ul>"
    return _section("unknowns", "What the log does not show", listed)


def _ranks(layout: Layout) -> str:
    if not layout.nodes:
        return _section("ranks", "Ranks", "<p>The log names no rank.</p>")
    content = f"{render_key(layout)}\n{render_grid(layout)}"
    return _section("ranks", "Ranks by node", content)


def _transports(transports: Sequence[Transport], layout: Layout) -> str:
    if not transports:
        return ""
    drawn = without_silent(layout, transports)
    matrix = render_matrix(transports, drawn)
    content = (
        f"<p>{render_note(drawn)}</p>\n{render_legend(transports)}\n"
        f"{_scrolled(matrix, 'Matrix of transports')}"
    )
    return _section("transports", "How the ranks send to each other", content)


def _table(report: LogReport, layout: Layout) -> str:
    if not report.ranks:
        return ""
    shown = fold_alike(layout)
    content = (
        f"<table>\n<thead>{render_head()}</thead>\n"
        f'<tbody id="rows">\n{render_rows(shown)}\n</tbody>\n</table>'
    )
    late = " late" if len(shown.ranks) > MOST_FOCUSABLE else ""
    content = _scrolled(content, "Table of ranks", look=f" tall{late}")
    if missing := report.job.ranks_missing:
        count = count_of(len(missing), "rank")
        note = f"<p>Not in the log: {count}, {number_ranges(missing)}.</p>"
        content = f"{note}\n{content}"
    if folded := len(report.ranks) - len(shown.ranks):
        note = (
            f"<p>Left out: {folded:,} ranks of nodes that look like one of these.</p>"
        )
        content = f"{note}\n{content}"
    return _section("table", "Rank by rank", content)


def _section(name: str, title: str, content: str) -> str:
    return (
        f'<section aria-labelledby="{name}-title" id="{name}">\n'
        f'<h2 id="{name}-title">{title}</h2>\n{content}\n</section>'
    )


def _scrolled(content: str, label: str, *, look: str = "") -> str:
    """Return *content* in a box that scrolls by itself, so that the page does not."""
    box = f'class="scroll{look}" role="region" tabindex="0" aria-label="{label}"'
    return f"<div {box}>\n{content}\n</div>"


def _data(transports: Sequence[Transport]) -> dict[str, object]:
    """Return what the script lists for a rank: sender, receiver and kind by number."""
    kinds: dict[str, int] = {}
    if len(transports) > _MOST_LISTED:
        return {"kinds": [], "transports": []}
    listed = [
        [each.sender, each.receiver, kinds.setdefault(describe(each), len(kinds))]
        for each in transports
    ]
    return {"kinds": list(kinds), "transports": listed}
