"""The site's exporter on a node: its question, and its answer parsed into :class:`Gpu`.

The probe asks it on the node itself: other hosts may not reach its port, and any user of
the node may. Only lines of known metrics come here (exporters.yaml).
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from math import isfinite
from typing import Any

from envcfg.common.characters import whole_number
from envcfg.nodes.probe.exporter_names import END, exporters
from envcfg.nodes.probe.gpu import Answer, Gpu

_LABEL = r'[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\x00-\x1f\x7f]|\\[\\"n])*"'
_LINE = re.compile(
    rf"(?P<name>\w+)\{{(?P<labels>(?:{_LABEL}(?:, ?{_LABEL})*,?)?)\}} "
    r"(?P<value>[-+0-9.eE]{1,40}|NaN|[+-]Inf)(?: -?[0-9]{1,20})?",
    re.ASCII,
)
_PAIR = re.compile(r'([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"', re.ASCII)
# Drivers print numbers beyond these for an unknown value.
_MOST = {"use": 100, "memory_share": 100, "power": 1e5, "clock": 6e4, "xid": 1e4}
_MOST_OF_OTHERS = 1 << 52
_MOST_GPUS = 64
_COUNTS = ("memory_used", "memory_total", "throttle", "corrected", "uncorrected", "xid")
# Values by field, and by the place of their metric in the list of that field.
_Series = dict[tuple[str, int], set[float | None]]


def read_exporter(name: str, lines: Sequence[str], host: str) -> Answer:
    """Return the GPUs in the answer of exporter *name* on *host*, or the problem with it.

    The first line is the name of the node in its kernel. A line that is not understood
    makes the whole answer unusable.
    """
    entry = exporters()[name]
    kernel_host, *texts = [line for line in lines if line.strip()] or [""]
    if texts[-1:] != [END]:
        return (), "its answer is incomplete"
    nodes = {node.partition(".")[0] for node in (host, kernel_host)}
    gpus: dict[int, _Series] = {}
    for text in texts[:-1]:
        match = _LINE.fullmatch(text)
        if match is None:
            return (), "its answer is not in the format of Prometheus"
        labels = dict(_PAIR.findall(match["labels"]))
        number = whole_number(labels.get(entry["gpu"]))
        if number is None or number >= _MOST_GPUS:
            return (), f"its values have no number of a GPU ({entry['gpu']})"
        node = labels.get(entry.get("host"))
        if node and node.partition(".")[0] not in nodes:
            return (), "its values are those of another node"
        series = gpus.setdefault(number, {})
        for field, place in _fields(entry["values"], match["name"], labels):
            value = _value(field, match["value"], entry["values"][field])
            series.setdefault((field, place), set()).add(value)
    rows = tuple(_gpu(number, series) for number, series in sorted(gpus.items()))
    return rows, None if rows else "it prints no GPU"


def _fields(
    values: Mapping[str, Any], metric: str, labels: Mapping[str, str]
) -> Iterator[tuple[str, int]]:
    """Yield the fields that *metric* is a value of, with its place in their metrics."""
    for field, value in values.items():
        selection = value.get("with", {}).items()
        if metric in value["metrics"] and all(
            labels.get(n) in some for n, some in selection
        ):
            yield field, value["metrics"].index(metric)


def _value(field: str, text: str, value: Mapping[str, Any]) -> float | None:
    try:
        number = float(text) * value.get("times", 1)
    except ValueError:
        return None
    is_value = isfinite(number) and 0 <= number <= _MOST.get(field, _MOST_OF_OTHERS)
    return number if is_value else None


def _gpu(number: int, series: _Series) -> Gpu:
    fields: dict[str, Any] = {}
    # The first metric of a field counts, and so comes last.
    for (field, _), values in sorted(series.items(), key=lambda one: -one[0][1]):
        # Several values are those of parts of the GPU (MIG), and none is the whole.
        fields[field] = next(iter(values)) if len(values) == 1 else None
    free, share = fields.pop("memory_free", None), fields.pop("memory_share", None)
    used, total = fields.get("memory_used"), fields.get("memory_total")
    if free is not None and used is not None:
        fields["memory_total"] = used + free
    if share is not None and total is not None:
        fields["memory_used"] = total * share / 100
    for field in _COUNTS:
        if fields.get(field) is not None:
            fields[field] = int(fields[field])
    return Gpu(number, **fields)
