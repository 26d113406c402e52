"""Evidence next to the processes: the end of the log, Flight Recorder dumps, RAS."""

import os
import stat
from collections.abc import Iterator, Sequence
from typing import BinaryIO

from envcfg.log.collective.flight_recorder import FlightDump, read_flight
from envcfg.log.collective.lagging_ranks import culprits, lag, out_of_step
from envcfg.log.collective.trace_fields import LARGEST, TraceError
from envcfg.log.numbers import grouped
from envcfg.nodes.hang.hang_records import (
    FLIGHT,
    Evidence,
    HangNode,
    HangRank,
    LaggingRanks,
    LastLine,
    program_names,
)
from envcfg.nodes.hang.ras_answers import ask_ras

_TAIL = 1 << 16  # bytes at the end of a log that must contain its last line
_MOST = 1 << 24  # bytes of a log with counted lines; counting more takes too long
_OWN = b"envcfg: "  # begins the lines of envcfg
_WIDTH = 300  # characters of a line to show


def last_line(path: str, now: float) -> LastLine:
    """Return the end of the log at *path*; *now* is the time, seconds since 1970."""
    try:
        with _open_file(path) as file:
            status = os.fstat(file.fileno())
            file.seek(max(0, status.st_size - _TAIL))
            tail = file.read(_TAIL).split(b"\n")
            filled = [n for n, line in enumerate(reversed(tail)) if line.strip()]
            # envcfg's own reports, such as those of its watcher, are no sign of life.
            of_job = (n for n in filled if not tail[-1 - n].startswith(_OWN))
            below, number = next(of_job, None), None
            if below is not None and status.st_size <= _MOST:
                file.seek(0)
                blocks = iter(lambda: file.read(_TAIL), b"")
                number = sum(block.count(b"\n") for block in blocks) + 1 - below
    except OSError as err:
        return LastLine(path, err.strerror or str(err))
    text = b"" if below is None else tail[-1 - below]
    return LastLine(
        path=path,
        line=number,
        # A progress bar rewrites one line again and again, and only its end counts.
        text=text.strip().split(b"\r")[-1].decode("utf-8", "replace").strip()[:_WIDTH],
        # Clocks of nodes and file server differ, so the age may be negative.
        age=max(0.0, now - status.st_mtime) if filled[:1] in ([], [below]) else None,
    )


def ask_libraries(
    evidence: Evidence, now: float, before: Sequence[HangNode] = ()
) -> Evidence:
    """Return *evidence* with that of NCCL and PyTorch on lagging ranks.

    *now* is in seconds since 1970; *before* are the views of the look before, if any.
    """
    nodes = evidence.nodes
    problems: dict[str, str] = {}
    behind, nodes_read = ask_ras(nodes, problems, before)
    ranks = [rank for node in nodes for rank in node.ranks]
    names = program_names(ranks)
    # A file that several programs write proves nothing about any of them.
    writers = grouped(ranks, lambda rank_view: rank_view.dump_path)
    programs = {k: {names[r.host, r.pid] for r in some} for k, some in writers.items()}
    shared = [path for path, some in programs.items() if path and len(some) > 1]
    if shared:
        problems[FLIGHT] = f"several programs write their dumps to {min(shared)}"
    dumps: list[FlightDump] = []
    for program in sorted(set(names.values())):
        own = [r for r in ranks if names[r.host, r.pid] == program]
        flight_dumps = _read_dumps(
            [r for r in own if r.dump_path not in shared], problems
        )
        dumps += flight_dumps
        missing = len(own) - len(flight_dumps)
        # On a slow node most ranks have not finished their dump; that is no hang.
        if flight_dumps and missing > len(flight_dumps):
            problems[FLIGHT] = f"{missing} of {len(own)} ranks have written no dump"
            continue
        for ranks_behind in _lagging(flight_dumps, {r.rank for r in own}, now):
            behind.append(ranks_behind._replace(program=program))
    calls = [entry.created for dump in dumps for entry in dump.entries if entry.created]
    return evidence._replace(
        behind=tuple(behind),
        ras_read=nodes_read,
        flights=tuple(dump.rank for dump in dumps),
        problems=problems,
        called=_seconds_since(max(calls, default=None), now),
    )


def _read_dumps(
    ranks: Sequence[HangRank], problems: dict[str, str]
) -> list[FlightDump]:
    """Return the dumps that ranks wrote now; *problems* gets reasons for missing ones."""
    fresh = [rank for rank in ranks if rank.dump == "new"]
    rank_views = [rank for rank in ranks if rank.dump]
    # An older dump describes another hang, and would name the wrong ranks.
    if rank_views and not fresh:
        is_old = any(rank.dump == "old" for rank in ranks)
        older = ", and those that are there are older" if is_old else ""
        problems[FLIGHT] = f"no rank has written a dump now{older}"
        return []
    dumps: list[FlightDump] = []
    for rank_view in fresh:
        path = rank_view.dump_path
        try:
            with _open_file(path) as file:
                data = file.read(LARGEST + 1)
            # The path may be node-local, and this machine has another file there.
            if rank_view.dump_size not in (None, len(data)):
                problems[FLIGHT] = (
                    f"{path} here is another file than on {rank_view.host}"
                )
                continue
            dumps.append(read_flight(data, rank_view.rank))
        except OSError as err:
            problems[FLIGHT] = (
                f"{path} (of {rank_view.host}) cannot be read: {err.strerror}"
            )
        except TraceError as err:
            problems[FLIGHT] = f"{path}: {err.message}"
    return dumps


def _lagging(
    dumps: Sequence[FlightDump], everyone: set[int], now: float
) -> Iterator[LaggingRanks]:
    """Yield the ranks that others wait for, or that have called another operation.

    A rank that cannot write a dump is stopped, so it cannot call a collective either.
    *everyone* are the ranks of the job; *now* is the time, seconds since 1970.
    """
    lags = lag(dumps, everyone)
    first = culprits(dumps, lags)
    for group in lags:
        if group.behind and group.waiting:
            is_stuck = bool(group.done and not group.absent)
            yield LaggingRanks(
                by=FLIGHT,
                ranks=tuple(sorted(group.behind)),
                waiting=len(group.done if is_stuck else group.waiting),
                operation=group.operation,
                group=group.desc or group.group,
                number=group.seq
                if is_stuck
                else max(group.absent.values(), default=None),
                most=group.seq,
                since=_seconds_since(group.since, now),
                where=group.place,
                elsewhere=next(iter(group.elsewhere.values()), ""),
                follows=first.isdisjoint(group.behind),
            )
    for difference in out_of_step(dumps):
        # The smallest group is named, because the majority is taken as correct.
        *calls, (call, ranks) = difference.calls
        yield LaggingRanks(
            by=FLIGHT,
            ranks=ranks,
            waiting=sum(len(callers) for _, callers in calls),
            operation=f"{call} where others call {calls[0][0]}",
            group=difference.desc or difference.group,
            most=difference.seq,
            differs=difference.differs,
        )


def _seconds_since(moment: float | None, now: float) -> float | None:
    """Return the seconds until *now* of a moment in ns; None stays None."""
    return None if moment is None else max(0.0, now - moment / 1e9)


def _open_file(path: str) -> BinaryIO:
    """Open a regular file: reading a pipe or terminal would take its bytes away."""
    # O_NONBLOCK keeps the open of a pipe without a writer from waiting.
    file = open(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb")  # noqa: SIM115
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise OSError(0, "it is not a file")
    return file
