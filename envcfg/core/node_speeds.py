"""The speed of nodes in earlier preflights, in a file of the user.

A node that is a few percent slower than others is no fault of a job, but all ranks wait
for it. A few nodes of one job show no usual value; those of many jobs do.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from statistics import median
from typing import NamedTuple

from envcfg.common.atomic_write import put_private
from envcfg.common.cache import state_folder
from envcfg.common.findings import Finding
from envcfg.common.nesting import read_json
from envcfg.nodes.preflight.network_judge import speeds
from envcfg.nodes.preflight.preflight_records import NodeAnswer, Report, finding

_SLOWER = 0.05  # share of the usual value
_PEERS = 4  # nodes of a kind, besides one, that have a usual value
_MOST = 8192  # nodes to keep, the newest ones
_BYTES = 4 << 20
_AGE = 90 * 86400.0  # seconds after which a measurement is too old
_LIMIT = 1e15  # of a number that is a measurement
_UNITS = {
    "gpu": "a GPU multiplied at {:.0f} TFLOPS",
    "sends": "it sent {:.3g} GB/s for each GPU",
    "receives": "it received {:.3g} GB/s for each GPU",
}


class Speed(NamedTuple):
    """The measurement of a node.

    Attributes:
        kind: cluster, and number and name of its GPUs: its peers have the same.
        when: seconds since 1970.
        values: by the names of ``_UNITS``: 10^12 operations per second of the slowest
            GPU, and 10^9 bytes per second for each GPU.
    """

    kind: str
    when: float
    values: Mapping[str, float]


def speeds_file(environ: Mapping[str, str]) -> str:
    """Return the path of the file."""
    return f"{state_folder(environ)}/node-speeds.json"


def measured(report: Report, cluster: str) -> dict[str, Speed]:
    """Return the measurements of a preflight on *cluster*, by cluster and node."""
    now, rates_of_host = time.time(), speeds(report.ranks)
    result = {}
    for host, node in report.answers.items():
        ranks = [rank for rank in report.ranks.values() if rank.host == host]
        rates = [rank.multiply for rank in ranks if rank.multiply]
        if not rates:
            continue
        sent, received = rates_of_host.get(host, (None, None))
        # Two nodes alone do not show which of them is slow.
        if len(rates_of_host) < _PEERS:
            sent = received = None
        unit = 1e9 * len(ranks)
        values = {"gpu": min(rates), "sends": sent and sent / unit}
        values["receives"] = received and received / unit
        numbers = {name: value for name, value in values.items() if value}
        kind = f"{cluster}: {_gpus(node, len(rates))}"
        result[_key(cluster, host)] = Speed(kind, now, numbers)
    return result


def _key(cluster: str, host: str) -> str:
    # Clusters with the same home may have nodes of the same name.
    return f"{cluster}/{host}"


def _gpus(node: NodeAnswer, count: int) -> str:
    gpus = [gpu for gpu in node.gpus.gpus if gpu.is_ours] if node.gpus else []
    names = {gpu.name or f"{(gpu.memory_total or 0) >> 30} GiB" for gpu in gpus}
    return f"{count} {', '.join(sorted(names))}"


def read_speeds(path: str) -> dict[str, Speed]:
    """Return the measurements in *path*, by cluster and node; empty without a good file."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            document = read_json(file.read(_BYTES))
    except (OSError, ValueError):
        return {}
    if not isinstance(document, dict):
        return {}
    now = time.time()
    nodes = {name: _speed(value) for name, value in document.items()}
    # A time in the future is of a wrong clock.
    return {n: s for n, s in nodes.items() if s and 0 <= now - s.when + 3600 < _AGE}


def _speed(value: object) -> Speed | None:
    match value:
        case {
            "kind": str(kind),
            "time": int(when) | float(when),
            "values": dict(words),
        } if 0 < when < _LIMIT:
            numbers = {
                name: float(number)
                for name, number in words.items()
                if name in _UNITS
                and isinstance(number, (int, float))
                and 0 < number < _LIMIT
            }
            return Speed(kind, float(when), numbers)
    return None


def add_speeds(path: str, new: Mapping[str, Speed]) -> dict[str, Speed]:
    """Add measurements to the file *path*; return all. A failed write has no effect."""
    import json

    merged = {**read_speeds(path), **new}
    newest = sorted(merged.items(), key=lambda item: -item[1].when)[:_MOST]
    rows = {
        name: {"kind": speed.kind, "time": round(speed.when), "values": speed.values}
        for name, speed in newest
    }
    try:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        put_private(path, (json.dumps(rows, indent=0) + "\n").encode("ascii"))
    except OSError:
        pass  # a home may not be writable on a compute node
    return merged


def slower_nodes(
    hosts: Sequence[str], cluster: str, all_speeds: Mapping[str, Speed]
) -> Iterator[Finding]:
    """Yield a note for each of *hosts* that is clearly slower than its peers."""
    own = [(h, s) for h in hosts if (s := all_speeds.get(_key(cluster, h)))]
    kinds = {speed.kind for _, speed in own}
    peers: dict[tuple[str, str], list[float]] = {}
    for speed in all_speeds.values():
        for name, value in speed.values.items() if speed.kind in kinds else ():
            peers.setdefault((speed.kind, name), []).append(value)
    usual = {key: median(values) for key, values in peers.items()}
    for host, speed in own:
        for name, value in speed.values.items():
            key = speed.kind, name
            count = len(peers[key])
            if count > _PEERS and value < (1 - _SLOWER) * usual[key]:
                words = {
                    "speed": _UNITS[name].format(value),
                    "age": _age(time.time() - speed.when),
                    "share": 100 * (1 - value / usual[key]),
                    "count": count,
                }
                yield finding("node-slower", host, **words)


def _age(seconds: float) -> str:
    minutes = max(0, int(seconds // 60))
    if minutes < 60:
        return "now" if minutes < 5 else f"{minutes} min ago"
    return f"{minutes // 60} h ago" if minutes < 2880 else f"{minutes // 1440} d ago"


def with_speeds(report: Report, cluster: str, path: str) -> Report:
    """Keep the measurements of *report*; return it with notes on slower nodes."""
    everything = (
        add_speeds(path, new)
        if (new := measured(report, cluster))
        else read_speeds(path)
    )
    nodes = dict(report.nodes)
    for note in slower_nodes([*nodes], cluster, everything):
        nodes[note.subject] = (*nodes[note.subject], note)
    return report._replace(nodes=nodes)
