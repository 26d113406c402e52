"""What stands beside the processes: the end of the log, and who is behind."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from envcfg.hang.flights import lagging, read_dumps
from envcfg.hang.records import Behind, LastLine, NodeView, RankView
from envcfg.trace.errors import TraceError
from envcfg.trace.ras import RasRank, RasReport

RAS = "RAS"
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


def ask_libraries(nodes: Sequence[NodeView], now: float) -> Known:
    """Return what NCCL and PyTorch know of ranks that lag.

    Args:
        nodes: what they have said.
        now: the time, seconds since 1970.
    """
    problems: dict[str, str] = {}
    behind, read = _ras(nodes, problems)
    ranks = [each for node in nodes for each in node.ranks]
    dumps = read_dumps(ranks, problems)
    calls = [entry.created for dump in dumps for entry in dump.entries if entry.created]
    return Known(
        behind=(*behind, *lagging(dumps, {each.rank for each in ranks}, now)),
        ras_read=read,
        flights=tuple(each.rank for each in dumps),
        problems=problems,
        called=max(0.0, now - max(calls) / 1e9) if calls else None,
    )


def _ras(
    nodes: Sequence[NodeView], problems: dict[str, str]
) -> tuple[list[Behind], tuple[str, ...]]:
    from envcfg.trace.ras import read_ras

    found: dict[tuple[object, ...], Behind] = {}
    read: list[str] = []
    ranks = [each for node in nodes for each in node.ranks]
    for node in nodes:
        reports: dict[str, list[RasReport]] = {}
        for answer in node.ras:
            if answer.end in ("silent", "stranger"):
                said = f"port {answer.port} of {node.host} is open, and no RAS answers"
                problems.setdefault(RAS, said)
            if not answer.text:
                continue
            try:
                report = read_ras(answer.text)
            except TraceError as err:
                problems.setdefault(RAS, f"the answer of {node.host}: {err.message}")
                continue
            if _is_foreign(report, ranks):
                problems.setdefault(RAS, f"on {node.host} another job's answers")
                continue
            read.append(node.host)
            reports.setdefault(answer.port, []).append(report)
        for before, last in ((each[:-1], each[-1]) for each in reports.values()):
            # Each node tells of the whole job: the same is said once.
            for each in _ras_behind(last, before, ranks):
                found.setdefault((each.group, each.operation, each.ranks), each)
    if read:
        problems.pop(RAS, None)
    return list(found.values()), tuple(dict.fromkeys(read))


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
    for each in laggards(report):
        named = {_job_rank(one, ranks) for one in each.share.ranks}
        if None in named and each.comm.size in worlds:
            named = {one.rank for one in each.share.ranks}
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
        )


def _job_rank(one: RasRank, ranks: Sequence[RankView]) -> int | None:
    """Return the job's number of a rank of a communicator, by its process."""
    same = {each.rank for each in ranks if one.pid is not None and each.pid == one.pid}
    return same.pop() if len(same) == 1 else None
