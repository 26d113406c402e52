"""Which nodes and GPUs are slow, by what the ranks have measured; pure."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from statistics import median_high

from envcfg.findings import Finding
from envcfg.preflight.records import RankAnswer, Wanted, finding

_SLOW, _WEAK = 0.5, 0.7  # of the median: fails, is warned of
# Fails of what is no measure of its own: two nodes, or processors' work.
_DOUBTFUL = 0.25
_TWO = 2
Speeds = dict[str, tuple[float | None, float | None]]


def slow_findings(wanted: Wanted, ranks: Mapping[int, RankAnswer]) -> Iterator[Finding]:
    """Yield what is slow: a node or a GPU beside its like, or all by the profile."""
    yield from _slow_nodes(ranks)
    yield from _slow_gpus(ranks)
    yield from _bandwidth(wanted, ranks)


def speeds(ranks: Mapping[int, RankAnswer]) -> Speeds:
    """Return what each host sends and receives, bytes per second: with its best partner.

    None: that was not measured.
    """
    sums: dict[tuple[str, str], float] = {}
    for each in ranks.values():
        for pair in each.pairs:
            if pair.sender in ranks and pair.seconds > 0:
                key = (ranks[pair.sender].host, each.host)
                sums[key] = sums.get(key, 0.0) + pair.size / pair.seconds
    hosts = dict.fromkeys(host for key in sums for host in key)
    return {
        host: (
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
    shown: Callable[[float], str],
) -> Iterator[Finding]:
    """Yield a finding for each far below the median of all; below *limit* it fails."""
    usual = median_high(everyone) if everyone else 0.0
    for name, value in values.items():
        if value < _WEAK * usual:
            words = {"value": shown(value), "usual": shown(usual)}
            found = finding(rule, name, which, **words)
            fails = value < limit * usual
            yield found._replace(severity="error") if fails else found


def _slow_nodes(ranks: Mapping[int, RankAnswer]) -> Iterator[Finding]:
    both = speeds(ranks)
    sends = {host: sent for host, (sent, _) in both.items() if sent is not None}
    takes = {host: taken for host, (_, taken) in both.items() if taken is not None}
    only = len(both) == _TWO
    on_gpus = any(each.devices for each in ranks.values())
    limit = _SLOW if on_gpus and not only else _DOUBTFUL
    which = "two" if only else ""
    yield from _against("node-slow", which, sends, sends.values(), limit, _rate)
    if not only:
        yield from _against(
            "node-slow", "receives", takes, takes.values(), limit, _rate
        )


def _slow_gpus(ranks: Mapping[int, RankAnswer]) -> Iterator[Finding]:
    known = [(r.host, r.multiply) for r in ranks.values() if r.multiply is not None]
    slowest: dict[str, float] = {}
    for host, value in known:
        slowest[host] = min(value, slowest.get(host, value))
    every = [value for _, value in known]
    yield from _against("gpu-slow", "", slowest, every, _SLOW, "{:.0f}".format)


def best_sum(ranks: Mapping[int, RankAnswer]) -> float | None:
    """Return the highest bandwidth of an all-reduce, GB/s."""
    found: Sequence[float] = [s.bandwidth for e in ranks.values() for s in e.sums]
    return max(found, default=None)


def _bandwidth(wanted: Wanted, ranks: Mapping[int, RankAnswer]) -> Iterator[Finding]:
    best, wanted_best, nodes = best_sum(ranks), wanted.bandwidth, len(wanted.hosts)
    is_whole = len(ranks) == nodes * (wanted.gpus or 0)
    on_gpus = any(each.devices for each in ranks.values())
    if best is None or wanted_best is None or not (on_gpus and is_whole):
        return
    # What is expected is that of a network.
    if nodes > 1 and best < _WEAK * wanted_best:
        words = {"best": best, "wanted": wanted_best, "profile": wanted.profile}
        yield finding("bandwidth-low", "", **words)


def _rate(value: float) -> str:
    return f"{value / 1e9:.2f} GB/s" if value >= 1e9 else f"{value / 1e6:.0f} MB/s"
