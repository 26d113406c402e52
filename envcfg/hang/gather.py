"""What stands beside the processes: the end of the log, RAS, Flight Recorder's dumps."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from envcfg.hang.programs import program_names
from envcfg.hang.records import Behind, LastLine, NodeView, RankView
from envcfg.trace.errors import LARGEST, TraceError
from envcfg.trace.flight import FlightDump, FlightEntry
from envcfg.trace.ras import RasRank, RasReport

RAS, FLIGHT = "RAS", "Flight Recorder"
_TAIL = 1 << 16  # bytes of a log in which its last line is looked for
_MOST = 1 << 24  # bytes of a log whose lines are counted
_BETWEEN = 3.0  # seconds between two answers of RAS; the probe sleeps so long
_WIDTH = 300  # characters of a line that are told


def last_line(path: str, now: float) -> LastLine:
    """Return how the log at *path* ends; *now* is the time, seconds since 1970."""
    try:
        # A pipe or a terminal would have its bytes taken away.
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                return LastLine(path, "it is no file")
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
    behind, read = _ras(nodes, problems, before)
    ranks = [each for node in nodes for each in node.ranks]
    names = program_names(ranks)
    shared = _shared(ranks, names, problems)
    dumps: list[FlightDump] = []
    for program in sorted(set(names.values())):
        own = [r for r in ranks if names[r.host, r.pid] == program]
        found = _dumps([r for r in own if r.dump_path not in shared], problems)
        for each in _flights(found, {r.rank for r in own}, now):
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


def _ras(
    nodes: Sequence[NodeView], problems: dict[str, str], before: Sequence[NodeView]
) -> tuple[list[Behind], tuple[str, ...]]:
    ranks = [each for node in nodes for each in node.ranks]
    found: dict[tuple[object, ...], Behind] = {}
    read: list[str] = []
    was = _states(r for series in _answers(before, ranks, {}).values() for r in series)
    for (host, _, _), reports in _answers(nodes, ranks, problems).items():
        read.append(host)
        state = _states(reports[-1:])
        stands = bool(state) and all(was.get(key) == state[key] for key in state)
        # Each node tells of the whole job: the same is said once.
        for each in _ras_behind(reports[-1], reports[:-1], ranks):
            key = (each.group, each.operation, each.ranks)
            found.setdefault(key, each._replace(stands=stands))
    if read:
        problems.pop(RAS, None)
    return list(found.values()), tuple(dict.fromkeys(read))


def _answers(
    nodes: Sequence[NodeView], ranks: Sequence[RankView], problems: dict[str, str]
) -> dict[tuple[str, str, int], list[RasReport]]:
    """Return the answers of each node and port, in their order, of each program by itself.

    Programs of one user may share a port, and then any of them answers.
    """
    from envcfg.trace.ras import read_ras

    series: dict[tuple[str, str, int], list[RasReport]] = {}
    for node in nodes:
        for answer in node.ras:
            is_empty = answer.end == "cut" and not answer.text
            if is_empty or answer.end in ("silent", "stranger"):
                said = f"port {answer.port} of {node.host} is open, and no RAS answers"
                problems.setdefault(RAS, said)
            if not answer.text:
                continue
            try:
                report = read_ras(answer.text)
            except TraceError as err:
                problems.setdefault(RAS, f"the answer of {node.host}: {err.message}")
                continue
            if not report.whole:
                said = f"the answer of {node.host} was cut off"
                problems.setdefault(RAS, said)
                if not report.comms:
                    continue
            if _is_foreign(report, ranks):
                problems.setdefault(RAS, f"on {node.host} another job's answers")
                continue
            number = 0
            while held := series.get((node.host, answer.port, number)):
                if _have_common(held[-1], report):
                    break
                number += 1
            series.setdefault((node.host, answer.port, number), []).append(report)
    return series


def _have_common(one: RasReport, other: RasReport) -> bool:
    """Tell whether they are of one program, as their communicators say; if they say it.

    The text names only communicators in which something is wrong.
    """
    hashes = [{each.hash for each in report.comms} for report in (one, other)]
    return not all(hashes) or not hashes[0].isdisjoint(hashes[1])


def _states(reports: Iterable[RasReport]) -> dict[tuple[str, int], Mapping[str, int]]:
    """Return what each rank of each communicator has begun, by collective; text lacks it."""
    return {
        (comm.hash, rank.rank): rank.counts
        for report in reports
        for comm in report.comms
        if not report.groups
        for rank in comm.ranks
    }


def _is_foreign(report: RasReport, ranks: Sequence[RankView]) -> bool:
    """Tell whether none of its processes is the job's: several jobs may share a node."""
    told = {each.pid for comm in report.comms for each in comm.ranks} - {None}
    ours = {each.pid for each in ranks}
    # A container may count its processes anew; then the number of ranks has to do.
    sizes = {comm.size for comm in report.comms}
    worlds = {each.world for each in ranks if each.world}
    return bool(told) and not told & ours and bool(worlds) and not sizes & worlds


def _ras_behind(
    report: RasReport, before: Sequence[RasReport], ranks: Sequence[RankView]
) -> Iterator[Behind]:
    """Yield who is behind; who was elsewhere a moment *before* waits for a moment only."""
    from envcfg.trace.ras import laggards

    past = {
        (each.comm.hash, each.operation, each.share.value)
        for one in before
        for each in laggards(one)
    }
    worlds = {each.world for each in ranks if each.world}
    names = program_names(ranks)
    is_one = len(set(names.values())) < 2
    anybody = min(names.values(), default="")
    for each in laggards(report):
        views = [_view(one, ranks) for one in each.share.ranks]
        named = {view.rank if view else None for view in views}
        if None in named and each.comm.size in worlds and is_one:
            named = {one.rank for one in each.share.ranks}
        programs = {names[view.host, view.pid] for view in views if view}
        is_new = (each.comm.hash, each.operation, each.share.value) not in past
        rest = [
            share for spread in each.comm.spreads if spread.what == each.operation
            for share in spread.shares if share.value == each.most
        ]  # fmt: skip
        yield Behind(
            by=RAS,
            ranks=tuple(sorted(rank for rank in named if rank is not None)),
            waiting=sum(share.count for share in rest),
            operation=each.operation,
            group=each.comm.name or each.comm.hash,
            number=int(each.share.value),
            most=each.most,
            since=_BETWEEN if before and is_new else None,
            program=programs.pop() if len(programs) == 1 else anybody,
        )


def _view(one: RasRank, ranks: Sequence[RankView]) -> RankView | None:
    """Return the rank of the job that a rank of a communicator is, by its process."""
    same = [each for each in ranks if one.pid is not None and each.pid == one.pid]
    return same[0] if len(same) == 1 else None


def _dumps(ranks: Sequence[RankView], problems: dict[str, str]) -> list[FlightDump]:
    from envcfg.trace.flight import read_flight

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
            data = _bytes(path)
            if each.dump_size not in (None, len(data)):
                problems[FLIGHT] = f"{path} here is another file than on {each.host}"
                continue
            dumps.append(read_flight(data, each.rank))
        except OSError as err:
            problems[FLIGHT] = f"{path} (of {each.host}) cannot be read: {err.strerror}"
        except TraceError as err:
            problems[FLIGHT] = f"{path}: {err.message}"
    return dumps


def _flights(
    dumps: Sequence[FlightDump], everyone: set[int], now: float
) -> list[Behind]:
    from envcfg.trace.lag import follows, lag, out_of_step

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
    from envcfg.trace.flight import DEFAULT

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


def _bytes(path: str) -> bytes:
    with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(0, "it is no file")
        return file.read(LARGEST + 1)
