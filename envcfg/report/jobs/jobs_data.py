"""Many jobs for programs: JSON, CSV, NDJSON, OpenMetrics, and a list of nodes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from envcfg.common.characters import one_line
from envcfg.core.bad_nodes import HEAD
from envcfg.jobs.node_failures import FailingNode
from envcfg.jobs.part_file import with_identity
from envcfg.jobs.questions import count_jobs, failing_nodes
from envcfg.jobs.store import Store
from envcfg.log.names import is_node_name
from envcfg.log.numbers import count_of
from envcfg.report.document import fields_of, json_text

_LABELS = ("verdict", "class", "partition")
# Metrics with their help, and the column of each.
_METRICS = {
    "envcfg_jobs": ("Jobs by verdict, class of the cause and partition", "jobs"),
    "envcfg_gpu_hours": ("GPU-hours of these jobs", "gpu_hours"),
    "envcfg_lost_gpu_hours": (
        "GPU-hours that dead jobs lost",
        "lost_hours",
    ),
    "envcfg_tcp_gpu_hours": ("GPU-hours of jobs with TCP between nodes", "tcp_hours"),
}


def data_lines(store: Store, form: str, by: str | None) -> Iterator[str]:
    """Yield the selected jobs of *store*, or counts of them *by* a name.

    Args:
        form: ``json``, ``csv``, ``ndjson``, ``openmetrics`` or ``bad-nodes``; ``part``:
            as ndjson, with the identity of files.
    """
    rows: Iterable[dict[str, object]] = map(fields_of, store.records())
    if form == "openmetrics":
        yield from _metric_lines(count_jobs(store, ", ".join(_LABELS)))
    elif form == "bad-nodes":
        yield from _bad_node_lines(failing_nodes(store))
    elif form == "part":
        yield from _json_lines(with_identity(rows, store))
    else:
        rows = count_jobs(store, by) if by else rows
        if form == "json":
            key = "counts" if by else "jobs"
            yield json_text({"jobs": None, "counts": None, key: [*rows]})
        else:
            yield from (_csv if form == "csv" else _json_lines)(rows)


def _json_lines(rows: Iterable[Mapping[str, object]]) -> Iterator[str]:
    for row in rows:
        yield json_text(row, None, version=None)


def _csv(rows: Iterable[Mapping[str, object]]) -> Iterator[str]:
    import csv
    import io

    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    for number, row in enumerate(rows):
        if not number:
            writer.writerow(row)
        writer.writerow(map(_cell, row.values()))
        yield text.getvalue()
        text.seek(0)
        text.truncate()


def _cell(value: object) -> object:
    if isinstance(value, tuple):
        return " ".join(map(str, value))
    # A spreadsheet would run a text that begins like a formula.
    if isinstance(value, str) and value[:1] in ("=", "+", "-", "@"):
        return f"'{value}"
    return value


def _metric_lines(rows: Sequence[Mapping[str, object]]) -> Iterator[str]:
    """Yield counts of jobs in the format of OpenMetrics 1.0.

    Args:
        rows: with the labels, and the columns of the metrics.
    """
    for name, (text, column) in _METRICS.items():
        yield f"# TYPE {name} gauge\n# HELP {name} {text}.\n"
        for row in rows:
            labels = ",".join(f'{label}="{_label(row[label])}"' for label in _LABELS)
            yield f"{name}{{{labels}}} {row[column] or 0}\n"
    yield "# EOF\n"


def _label(value: object) -> str:
    return one_line(str(value)).replace("\\", r"\\").replace('"', r"\"")


def _bad_node_lines(nodes: Iterable[FailingNode]) -> Iterator[str]:
    """Yield the bad ones of *nodes* as a list for ``--exclude-from``."""
    yield f"{HEAD}\n"
    for node in nodes:
        if node.is_bad and is_node_name(node.node):
            reason = f"{count_of(node.failures, 'failure')}, {node.reason}"
            yield f"{node.node} {node.last}T00:00:00Z {one_line(reason)}\n"
