"""Questions to a store: counts, histories of causes, and nodes that fail."""

from __future__ import annotations

from collections.abc import Sequence
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
_BY = {
    "cause": ("fingerprint", "min(title)"),
    "node": ("value", "value"),
    **{name: (name, name) for name in ("user", "account", "partition", "week")},
}
_SUMS = ", ".join(
    [
        "count(*) AS jobs",
        *(f"sum(verdict = '{verdict}') AS {verdict}" for verdict in WORST_FIRST),
        *(f"round(sum({name}), 2) AS {name}" for name in NUMBERS if "hours" in name),
    ]
)


def open_jobs(store: Store) -> list[str]:
    """Return the ids of jobs whose end the scheduler has not reported."""
    rows = store.query(f"SELECT DISTINCT raw_id FROM jobs WHERE {OPEN}")
    return [id_ for (id_,) in rows if id_.replace("_", "").isdecimal()]


def failing_nodes(store: Store, where: str, values: Sequence[Any]) -> list[FailingNode]:
    """Return the nodes of the selected jobs on which jobs failed, worst first."""
    classes = ", ".join(f"'{name}'" for name in CLASSES)
    # The only node of a job is the one that failed.
    nodes = (
        "CASE WHEN bad_nodes = '[]' AND nodes = 1 THEN node_names ELSE bad_nodes END"
    )
    failures = store.query(
        f"SELECT value, user, fingerprint, substr(ended, 1, 10) "
        f"FROM jobs, json_each({nodes}) "
        f"WHERE class IN ({classes}) AND verdict != 'ok' AND ({where})",
        values,
    )
    ran = store.query(
        "SELECT value, count(*) FROM jobs, json_each(node_names) "
        f"WHERE {where} GROUP BY value",
        values,
    )
    return find_failing_nodes((NodeFailure(*row) for row in failures), dict(ran))


def count_jobs(
    store: Store, by: str, where: str, values: Sequence[Any]
) -> list[dict[str, Any]]:
    """Return counts and GPU-hours of the selected jobs, by a name in :data:`BY`."""
    key, label = _BY[by]
    names = ", json_each(node_names)" if by == "node" else ""
    order = "week" if by == "week" else "lost_hours DESC, broken DESC, jobs DESC, 1"
    return store.rows(
        f"SELECT {label} AS {by}, {_SUMS} FROM jobs{names} WHERE {where} "
        f"GROUP BY {key} ORDER BY {order}",
        values,
    )


def count_labels(
    store: Store, where: str, values: Sequence[Any]
) -> list[dict[str, Any]]:
    """Return counts and GPU-hours by verdict, class of the cause and partition."""
    labels = "verdict, class, partition"
    sql = f"SELECT {labels}, {_SUMS} FROM jobs WHERE {where} GROUP BY {labels}"
    return store.rows(sql, values)


def cause_history(store: Store, fingerprint: str) -> str:
    """Return how often a cause occurred in *store*, and the next success; else nothing."""
    ((many, first, last),) = store.query(
        "SELECT count(*), min(ended), max(ended) FROM jobs WHERE fingerprint = ?",
        [fingerprint],
    )
    if not (fingerprint and many):
        return ""
    text = f"{count_of(many, 'job')} of the store, {first[:10]} to {last[:10]}"
    success = store.query(
        "SELECT good.id FROM jobs AS good JOIN jobs AS bad ON good.name = bad.name "
        "AND good.user = bad.user AND good.ended > bad.ended WHERE bad.fingerprint = ? "
        "AND bad.name != '' AND good.verdict != 'broken' AND (good.state = 'COMPLETED' "
        "OR good.state = '' AND (good.next = 'done' OR good.verdict = 'ok')) "
        "ORDER BY good.ended LIMIT 1",
        [fingerprint],
    )
    return f"{text}; next success: job {success[0][0]}" if success else text
