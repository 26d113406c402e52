"""The lines of the probe, read into samples; others, and torn ones, are passed over.

Lines of several nodes come mixed, and those of a node's GPUs come when they come.
"""

from __future__ import annotations

import os.path
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from envcfg.characters import whole_number
from envcfg.datafile import read_text
from envcfg.monitor.gpu import mark_ours, read_gpus
from envcfg.monitor.sample import (
    KIB,
    Counter,
    GpuSample,
    GpuWait,
    NodeSample,
    Sample,
)

MARK = "envcfg-probe"
_FOLDER = os.path.dirname(os.path.abspath(__file__))
_SHORT = (
    4  # columns of /proc/stat: user, nice, system, idle; older kernels have no more
)
_MOST_LINES = 4096  # of a sample; more is not ours


def probe_script() -> str:
    """Return the shell script that runs on each node."""
    return f"{gpu_script()}\n{_read('probe.sh')}"


def gpu_script() -> str:
    """Return its beginning, which names the node and defines ``envcfg_gpus``."""
    return _read("gpus.sh")


def _read(name: str) -> str:
    return read_text(os.path.join(_FOLDER, name))


class _Open(NamedTuple):
    """A sample that has begun and not ended."""

    number: int
    words: list[str]
    lines: list[str]


class ProbeReader:
    """Reads lines of all nodes; keeps the samples that are not whole yet."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self._open: dict[tuple[str, str], _Open] = {}

    def feed(self, line: str) -> Sample | None:
        """Return the sample that *line* completes, if it does."""
        mark, _, rest = line.rstrip("\r\n").partition(" ")
        words = rest.split(" ", 4)
        if mark != MARK or len(words) < 4 or words[2] not in ("node", "gpus"):
            return None
        host, tick, kind, verb = words[:4]
        text = words[4] if len(words) > 4 else ""
        number = whole_number(tick)
        if number is None:
            return None
        if verb == "waits":
            return GpuWait(host, number)
        if verb == "begin":
            self._open[host, kind] = _Open(number, text.split(), [])
            return None
        opened = self._open.get((host, kind))
        if opened is None or opened.number != number:
            return None
        if verb != "end":
            if len(opened.lines) < _MOST_LINES:
                opened.lines.append(f"{verb} {text}")
            return None
        del self._open[host, kind]
        count = text.split()
        whole = count[:1] == [str(len(opened.lines) + 1)]
        if kind == "node":
            return _node(host, opened, is_whole=whole)
        return _gpus(host, opened, count[1:2], is_whole=whole)


def _node(host: str, opened: _Open, *, is_whole: bool) -> NodeSample | None:
    try:
        sample = NodeSample(
            host, opened.number, float(opened.words[0]), is_whole=is_whole
        )
    except (IndexError, ValueError):
        return None
    counters: list[Counter] = []
    for line in opened.lines:
        try:
            word, *values = line.split()
            if word in ("net", "rdma"):
                counters.append(_counter(values, is_adapter=word == "rdma"))
            elif word in _FIELDS:
                sample = sample._replace(**_FIELDS[word](values))
        except (IndexError, ValueError):  # noqa: PERF203  # one line, not all of them
            continue  # torn, or no number: it stays unknown
    return sample._replace(counters=tuple(counters))


def _cpu(values: list[str]) -> dict[str, int]:
    times = [int(value) for value in values[:8]]  # guests are counted in the first two
    if len(times) < _SHORT:
        raise ValueError
    waiting = sum(times[3:5])  # idle, and idle with a disk to wait for
    return {"busy": sum(times) - waiting, "spent": sum(times)}


def _memory(values: list[str]) -> dict[str, int]:
    total, available = int(values[0]) * KIB, int(values[1]) * KIB
    return {"memory_total": total, "memory_used": total - available}


_FIELDS: Mapping[str, Callable[[list[str]], dict[str, Any]]] = {
    "load": lambda values: {"load": float(values[0])},
    "cores": lambda values: {"cores": int(values[0]) or None},
    "cpu": _cpu,
    "memory": _memory,
}


def _counter(values: list[str], *, is_adapter: bool) -> Counter:
    name, received, sent = values[0], int(values[1]), int(values[2])
    if not is_adapter:
        return Counter(name, received, sent)
    unit = int(values[3])
    interface = values[4] if values[4] != "-" else None
    return Counter(name, received * unit, sent * unit, interface, is_adapter=True)


def _gpus(host: str, opened: _Open, status: list[str], *, is_whole: bool) -> GpuSample:
    tool = opened.words[0] if opened.words else "none"
    code = whole_number(status[0]) if status else None
    gpus, problem = read_gpus(tool, _joined(opened.lines), code)
    if problem and not is_whole:
        problem = "its answer has not arrived whole"
    told = (opened.words[1] if len(opened.words) > 1 else "").split(",")
    ours = [number for each in told if (number := whole_number(each)) is not None]
    return GpuSample(
        host,
        opened.number,
        tool,
        allotted=len(ours) or None,
        status=code,
        gpus=mark_ours(gpus, ours),
        problem=problem,
    )


def _joined(lines: list[str]) -> list[str]:
    """Return the tool's lines: long ones came in parts."""
    found, before = [], ""
    for line in lines:
        verb, _, text = line.partition(" ")
        if verb == "part":
            before += text
        elif verb == "text":
            found.append(before + text)
            before = ""
    return found
