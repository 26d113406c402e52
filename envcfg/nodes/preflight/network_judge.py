"""Faults and slowness of the network between nodes, measured by the ranks; pure."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from itertools import chain
from statistics import median_high

from envcfg.common.findings import Finding
from envcfg.log.numbers import grouped, number_ranges, ranks_of
from envcfg.nodes.preflight.collective import STAGES
from envcfg.nodes.preflight.preflight_records import RankAnswer, Requirements, finding
from envcfg.nodes.preflight.progress import late_ranks

_SKEW = 2.0  # seconds that clocks may differ
_SLOW, _WEAK = (
    0.5,
    0.7,
)  # shares of the median: an error below the first, else a warning
# Share for an error if the measure is weak: only two nodes, or the speed of processors.
_DOUBTFUL = 0.25
_TWO = 2
# Activity of a rank that has not reached a stage, by the number of stages it has reached.
_DOING = (
    "did not start its Python",
    "is waited for at the rendezvous",
    "loads torch",
    "joins the others (init_process_group)",
    "talks with one other rank",
    "adds with all others (all_reduce)",
)
_LAST = len(_DOING) - 1  # a failure after the last stage belongs to the last stage

Found = dict[str, list[Finding]]
Speeds = dict[str, tuple[float | None, float | None]]


def judge_ranks(
    requirements: Requirements,
    ranks: Mapping[int, RankAnswer],
    world: int | None,
    ended: Mapping[str, str],
    *,
    is_cut: bool = False,
) -> tuple[Found, list[Finding]]:
    """Return the problems of each host, and of the whole job.

    *world* is the number of ranks, if a rank reported it. *ended* maps hosts with a task
    that ended too early to the reason. With *is_cut* the ranks were ended from outside,
    for another reason than being late.
    """
    by_host: Found = {host: [] for host in requirements.hosts}
    job: list[Finding] = []
    # Without torch on any rank the image is the cause, and no node.
    has_torch = any(rank.torch for rank in ranks.values())
    lacking = [rank for rank in ranks.values() if rank.lacks and has_torch]
    for each in (
        *_unmet(requirements, ranks),
        *_clocks(ranks),
        *_failed(ranks, ended),
        *_of_hosts("collective-failed", lacking, "lacks"),
        *_of_hosts("sum-wrong", [rank for rank in ranks.values() if rank.wrong]),
        *_torch(requirements, ranks),
        *_slow_nodes(ranks),
        *_slow_gpus(ranks),
        *_bandwidth(requirements, ranks),
    ):
        by_host.get(each.subject, job).append(each)
    # An error explains why ranks stopped, so being stuck is not a further problem.
    every = (*job, *chain.from_iterable(by_host.values()))
    if not is_cut and not any(finding.severity == "error" for finding in every):
        for each in _stuck(requirements, ranks, world):
            by_host.get(each.subject, job).append(each)
    return by_host, job


def is_done(ranks: Mapping[int, RankAnswer], world: int | None) -> bool:
    """Return whether every rank has finished."""
    return bool(world) and all(
        number in ranks and ranks[number].stage == len(STAGES)
        for number in range(world or 0)
    )


def _of_hosts(
    rule: str, ranks: Iterable[RankAnswer], which: str = ""
) -> Iterator[Finding]:
    """Yield the finding of *rule* for each host, with its ranks of *ranks*."""
    for host, some in grouped(ranks, lambda answer: answer.host).items():
        yield finding(
            rule,
            host,
            which,
            ranks=number_ranges(sorted(answer.rank for answer in some)),
            lacks=some[0].lacks,
            size=some[0].wrong,
        )


def _unmet(
    requirements: Requirements, ranks: Mapping[int, RankAnswer]
) -> Iterator[Finding]:
    unmet = [rank for rank in ranks.values() if rank.unmet]
    peers = len(requirements.hosts) - 1
    # If no node reaches the first one, the fault is there and not on the others.
    if len(unmet) == peers and peers > 1:
        first = ranks[0].host if 0 in ranks else requirements.hosts[0]
        yield finding("rendezvous-unreachable", first, "all", why=unmet[0].unmet)
        return
    for rank_answer in unmet:
        yield finding("rendezvous-unreachable", rank_answer.host, why=rank_answer.unmet)


def _clocks(ranks: Mapping[int, RankAnswer]) -> Iterator[Finding]:
    ahead = {rank.host: rank.clock for rank in ranks.values() if rank.clock is not None}
    if not ahead:
        return
    # A wrong clock of the first node would shift all others, so the median is the measure.
    usual = median_high([0.0, *ahead.values()])  # 0 is the first node's own offset
    if 0 in ranks:
        ahead.setdefault(ranks[0].host, 0.0)
    for host, offset in ahead.items():
        if (skew := abs(offset - usual)) > _SKEW:
            side = "ahead of" if offset > usual else "behind"
            yield finding("clock-skew", host, skew=skew, side=side)


def _failed(
    ranks: Mapping[int, RankAnswer], ended: Mapping[str, str]
) -> Iterator[Finding]:
    failed = [rank for rank in ranks.values() if rank.failed]
    # A failing rank takes others along: the cause is at the lowest stage.
    lowest = min((answer.stage for answer in failed), default=0)
    # One finding for each host is enough: that of its first failed rank.
    for host, rank_answer in {
        answer.host: answer for answer in reversed(failed)
    }.items():
        if rank_answer.stage == lowest:
            yield finding(
                "collective-failed",
                host,
                doing=_DOING[min(rank_answer.stage, _LAST)],
                rank=rank_answer.rank,
                failed=rank_answer.failed,
            )
    # An ended task is only evidence if no rank gave a better reason.
    if not failed and not any(rank.unmet for rank in ranks.values()):
        for host, how in ended.items():
            yield finding("collective-failed", host, "ended", how=how)


def _stuck(
    requirements: Requirements, ranks: Mapping[int, RankAnswer], world: int | None
) -> Iterator[Finding]:
    """Yield the ranks for which others wait, by the first of four indications.

    A node without any started rank comes first, because all others wait for it. Ranks that
    wait for a partner are named with it; otherwise the ranks that lag behind the others
    are. If all ranks are at the same stage, none is blamed.
    """
    if not ranks or is_done(ranks, world) or any(e.lacks for e in ranks.values()):
        return
    # A node without any line has not even started Python.
    begun = {rank.host for rank in ranks.values()}
    silent = [host for host in requirements.hosts if host not in begun]
    talking = {
        rank.host: rank.partner for rank in ranks.values() if rank.partner is not None
    }
    late, stage = late_ranks(ranks, world)
    if silent:
        for host in silent:
            yield finding("collective-stuck", host, "silent")
    elif talking:
        for host, partner in talking.items():
            yield finding("collective-stuck", host, "talking", partner=partner)
    elif len(late) == (world or 0):
        yield finding("collective-stuck", "", "all", doing=_DOING[stage])
    else:
        hosts = {number: rank.host for number, rank in ranks.items()}
        for host, numbers in grouped(
            late, lambda number: hosts.get(number, "")
        ).items():
            doing, names = _DOING[stage], ranks_of(numbers)
            yield finding("collective-stuck", host, ranks=names, doing=doing)


def _torch(
    requirements: Requirements, ranks: Mapping[int, RankAnswer]
) -> Iterator[Finding]:
    if not requirements.gpus:
        return
    answers = [rank for rank in ranks.values() if rank.torch]
    # A CPU build in the image explains all ranks, and no node is at fault.
    if answers and all(
        rank_answer.torch and rank_answer.torch[1] == "cpu" for rank_answer in answers
    ):
        yield finding("torch-without-gpus", "")
        return
    yield from _of_hosts(
        "gpu-unseen", [answer for answer in answers if answer.devices == 0]
    )


def speeds(ranks: Mapping[int, RankAnswer]) -> Speeds:
    """Return each host's best rates of sending and receiving, in bytes per second.

    None: the rate was not measured.
    """
    sums: dict[tuple[str, str], float] = {}
    for rank in ranks.values():
        for pair in rank.pairs:
            if pair.sender in ranks and pair.seconds > 0:
                # All ranks of a node send at once and share its NICs, so rates add
                # up.
                key = (ranks[pair.sender].host, rank.host)
                sums[key] = sums.get(key, 0.0) + pair.size / pair.seconds
    hosts = dict.fromkeys(host for key in sums for host in key)
    return {
        host: (
            # The best partner counts: a slow one must not make this host look slow.
            max((v for (sender, _), v in sums.items() if sender == host), default=None),
            max((v for (_, taker), v in sums.items() if taker == host), default=None),
        )
        for host in hosts
    }


def _against(
    rule: str,
    which: str,
    values: Mapping[str, float],
    everyone: Collection[float],
    limit: float,
    displayed: Callable[[float], str],
) -> Iterator[Finding]:
    """Yield a finding for each value far below the median; below *limit* it is an error."""
    usual = median_high(everyone) if everyone else 0.0
    for name, value in values.items():
        if value < _WEAK * usual:
            words = {"value": displayed(value), "usual": displayed(usual)}
            finding_made = finding(rule, name, which, **words)
            fails = value < limit * usual
            yield finding_made._replace(severity="error") if fails else finding_made


def _slow_nodes(ranks: Mapping[int, RankAnswer]) -> Iterator[Finding]:
    both = speeds(ranks)
    sends = {host: sent for host, (sent, _) in both.items() if sent is not None}
    takes = {host: rate for host, (_, rate) in both.items() if rate is not None}
    # With two nodes each rate belongs to both, so neither can be blamed.
    only = len(both) == _TWO
    on_gpus = any(rank.devices for rank in ranks.values())
    limit = _SLOW if on_gpus and not only else _DOUBTFUL
    which = "two" if only else ""
    yield from _against("node-slow", which, sends, sends.values(), limit, _rate)
    if not only:
        yield from _against(
            "node-slow", "receives", takes, takes.values(), limit, _rate
        )


def _slow_gpus(ranks: Mapping[int, RankAnswer]) -> Iterator[Finding]:
    speeds_known = [
        (r.host, r.multiply) for r in ranks.values() if r.multiply is not None
    ]
    slowest: dict[str, float] = {}
    # The slowest GPU of a node slows every rank of a collective.
    for host, value in speeds_known:
        slowest[host] = min(value, slowest.get(host, value))
    every = [value for _, value in speeds_known]
    yield from _against("gpu-slow", "", slowest, every, _SLOW, "{:.0f}".format)


def _bandwidth(
    requirements: Requirements, ranks: Mapping[int, RankAnswer]
) -> Iterator[Finding]:
    sums = [sum_.bandwidth for rank in ranks.values() for sum_ in rank.sums]  # GB/s
    best, wanted_best, nodes = (
        max(sums, default=None),
        requirements.bandwidth,
        len(requirements.hosts),
    )
    # Fewer ranks than GPUs cannot use the whole network.
    is_whole = len(ranks) == nodes * (requirements.gpus or 0)
    on_gpus = any(rank.devices for rank in ranks.values())
    if best is None or wanted_best is None or not (on_gpus and is_whole):
        return
    # The expected bandwidth is that of the network between nodes.
    if nodes > 1 and best < _WEAK * wanted_best:
        profile = requirements.profile
        yield finding(
            "bandwidth-low", "", best=best, wanted=wanted_best, profile=profile
        )


def _rate(value: float) -> str:
    return f"{value / 1e9:.2f} GB/s" if value >= 1e9 else f"{value / 1e6:.0f} MB/s"
