"""Who lags, from the answers of RAS on the nodes of a job; pure."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from envcfg.hang.records import RAS, Behind, NodeView, RankView, program_names
from envcfg.trace.fields import TraceError
from envcfg.trace.ras import Laggard, laggards, read_ras
from envcfg.trace.ras_records import RasRank, RasReport

_Lags = Mapping[tuple[str, str, int | str], tuple[RasRank, ...]]
_BETWEEN = 3.0  # seconds between two answers of RAS; the probe sleeps so long


def ask_ras(
    nodes: Sequence[NodeView], problems: dict[str, str], before: Sequence[NodeView]
) -> tuple[list[Behind], tuple[str, ...]]:
    """Return who lags as NCCL knows, and the nodes whose answers could be read.

    *problems* gets why others could not; *before* is what nodes said at the look before.
    """
    ranks = [each for node in nodes for each in node.ranks]
    found: dict[tuple[object, ...], Behind] = {}
    read: list[str] = []
    earlier = [r for series in _answers(before, ranks, {}).values() for r in series]
    was, lagged = _states(earlier), _lags(earlier)
    for (host, _, _), reports in _answers(nodes, ranks, problems).items():
        read.append(host)
        state = _states(reports[-1:])
        past = _lags(reports[:-1]) if reports[1:] else None
        stands = bool(state) and all(was.get(key) == state[key] for key in state)
        # Each node tells of the whole job: the same is said once.
        for each in _ras_behind(reports[-1], past, lagged, ranks):
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
                problems.setdefault(RAS, f"the answer of {node.host} was cut off")
                if not report.comms:
                    continue
            if _is_foreign(report, ranks):
                problems.setdefault(RAS, f"on {node.host} another job's answers")
                continue
            number = 0
            while held := series.get((node.host, answer.port, number)):
                # Of one program, as their communicators say; if they say it. The text
                # names only communicators in which something is wrong.
                one, other = ({c.hash for c in r.comms} for r in (held[-1], report))
                if not one or not other or one & other:
                    break
                number += 1
            series.setdefault((node.host, answer.port, number), []).append(report)
    return series


def _states(reports: Iterable[RasReport]) -> dict[tuple[str, int], Mapping[str, int]]:
    """Return what each rank of a communicator has begun, by collective; text lacks it."""
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


def _lags(reports: Iterable[RasReport]) -> _Lags:
    """Return who was behind, by communicator, collective, and how many they had begun."""
    found = (each for one in reports for each in laggards(one))
    return {(e.comm.hash, e.operation, e.share.value): e.share.ranks for e in found}


def _ras_behind(
    report: RasReport,
    before: _Lags | None,
    earlier: _Lags,
    ranks: Sequence[RankView],
) -> Iterator[Behind]:
    """Yield who is behind; who was elsewhere a moment *before* waits for a moment only."""
    names = program_names(ranks)
    for each in laggards(report):
        numbers, program = _named(each, ranks, names)
        lag = (each.comm.hash, each.operation, each.share.value)
        yield Behind(
            by=RAS,
            ranks=numbers,
            waiting=sum(
                share.count
                for spread in each.comm.spreads
                if spread.what == each.operation
                for share in spread.shares
                if share.value == each.most
            ),
            operation=each.operation,
            group=each.comm.name or each.comm.hash,
            number=int(each.share.value),
            most=each.most,
            since=None if before is None or lag in before else _BETWEEN,
            program=program,
            same=earlier.get(lag) == each.share.ranks,
        )


def _named(
    each: Laggard, ranks: Sequence[RankView], names: Mapping[tuple[str, int], str]
) -> tuple[tuple[int, ...], str]:
    """Return the ranks of the job that lag, rising, and whose program they are.

    A communicator has numbers of its own, so that a rank is known by its process, where
    that is the only one of its number. Where one is not known, a communicator as large as
    a job of one program must be that of all ranks, whose numbers are the job's.
    """
    views = []
    for one in each.share.ranks:
        same = [view for view in ranks if view.pid == one.pid]
        views += same if len(same) == 1 else []
    programs = sorted(set(names.values()))
    numbers = {view.rank for view in views}
    is_of_all = each.comm.size in {view.world for view in ranks if view.world}
    if len(views) < len(each.share.ranks) and is_of_all and len(programs) < 2:
        numbers = {one.rank for one in each.share.ranks}
    own = {names[view.host, view.pid] for view in views}
    program = min(own if len(own) == 1 else programs, default="")
    return tuple(sorted(numbers)), program
