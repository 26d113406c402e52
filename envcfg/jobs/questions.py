"""Questions to a store: counts, histories of causes, and nodes that fail."""

from typing import Any

from envcfg.jobs.job_record import DEAD
from envcfg.jobs.node_failures import (
    CLASSES,
    FailingNode,
    NodeFailure,
    find_failing_nodes,
)
from envcfg.jobs.selection import NUMBERS
from envcfg.jobs.store import Store
from envcfg.log.numbers import count_of
from envcfg.log.verdict import WORST_FIRST

# Jobs whose end the scheduler has not reported.
_ENDS = ", ".join(f"'{state}'" for state in (*DEAD, "COMPLETED"))
OPEN = f"state NOT IN ({_ENDS}) AND raw_id GLOB '[0-9]*'"
# What is grouped, and its column.
_BY = {
    "cause": ("fingerprint", "min(title) AS cause"),
    "node": ("value", "value AS node"),
}
_SUMS = ", ".join(
    [
        "count(*) AS jobs",
        *(f"sum(verdict = '{verdict}') AS {verdict}" for verdict in WORST_FIRST),
        *(f"round(sum({name}), 2) AS {name}" for name in NUMBERS if "hours" in name),
    ]
)


def open_jobs(store: Store) -> list[str]:
    """Return the ids of jobs without an end in the scheduler's reports."""
    rows = store.query(f"SELECT DISTINCT raw_id FROM jobs WHERE {OPEN}")
    return [id_ for (id_,) in rows if id_.replace("_", "").isdecimal()]


def _chosen(store: Store) -> str:
    """Return the selected jobs as a table; a list's entries have columns of same names."""
    return f"(SELECT * FROM jobs WHERE {store.where})"


def failing_nodes(store: Store) -> list[FailingNode]:
    """Return the nodes of the selected jobs on which jobs failed, worst first."""
    classes = ", ".join(f"'{name}'" for name in CLASSES)
    # The only node of a job is the one that failed.
    only = "CASE WHEN bad_nodes = '[]' AND nodes = 1 THEN node_names ELSE bad_nodes END"
    failures = store.query(
        f"SELECT value, user, fingerprint, substr(ended, 1, 10) FROM {_chosen(store)}, "
        f"json_each({only}) WHERE class IN ({classes})",
        store.values,
    )
    ran = store.query(
        f"SELECT value, count(*) FROM {_chosen(store)}, json_each(node_names) "
        "GROUP BY value",
        store.values,
    )
    return find_failing_nodes((NodeFailure(*row) for row in failures), dict(ran))


def count_jobs(store: Store, by: str) -> list[dict[str, Any]]:
    """Return counts and GPU-hours of the selected jobs, by columns or a word of
    ``_BY``."""
    key, head = _BY.get(by, (by, by))
    names = ", json_each(node_names)" if by == "node" else ""
    order = "1" if by == "week" else "lost_hours DESC, broken DESC, jobs DESC, 1"
    return store.rows(
        f"SELECT {head}, {_SUMS} FROM {_chosen(store)}{names} "
        f"GROUP BY {key} ORDER BY {order}",
        store.values,
    )


def cause_history(store: Store, fingerprint: str) -> str:
    """Return how often a cause occurred in *store*, and the next success; else nothing."""
    ((many, first, last),) = store.query(
        "SELECT count(*), min(ended), max(ended) FROM jobs WHERE fingerprint = ?",
        [fingerprint],
    )
    if not (fingerprint and many):
        return ""
    text = f"{count_of(many, 'job')} of the store, {first[:10]} to {last[:10]}"
    # The last one with this cause decides, because a pair of all jobs takes hours.
    success = store.query(
        "SELECT id FROM jobs, (SELECT name AS own, user AS owner, ended AS since "
        "FROM jobs WHERE fingerprint = ? AND name != '' ORDER BY ended DESC LIMIT 1) "
        "WHERE name = own AND user = owner AND ended > since "
        "AND verdict != 'broken' AND (state = 'COMPLETED' "
        "OR state = '' AND (next = 'done' OR verdict = 'ok')) ORDER BY ended LIMIT 1",
        [fingerprint],
    )
    return f"{text}; next success: job {success[0][0]}" if success else text
