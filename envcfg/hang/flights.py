"""What the dumps of Flight Recorder tell of ranks that lag."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from typing import BinaryIO

from envcfg.hang.records import FLIGHT, Behind, RankView
from envcfg.trace.fields import LARGEST, TraceError
from envcfg.trace.flight import DEFAULT, FlightDump, FlightEntry, read_flight
from envcfg.trace.lag import follows, lag, out_of_step


def read_dumps(ranks: Sequence[RankView], problems: dict[str, str]) -> list[FlightDump]:
    """Return the dumps that ranks have written now; *problems* gets why one lacks."""
    fresh = [each for each in ranks if each.dump == "new"]
    asked = [each for each in ranks if each.dump]
    if asked and not fresh:
        old = [each for each in ranks if each.dump == "old"]
        problems[FLIGHT] = "no rank has written a dump now" + (
            ", and those that are there are older" if old else ""
        )
        return []
    dumps: list[FlightDump] = []
    for each in fresh:
        path = each.dump_path
        try:
            with open_file(path) as file:
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


def lagging(
    dumps: Sequence[FlightDump], everyone: set[int], now: float
) -> list[Behind]:
    """Return the ranks that others wait for, or that have called something else.

    Args:
        dumps: of the ranks that have one.
        everyone: the ranks of the job.
        now: the time, seconds since 1970.
    """
    found = []
    lags = lag(dumps)
    for group in lags:
        absent: Mapping[int, int] = group.absent
        if not absent or not group.waiting:
            continue
        since = None if group.since is None else max(0.0, now - group.since / 1e9)
        found.append(
            Behind(
                by=FLIGHT,
                ranks=tuple(sorted(absent)),
                waiting=len(group.waiting),
                operation=group.operation,
                group=group.desc or group.group,
                number=max(absent.values()),
                most=group.seq,
                since=since,
                where=group.place,
                elsewhere=next(iter(group.elsewhere.values()), ""),
                follows=follows(group, lags),
            )
        )
    found += _without_dump(dumps, everyone, now)
    for other in out_of_step(dumps):
        least = other.steps[-1]
        found.append(
            Behind(
                by=FLIGHT,
                ranks=least.ranks,
                waiting=sum(len(step.ranks) for step in other.steps[:-1]),
                operation=f"{least.called} where others call {other.steps[0].called}",
                group=other.desc or other.group,
                most=other.seq,
                differs=other.differs,
            )
        )
    return found


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
            since=max(0.0, now - min(times) / 1e9) if times else None,
            where=first.place,
        )


def open_file(path: str) -> BinaryIO:
    """Open a file: a pipe or a terminal would have its bytes taken away.

    Raises:
        OSError: it cannot be read, or is no file.
    """
    file = open(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb")  # noqa: SIM115
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise OSError(0, "it is no file")
    return file
