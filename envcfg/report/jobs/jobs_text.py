"""Many jobs as text: causes with their jobs, or counts of each group."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby

from envcfg.common.characters import screen_width, text_width
from envcfg.common.failure import STDOUT
from envcfg.jobs.job_record import JobRecord
from envcfg.jobs.node_failures import FailingNode
from envcfg.jobs.questions import cause_history, count_jobs, failing_nodes
from envcfg.jobs.store import BY_CAUSE, Store
from envcfg.log.numbers import count_of
from envcfg.report.styled import Line, in_columns

_STYLES = {"broken": "bold red", "degraded": "bold yellow", "ok": "green"}
_HEADS = "JOB NAME USER STATE NODES GPU-HOURS NETWORK NEXT".split()
_WIDE = 32  # characters of a cell
_NOTES = 3  # of a group


def text_lines(store: Store, by: str | None) -> Iterator[Line]:
    """Yield the selected jobs of *store*, or counts of them *by* a name."""
    if not by:
        # Without a file, the history of a cause is the list itself.
        yield from _job_lines(store.records(BY_CAUSE), store if store.path else None)
        return
    yield from _table_lines(count_jobs(store, by))
    if by == "node":
        yield from _node_lines(failing_nodes(store))


def _job_lines(records: Iterable[JobRecord], store: Store | None) -> Iterator[Line]:
    """Yield jobs below their cause, in their order.

    Args:
        records: jobs with one cause after another.
        store: has the history of causes.
    """
    for (verdict, _), group in groupby(records, lambda r: (r.verdict, r.fingerprint)):
        jobs = [*group]
        title = jobs[0].title if jobs[1:] else jobs[0].cause
        hours = sum(job.lost_hours or 0 for job in jobs)
        lost = f"{hours:.1f} GPU-hours lost" if hours else ""
        before = cause_history(store, jobs[0].fingerprint) if store else ""
        about = [title or "no fault seen", lost, before]
        many = count_of(len(jobs), "job")
        text = f"{many} {verdict}: {'; '.join(filter(None, about))}"
        yield _STYLES.get(verdict, "bold"), text
        for line in _fitting([_HEADS, *map(_cells, jobs)]):
            yield "", f"  {line}"
        notes = dict.fromkeys(note for job in jobs for note in job.notes)
        for note in [*notes][:_NOTES]:
            yield "dim", f"  note: {note}"
        yield "", ""


def _cells(job: JobRecord) -> tuple[str, ...]:
    cells = (
        *(job.id or job.name, job.name if job.id else "", job.user, job.state),
        *(_number(job.nodes), _number(job.gpu_hours), job.network, job.next),
    )
    return tuple(
        cell if len(cell) <= _WIDE else f"{cell[: _WIDE - 1]}…"
        for cell in (cell or "-" for cell in cells)
    )


def _fitting(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return *rows* as lines of the terminal, without the columns that have no value."""
    columns = [c for c in zip(*rows, strict=True) if not {*c[1:]} <= {"-", "0"}]
    width = screen_width(STDOUT) or text_width()
    return in_columns([*zip(*columns, strict=True)], width)


def _number(value: float | None) -> str:
    if value is None:
        return "-"
    return str(value) if isinstance(value, int) else f"{value:.1f}"


def _table_lines(rows: Sequence[Mapping[str, object]]) -> Iterator[Line]:
    """Yield *rows* of one form as a table."""
    if not rows:
        return
    cells = [
        [value if isinstance(value, str) else _number(value) for value in row.values()]  # type: ignore[arg-type]
        for row in rows
    ]
    heads = [name.upper().replace("_", " ") for name in rows[0]]
    for at, line in enumerate(_fitting([heads, *cells])):
        yield "" if at else "bold", line


def _node_lines(nodes: Sequence[FailingNode]) -> Iterator[Line]:
    """Yield the nodes on which jobs fail more often than chance explains."""
    bad = [node for node in nodes if node.is_bad]
    many = count_of(len(bad), "node")
    yield "bold", f"{many} on which jobs fail more often than chance explains"
    for node in bad:
        users = (
            f"{count_of(node.users, 'user')}, {count_of(node.fingerprints, 'cause')}"
        )
        ran = count_of(node.jobs, "job")
        text = f"  {node.node}: {node.failures} of {ran} failed, {users}, last on "
        text += f"{node.last}; by chance: {node.chance:.0e}; {node.reason}"
        yield "bold red", text
