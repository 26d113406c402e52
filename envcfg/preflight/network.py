"""What is wrong with the network between nodes, by what the ranks have said; pure."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from statistics import median_high

from envcfg.findings import Finding
from envcfg.log.numbers import grouped, number_ranges, ranks_of
from envcfg.preflight.collective import STAGES
from envcfg.preflight.progress import late_ranks
from envcfg.preflight.records import RankAnswer, Wanted, finding
from envcfg.preflight.speed import slow_findings

_SKEW = 2.0  # seconds that clocks may differ
# What a rank does that has not come to a stage, by the number of stages it has reached.
_DOING = (
    "did not start its Python",
    "is waited for at the rendezvous",
    "loads torch",
    "joins the others (init_process_group)",
    "talks with one other rank",
    "adds with all others (all_reduce)",
)
_LAST = len(_DOING) - 1  # who says that it fails behind it has failed in its end

Found = dict[str, list[Finding]]


def judge_ranks(
    wanted: Wanted,
    ranks: Mapping[int, RankAnswer],
    world: int | None,
    ended: Mapping[str, str],
    *,
    is_cut: bool = False,
) -> tuple[Found, list[Finding]]:
    """Return what is wrong by host, and what is wrong with all.

    *world* is how many ranks there are, if one has said it; *ended* are hosts whose task
    has ended before its time, and how. With *is_cut* they were ended from outside, for
    another reason than being late.
    """
    found: Found = {host: [] for host in wanted.hosts}
    job: list[Finding] = []
    for each in (
        *_unmet(wanted, ranks),
        *_clocks(ranks),
        *_failed(ranks, ended),
        *_lacking(ranks),
        *_wrong(ranks),
        *_torch(wanted, ranks),
        *slow_findings(wanted, ranks),
    ):
        found.get(each.subject, job).append(each)
    every = (*job, *chain.from_iterable(found.values()))
    if not is_cut and not any(each.severity == "error" for each in every):
        for each in _stuck(wanted, ranks, world):
            found.get(each.subject, job).append(each)
    return found, job


def is_done(ranks: Mapping[int, RankAnswer], world: int | None) -> bool:
    """Tell whether every rank has come to the end."""
    return bool(world) and all(
        number in ranks and ranks[number].stage == len(STAGES)
        for number in range(world or 0)
    )


def _by_host(
    ranks: Mapping[int, RankAnswer], counts: Callable[[RankAnswer], bool]
) -> dict[str, list[RankAnswer]]:
    return grouped(filter(counts, ranks.values()), lambda each: each.host)


def _numbers(ranks: Iterable[RankAnswer]) -> str:
    return number_ranges(sorted(each.rank for each in ranks))


def _unmet(wanted: Wanted, ranks: Mapping[int, RankAnswer]) -> Iterator[Finding]:
    unmet = [each for each in ranks.values() if each.unmet]
    others = len(wanted.hosts) - 1
    if len(unmet) == others and others > 1:
        first = ranks[0].host if 0 in ranks else wanted.hosts[0]
        yield finding("rendezvous-unreachable", first, "all", why=unmet[0].unmet)
        return
    for each in unmet:
        yield finding("rendezvous-unreachable", each.host, why=each.unmet)


def _clocks(ranks: Mapping[int, RankAnswer]) -> Iterator[Finding]:
    ahead = {each.host: each.clock for each in ranks.values() if each.clock is not None}
    if not ahead:
        return
    usual = median_high([0.0, *ahead.values()])  # the first node's own is 0
    if 0 in ranks:
        ahead.setdefault(ranks[0].host, 0.0)
    for host, offset in ahead.items():
        if (skew := abs(offset - usual)) > _SKEW:
            side = "ahead of" if offset > usual else "behind"
            yield finding("clock-skew", host, skew=skew, side=side)


def _failed(
    ranks: Mapping[int, RankAnswer], ended: Mapping[str, str]
) -> Iterator[Finding]:
    failed = [each for each in ranks.values() if each.failed]
    # Who fails takes others along: at the lowest stage it began.
    lowest = min((each.stage for each in failed), default=0)
    for host, each in {each.host: each for each in reversed(failed)}.items():
        if each.stage == lowest:
            words = {"rank": each.rank, "failed": each.failed}
            doing = _DOING[min(each.stage, _LAST)]
            yield finding("collective-failed", host, doing=doing, **words)
    if not failed and not any(each.unmet for each in ranks.values()):
        for host, how in ended.items():
            yield finding("collective-failed", host, "ended", how=how)


def _lacking(ranks: Mapping[int, RankAnswer]) -> Iterator[Finding]:
    """Yield who has not what others have; an image without it is nobody's fault."""
    if not any(each.torch for each in ranks.values()):
        return
    for host, lacking in _by_host(ranks, lambda each: bool(each.lacks)).items():
        words = {"ranks": _numbers(lacking), "lacks": lacking[0].lacks}
        yield finding("collective-failed", host, "lacks", **words)


def _stuck(
    wanted: Wanted, ranks: Mapping[int, RankAnswer], world: int | None
) -> Iterator[Finding]:
    """Yield who holds up ranks that go on no more, by the first of four signs.

    A node of which no rank has begun comes first, as all others wait for it. Two that talk
    and get no answer are known by name; else it is who is behind the others. Where all are
    at the same stage, nobody is.
    """
    if not ranks or is_done(ranks, world) or any(e.lacks for e in ranks.values()):
        return
    begun = {each.host for each in ranks.values()}
    silent = [each for each in wanted.hosts if each not in begun]
    talking = {
        each.host: each.partner for each in ranks.values() if each.partner is not None
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
        hosts = {number: each.host for number, each in ranks.items()}
        for host, numbers in grouped(late, lambda each: hosts.get(each, "")).items():
            words = {"ranks": ranks_of(numbers), "doing": _DOING[stage]}
            yield finding("collective-stuck", host, **words)


def _wrong(ranks: Mapping[int, RankAnswer]) -> Iterator[Finding]:
    for host, wrong in _by_host(ranks, lambda each: bool(each.wrong)).items():
        yield finding("sum-wrong", host, ranks=_numbers(wrong), size=wrong[0].wrong)


def _torch(wanted: Wanted, ranks: Mapping[int, RankAnswer]) -> Iterator[Finding]:
    if not wanted.gpus:
        return
    known = [each for each in ranks.values() if each.torch]
    if known and all(each.torch and each.torch[1] == "cpu" for each in known):
        yield finding("torch-without-gpus", "")
        return
    blind = _by_host(ranks, lambda each: bool(each.torch) and each.devices == 0)
    for host, here in blind.items():
        yield finding("gpu-unseen", host, ranks=_numbers(here))
