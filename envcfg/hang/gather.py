"""What stands beside the processes: the end of the log, Flight Recorder's dumps, RAS."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from envcfg.hang.answers import ask_ras
from envcfg.hang.flights import lagging, open_file, read_dumps
from envcfg.hang.programs import program_names
from envcfg.hang.records import FLIGHT, Behind, LastLine, NodeView, RankView
from envcfg.trace.flight import FlightDump

_TAIL = 1 << 16  # bytes of a log in which its last line is looked for
_MOST = 1 << 24  # bytes of a log whose lines are counted
_WIDTH = 300  # characters of a line that are told


def last_line(path: str, now: float) -> LastLine:
    """Return how the log at *path* ends; *now* is the time, seconds since 1970."""
    try:
        with open_file(path) as file:
            status = os.fstat(file.fileno())
            file.seek(max(0, status.st_size - _TAIL))
            tail = file.read(_TAIL).split(b"\n")
            below = next(
                (n for n, each in enumerate(reversed(tail)) if each.strip()), None
            )
            number = None
            if below is not None and status.st_size <= _MOST:
                file.seek(0)
                count = sum(
                    block.count(b"\n") for block in iter(lambda: file.read(_TAIL), b"")
                )
                number = count + 1 - below
    except OSError as err:
        return LastLine(path, err.strerror or str(err))
    text = b"" if below is None else tail[-1 - below]
    return LastLine(
        path=path,
        line=number,
        # A bar of progress writes itself again and again on one line.
        text=text.strip().split(b"\r")[-1].decode("utf-8", "replace").strip()[:_WIDTH],
        age=max(0.0, now - status.st_mtime),
    )


class Known(NamedTuple):
    """What NCCL and PyTorch know; the fields are those of ``Evidence``."""

    behind: tuple[Behind, ...]
    ras_read: tuple[str, ...]
    flights: tuple[int, ...]
    problems: dict[str, str]
    called: float | None


def ask_libraries(
    nodes: Sequence[NodeView], now: float, before: Sequence[NodeView] = ()
) -> Known:
    """Return what NCCL and PyTorch know of ranks that lag.

    Args:
        nodes: what they have said.
        now: the time, seconds since 1970.
        before: what they said some time ago, if they were looked at twice.
    """
    problems: dict[str, str] = {}
    behind, read = ask_ras(nodes, problems, before)
    ranks = [each for node in nodes for each in node.ranks]
    names = program_names(ranks)
    shared = _shared(ranks, names, problems)
    dumps: list[FlightDump] = []
    for program in sorted(set(names.values())):
        own = [r for r in ranks if names[r.host, r.pid] == program]
        found = read_dumps([r for r in own if r.dump_path not in shared], problems)
        for each in lagging(found, {r.rank for r in own}, now):
            behind.append(each._replace(program=program))
        dumps += found
    calls = [entry.created for dump in dumps for entry in dump.entries if entry.created]
    return Known(
        behind=tuple(behind),
        ras_read=read,
        flights=tuple(each.rank for each in dumps),
        problems=problems,
        called=max(0.0, now - max(calls) / 1e9) if calls else None,
    )


def _shared(
    ranks: Sequence[RankView],
    names: Mapping[tuple[str, int], str],
    problems: dict[str, str],
) -> set[str]:
    """Return the files that ranks of several programs write their dumps to."""
    writers: dict[str, set[str]] = {}
    for each in ranks:
        if each.dump_path:
            writers.setdefault(each.dump_path, set()).add(names[each.host, each.pid])
    shared = {path for path, programs in writers.items() if len(programs) > 1}
    if shared:
        problems[FLIGHT] = f"several programs write their dumps to {min(shared)}"
    return shared
