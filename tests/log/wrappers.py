"""What launchers, log collectors and terminals put around a line."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import NamedTuple


class Where(NamedTuple):
    """Who wrote a line, and when."""

    rank: int
    node: int
    host: str
    local: int
    time: str
    world: int


Wrapper = Callable[[str, Where], str | None]


def iso(number: int) -> str:
    """Return the time of a line by its number: one every 3 ms."""
    seconds, milli = divmod(number * 3, 1000)
    minutes, second = divmod(seconds, 60)
    hour, minute = divmod(minutes, 60)
    return f"2026-03-{14 + hour // 24:02}T{hour % 24:02}:{minute:02}:{second:02}.{milli:03}"


def srun_right(line: str, at: Where) -> str:
    """Pad the label, as srun does from ten tasks on."""
    return f"{at.rank:>{len(str(at.world - 1))}}: {line}"


def _clock(at: Where) -> str:
    return at.time.partition("T")[2].partition(".")[0]


def moreutils_ts(line: str, at: Where) -> str:
    """Put the time in front as ``ts`` and syslog do."""
    return f"Mar {at.time[8:10]} {_clock(at)} {line}"


def journald(line: str, at: Where) -> str:
    """Name the node that collects the lines, and the program that sends them."""
    return f"Mar {at.time[8:10]} {_clock(at)} login01 slurmstepd[1234]: {line}"


def ompi_times(line: str, at: Where) -> str:
    """Begin as ``mpirun --timestamp-output`` does."""
    return f"Sat Mar {at.time[8:10]} {_clock(at)} 2026<stdout>:{line}"


def ompi_tags_and_times(line: str, at: Where) -> str:
    """Begin as ``mpirun --tag-output --timestamp-output`` does."""
    return f"Sat Mar {at.time[8:10]} {_clock(at)} 2026[1,{at.rank}]<stdout>:{line}"


def container_json(line: str, at: Where) -> str:
    """Write JSON, as engines of containers keep a log."""
    said = json.dumps(f"{line}\n")
    return f'{{"log":{said},"stream":"stdout","time":"{at.time}Z"}}'


def torch_cpp(line: str, at: Where) -> str:
    """Begin as the C++ part of PyTorch does."""
    clock = at.time.partition("T")[2]
    return f"[rank{at.rank}]:[W314 {clock}000000 ProcessGroupNCCL.cpp:4561] {line}"


def ray(line: str, at: Where) -> str:
    """Name the actor; those of other nodes with their address."""
    ip = f", ip=10.20.{at.node // 250}.{at.node % 250 + 1}" if at.node else ""
    return f"(EngineCore_DP0 pid=742) (RayWorkerWrapper pid={900 + at.rank}{ip}) {line}"


def ray_repeated(line: str, at: Where) -> str | None:
    """Show rank 0 and every eighth after it, which stands for the seven between."""
    if at.rank == 0:
        return ray(line, at)
    folded = at.rank % 8 == 7 or at.rank == at.world - 1
    return f"{ray(line, at)} [repeated 7x across cluster]" if folded else None


def ansi(line: str, at: Where) -> str:
    """Colour the line, with one colour inside it."""
    return f"\x1b[{31 + at.rank % 7}m{line.replace('NCCL', chr(27) + '[1mNCCL')}\x1b[0m"


def box(line: str, _: Where) -> str:
    """Draw the sides of a box around it."""
    return f"│ {line:<120} │"


WRAPPERS: dict[str, Wrapper] = {
    "none": lambda line, _: line,
    "srun": lambda line, at: f"{at.rank}: {line}",
    "srun-right": srun_right,
    "srun-node": lambda line, at: f"{at.node}: {line}",
    "ompi": lambda line, at: f"[1,{at.rank}]<stdout>:{line}",
    "ompi-stderr": lambda line, at: f"[1,{at.rank}]<stderr>:{line}",
    "mpich": lambda line, at: f"[{at.rank}] {line}",
    "default": lambda line, at: f"[default{at.local}]:{line}",
    "rank": lambda line, at: f"[rank{at.rank}]:{line}",
    "trainer": lambda line, at: f"[trainer{at.local}|{at.rank}]:{line}",
    "torch-cpp": torch_cpp,
    "pdsh": lambda line, at: f"{at.host}: {line}",
    "pdsh-twice": lambda line, at: f"{at.host}: {at.host}: {line}",
    "pals": lambda line, at: f"{at.host}.hsn.site.example {at.rank}: {line}",
    "ray": ray,
    "ray-repeated": ray_repeated,
    "cloudwatch": lambda line, at: f"  | {at.time}Z | {line}",
    "cloudwatch-twice": lambda line, at: f"  | {at.time}-07:00{line} | {line}",
    "box": box,
    "ansi": ansi,
    "crlf": lambda line, _: f"{line}\r",
    "iso": lambda line, at: f"{at.time}Z {line}",
    "iso-glued": lambda line, at: f"{at.time}-07:00{line}",
    "ts": moreutils_ts,
    "journald": journald,
    "ompi-times": ompi_times,
    "ompi-tags-times": ompi_tags_and_times,
    "clock": lambda line, at: f"{at.time.partition('T')[2]} {line}",
    "clock-level": lambda line, at: f"{_clock(at)} INFO worker {line}",
    "date-clock": lambda line, at: f"14/03/2026 {_clock(at)} | {line}",
    "logging": lambda line, _: f"INFO:root:{line}",
    "json": container_json,
    "quote": lambda line, _: f"'{line}',",
    "repr": lambda line, _: f"b'{line}\\n'",
    "backtick": lambda line, _: f"`{line}`",
    "csv": lambda line, at: f'"{at.time}","{line}"',
    "escaped": lambda line, _: f"{line}\\n",
    "html": lambda line, _: f"{line}<br>",
    "diff": lambda line, _: f"+{line}",
    "mail": lambda line, _: f">{line}",
    "magic": lambda line, _: f"# MAGIC {line}",
    "grep": lambda line, at: f"rank_{at.rank}.{at.host}.{4000 + at.rank}.log:{line}",
}

# Programs, shells and people put these around a line, and no launcher does.
QUOTES = frozenset(
    "ansi backtick box clock-level csv date-clock diff grep logging magic mail quote repr".split()
)

# What the number or name of a wrapper stands for.
LABELS: dict[str, str] = {
    "srun": "rank",
    "srun-right": "rank",
    "srun-node": "node",
    "ompi": "rank",
    "ompi-stderr": "rank",
    "ompi-tags-times": "rank",
    "mpich": "rank",
    "default": "local",
    "rank": "rank",
    "trainer": "rank",
    "torch-cpp": "rank",
    "pdsh": "host",
    "pdsh-twice": "host",
    "pals": "rank",
    "grep": "rank",
}
