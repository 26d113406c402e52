"""The lagging ranks, from RAS's answers on the nodes of a job; pure."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from envcfg.log.collective.ras import Laggard, laggards, read_ras
from envcfg.log.collective.ras_records import RasRank, RasReport
from envcfg.log.collective.trace_fields import TraceError
from envcfg.nodes.hang.hang_records import (
    RAS,
    HangNode,
    HangRank,
    LaggingRanks,
    program_names,
)

_Lags = Mapping[tuple[str, str, int | str], tuple[RasRank, ...]]
_BETWEEN = 3.0  # seconds between two answers of RAS, which the probe waits


def ask_ras(
    nodes: Sequence[HangNode], problems: dict[str, str], before: Sequence[HangNode]
) -> tuple[list[LaggingRanks], tuple[str, ...]]:
    """Return the lagging ranks according to NCCL, and the nodes with readable answers.

    *problems* receives the reasons for unreadable answers; *before* are the views of the
    look before.
    """
    ranks = [rank for node in nodes for rank in node.ranks]
    lag_by_key: dict[tuple[object, ...], LaggingRanks] = {}
    nodes_read: list[str] = []
    earlier = [r for series in _answers(before, ranks, {}).values() for r in series]
    was, lagged = _states(earlier), _lags(earlier)
    for (host, _, _), reports in _answers(nodes, ranks, problems).items():
        nodes_read.append(host)
        state = _states(reports[-1:])
        past = _lags(reports[:-1]) if reports[1:] else None
        stands = bool(state) and all(was.get(key) == state[key] for key in state)
        # Each node answers for the whole job: equal lags are reported once.
        for behind in _ras_behind(reports[-1], past, lagged, ranks):
            key = (behind.group, behind.operation, behind.ranks)
            lag_by_key.setdefault(key, behind._replace(stands=stands))
    # One readable answer is enough, so problems of other nodes do not matter.
    if nodes_read:
        problems.pop(RAS, None)
    return list(lag_by_key.values()), tuple(dict.fromkeys(nodes_read))


def _answers(
    nodes: Sequence[HangNode], ranks: Sequence[HangRank], problems: dict[str, str]
) -> dict[tuple[str, str, int], list[RasReport]]:
    """Return the answers of each node and port in order, separated by program.

    Programs of one user may share a port, and any of them may answer.
    """
    series: dict[tuple[str, str, int], list[RasReport]] = {}
    for node in nodes:
        for answer in node.ras:
            is_empty = answer.end == "cut" and not answer.text
            if is_empty or answer.end in ("silent", "stranger"):
                message = (
                    f"port {answer.port} of {node.host} is open, and no RAS answers"
                )
                problems.setdefault(RAS, message)
            if not answer.text:
                continue
            try:
                report = read_ras(answer.text)
            except TraceError as err:
                problems.setdefault(RAS, f"the answer of {node.host}: {err.message}")
                continue
            # A truncated answer is still useful if it has communicators.
            if not report.is_complete:
                problems.setdefault(RAS, f"the answer of {node.host} was cut off")
                if not report.comms:
                    continue
            if _is_foreign(report, ranks):
                problems.setdefault(RAS, f"on {node.host} another job's answers")
                continue
            number = 0
            while ras_reports := series.get((node.host, answer.port, number)):
                # Answers of one program share communicators, if they list any. The text
                # lists only communicators with a problem.
                first, second = (
                    {c.hash for c in r.comms} for r in (ras_reports[-1], report)
                )
                if not first or not second or first & second:
                    break
                number += 1
            series.setdefault((node.host, answer.port, number), []).append(report)
    return series


def _states(reports: Iterable[RasReport]) -> dict[tuple[str, int], Mapping[str, int]]:
    """Return the operations begun by each rank; the text form lacks them."""
    return {
        (comm.hash, rank.rank): rank.counts
        for report in reports
        for comm in report.comms
        if not report.groups
        for rank in comm.ranks
    }


def _is_foreign(report: RasReport, ranks: Sequence[HangRank]) -> bool:
    """Return whether none of its processes belongs to the job: jobs may share a node."""
    pids = {rank.pid for comm in report.comms for rank in comm.ranks} - {None}
    ours = {rank.pid for rank in ranks}
    # A container may number its processes anew; then the numbers of ranks are compared.
    sizes = {comm.size for comm in report.comms}
    worlds = {rank.world for rank in ranks if rank.world}
    return bool(pids) and not pids & ours and bool(worlds) and not sizes & worlds


def _lags(reports: Iterable[RasReport]) -> _Lags:
    """Return the lagging ranks by communicator and collective, with their counts."""
    lagging = (laggard for report in reports for laggard in laggards(report))
    return {laggard.key: laggard.share.ranks for laggard in lagging}


def _ras_behind(
    report: RasReport,
    before: _Lags | None,
    earlier: _Lags,
    ranks: Sequence[HangRank],
) -> Iterator[LaggingRanks]:
    """Yield the lagging ranks of *report*.

    Args:
        report: the newest answer.
        before: lags of the answers before it in this look; None if there are none.
        earlier: lags of the previous look.
        ranks: the ranks seen on the nodes.
    """
    names = program_names(ranks)
    for laggard in laggards(report):
        numbers, program = _ranks_of(laggard, ranks, names)
        yield LaggingRanks(
            by=RAS,
            ranks=numbers,
            waiting=sum(
                share.count
                for spread in laggard.comm.spreads
                if spread.subject == laggard.operation
                for share in spread.shares
                if share.value == laggard.most
            ),
            operation=laggard.operation,
            group=laggard.comm.name or laggard.comm.hash,
            number=int(laggard.share.value),
            most=laggard.most,
            since=None if before is None or laggard.key in before else _BETWEEN,
            program=program,
            same=earlier.get(laggard.key) == laggard.share.ranks,
        )


def _ranks_of(
    laggard: Laggard, ranks: Sequence[HangRank], names: Mapping[tuple[str, int], str]
) -> tuple[tuple[int, ...], str]:
    """Return the lagging ranks of the job, sorted, and their program.

    A communicator numbers its ranks itself, so a rank is identified by its process, if
    that number is unique. If a process is unknown, a communicator of the size of a
    one-program job must be that of all ranks, with the job's numbers.
    """
    views = []
    for rank in laggard.share.ranks:
        same = [view for view in ranks if view.pid == rank.pid]
        views += same if len(same) == 1 else []
    programs = sorted(set(names.values()))
    numbers = {view.rank for view in views}
    is_of_all = laggard.comm.size in {view.world for view in ranks if view.world}
    if len(views) < len(laggard.share.ranks) and is_of_all and len(programs) < 2:
        numbers = {ras_rank.rank for ras_rank in laggard.share.ranks}
    own = {names[view.host, view.pid] for view in views}
    # If the processes do not identify one program, the first one is taken.
    program = min(own if len(own) == 1 else programs, default="")
    return tuple(sorted(numbers)), program
