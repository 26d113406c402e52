"""What stands beside the processes: the end of the log, Flight Recorder's dumps, RAS."""

import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from typing import BinaryIO, NamedTuple

from envcfg.hang.answers import ask_ras
from envcfg.hang.records import (
    FLIGHT,
    Behind,
    LastLine,
    NodeView,
    RankView,
    program_names,
)
from envcfg.log.numbers import grouped
from envcfg.trace.fields import LARGEST, TraceError
from envcfg.trace.flight import DEFAULT, FlightDump, FlightEntry, read_flight
from envcfg.trace.lag import follows, lag, out_of_step

_TAIL = 1 << 16  # bytes of a log in which its last line is looked for
_MOST = 1 << 24  # bytes of a log whose lines are counted
_WIDTH = 300  # characters of a line that are told


def last_line(path: str, now: float) -> LastLine:
    """Return how the log at *path* ends; *now* is the time, seconds since 1970."""
    try:
        with _open_file(path) as file:
            status = os.fstat(file.fileno())
            file.seek(max(0, status.st_size - _TAIL))
            tail = file.read(_TAIL).split(b"\n")
            filled = (n for n, each in enumerate(reversed(tail)) if each.strip())
            below, number = next(filled, None), None
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

    *now* is in seconds since 1970, *before* what nodes said at the look before, if any.
    """
    problems: dict[str, str] = {}
    behind, read = ask_ras(nodes, problems, before)
    ranks = [each for node in nodes for each in node.ranks]
    names = program_names(ranks)
    # A file that several programs write to tells of none of them.
    writers = grouped(ranks, lambda each: each.dump_path)
    programs = {k: {names[r.host, r.pid] for r in some} for k, some in writers.items()}
    shared = [path for path, some in programs.items() if path and len(some) > 1]
    if shared:
        problems[FLIGHT] = f"several programs write their dumps to {min(shared)}"
    dumps: list[FlightDump] = []
    for program in sorted(set(names.values())):
        own = [r for r in ranks if names[r.host, r.pid] == program]
        found = _read_dumps([r for r in own if r.dump_path not in shared], problems)
        for each in _lagging(found, {r.rank for r in own}, now):
            behind.append(each._replace(program=program))
        dumps += found
    calls = [entry.created for dump in dumps for entry in dump.entries if entry.created]
    return Known(
        behind=tuple(behind),
        ras_read=read,
        flights=tuple(each.rank for each in dumps),
        problems=problems,
        called=_seconds_since(max(calls, default=None), now),
    )


def _read_dumps(
    ranks: Sequence[RankView], problems: dict[str, str]
) -> list[FlightDump]:
    """Return the dumps that ranks have written now; *problems* gets why one lacks."""
    fresh = [each for each in ranks if each.dump == "new"]
    asked = [each for each in ranks if each.dump]
    if asked and not fresh:
        is_old = any(each.dump == "old" for each in ranks)
        older = ", and those that are there are older" if is_old else ""
        problems[FLIGHT] = f"no rank has written a dump now{older}"
        return []
    dumps: list[FlightDump] = []
    for each in fresh:
        path = each.dump_path
        try:
            with _open_file(path) as file:
                data = file.read(LARGEST + 1)
            if each.dump_size not in (None, len(data)):
                problems[FLIGHT] = f"{path} here is another file than on {each.host}"
                continue
            dumps.append(read_flight(data, each.rank))
        except OSError as err:
            problems[FLIGHT] = f"{path} (of {each.host}) cannot be read: {err.strerror}"
        except TraceError as err:
            problems[FLIGHT] = f"{path}: {err.message}"
    return dumps


def _lagging(
    dumps: Sequence[FlightDump], everyone: set[int], now: float
) -> Iterator[Behind]:
    """Yield the ranks that others wait for, or that have called something else.

    *everyone* are the ranks of the job; *now* is the time, seconds since 1970.
    """
    lags = lag(dumps)
    for group in lags:
        absent: Mapping[int, int] = group.absent
        if absent and group.waiting:
            yield Behind(
                by=FLIGHT,
                ranks=tuple(sorted(absent)),
                waiting=len(group.waiting),
                operation=group.operation,
                group=group.desc or group.group,
                number=max(absent.values()),
                most=group.seq,
                since=_seconds_since(group.since, now),
                where=group.place,
                elsewhere=next(iter(group.elsewhere.values()), ""),
                follows=follows(group, lags),
            )
    yield from _without_dump(dumps, everyone, now)
    for other in out_of_step(dumps):
        *others, least = other.steps
        yield Behind(
            by=FLIGHT,
            ranks=least.ranks,
            waiting=sum(len(step.ranks) for step in others),
            operation=f"{least.called} where others call {other.steps[0].called}",
            group=other.desc or other.group,
            most=other.seq,
            differs=other.differs,
        )


def _seconds_since(moment: float | None, now: float) -> float | None:
    """Return the seconds until *now* of a moment in ns; None stays None."""
    return None if moment is None else max(0.0, now - moment / 1e9)


def _without_dump(
    dumps: Sequence[FlightDump], everyone: set[int], now: float
) -> Iterator[Behind]:
    """Yield the ranks that all others wait for and that have written nothing.

    Who cannot write a dump, as it is stopped, cannot call anything either. The group of all
    ranks is *everyone*; gloo does not say whose the others are.
    """
    # Groups of one name may be several, which their ranks tell apart.
    calls: dict[tuple[str, str, tuple[int, ...]], dict[int, FlightEntry]] = {}
    for dump in dumps:
        for entry in dump.entries:
            if not entry.is_p2p:
                group = (*entry.group, dump.ranks.get(entry.group[0], ()))
                calls.setdefault(group, {})[dump.rank] = entry  # the last one
    seen = {dump.rank for dump in dumps}
    for (name, desc, ranks), last in calls.items():
        members = everyone if desc == DEFAULT else set(ranks)
        unseen = tuple(sorted(members - seen))
        same = {entry.seq for entry in last.values()}
        if not unseen or len(same) > 1 or any(each.done for each in last.values()):
            continue
        first = next(iter(last.values()))
        times = [each.created for each in last.values() if each.created is not None]
        yield Behind(
            by=FLIGHT,
            ranks=unseen,
            waiting=len(last),
            operation=first.said,
            group=desc or name,
            most=first.seq,
            since=_seconds_since(min(times, default=None), now),
            where=first.place,
        )


def _open_file(path: str) -> BinaryIO:
    """Open a file: a pipe or a terminal would have its bytes taken away."""
    file = open(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb")  # noqa: SIM115
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise OSError(0, "it is not a file")
    return file
