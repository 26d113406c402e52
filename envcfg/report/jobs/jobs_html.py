"""Many jobs as one self-contained page of HTML, in the style of the page of check-log."""

from __future__ import annotations

from itertools import islice

from envcfg.common.provenance import marked
from envcfg.jobs.questions import count_jobs, failing_nodes
from envcfg.jobs.store import Store
from envcfg.log.verdict import WORST_FIRST
from envcfg.report.log.log_html import content_hash, template_of

_MOST = 10_000  # jobs of a page, which then has less than 5 MB
_MOST_ROWS = 100  # of each other table
_CUT = 120  # characters of a cause
# Fields of jobs, and of nodes, in the order of their columns.
_COLUMNS = (
    *("id", "verdict", "user", "name", "cause", "next", "state", "network"),
    *("nodes", "gpu_hours", "lost_hours", "ended"),
)
_NODE = ("node", "failures", "jobs", "users", "fingerprints", "last", "reason")


def jobs_html(store: Store) -> str:
    """Return the page on the selected jobs of *store*."""
    causes, weeks = count_jobs(store, "cause"), count_jobs(store, "week")
    log_page, _ = template_of("report/log/page.html")
    text, template = template_of("report/jobs/page.html")
    own = "<style>" + text.rpartition("<style>")[2]  # the one of this page
    names = [*causes[0]][1:] if causes else []
    sums = {name: sum(row[name] or 0 for row in causes) for name in names}
    counts = [(verdict, sums[verdict]) for verdict in WORST_FIRST if sums.get(verdict)]
    page = template.render(
        shared_style=log_page.partition("<style>")[2].partition("</style>")[0],
        style_hashes=[content_hash(page, "style") for page in (log_page, own)],
        script_hash=content_hash(text, "script"),
        counts=counts,
        sums=sums,
        nodes=[
            [getattr(node, field) for field in _NODE]
            for node in failing_nodes(store)
            if node.is_bad
        ],
        node_columns=_NODE,
        causes=[tuple(row.values()) for row in causes[:_MOST_ROWS]],
        weeks=[tuple(row.values()) for row in weeks[-_MOST_ROWS:]],
        columns=_COLUMNS,
        rows=[
            [_cell(getattr(job, field)) for field in _COLUMNS]
            for job in islice(store.records(), _MOST)
        ],
        many="{:,}".format,
        title=_title,
        number=lambda value: f"{value:,.1f}" if isinstance(value, float) else value,
    )
    # The first line is a comment of the template, which is not part of the page.
    return marked("page", page.partition("\n")[2])


def _title(name: str) -> str:
    words = name.replace("gpu_", "GPU-").replace("tcp_", "TCP ").replace("_", " ")
    return words if words[:3].isupper() else words.capitalize()


def _cell(value: object) -> object:
    text = value if isinstance(value, str) else ""
    return f"{text[:_CUT]}…" if len(text) > _CUT else value
