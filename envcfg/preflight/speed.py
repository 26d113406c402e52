"""Which nodes and GPUs are slow, by what the ranks have measured; pure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from statistics import median_high

from envcfg.findings import Finding, Severity
from envcfg.preflight.records import RankAnswer, Wanted

_SLOW, _WEAK = 0.5, 0.7  # of the median: fails, is warned of
_DOUBTFUL = (
    0.25  # fails of what is no measure of its own: two nodes, or processors' work
)
_TWO = 2
_LEAVE = "leave the node out, and tell the site"
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
    values: Mapping[str, float],
    everyone: Collection[float],
    say: Callable[[float, float], str],
    rule: str,
    limit: float,
) -> Iterator[Finding]:
    """Yield a finding for each far below the median of all; below *limit* it fails."""
    usual = median_high(everyone) if everyone else 0.0
    for name, value in values.items():
        if value < _WEAK * usual:
            severity: Severity = "error" if value < limit * usual else "warning"
            yield Finding(rule, severity, name, say(value, usual), _LEAVE)


def _slow_nodes(ranks: Mapping[int, RankAnswer]) -> Iterator[Finding]:
    both = speeds(ranks)
    sends = {host: sent for host, (sent, _) in both.items() if sent is not None}
    takes = {host: taken for host, (_, taken) in both.items() if taken is not None}
    only = len(both) == _TWO
    other = (
        "; or the other receives slowly: two nodes alone do not tell" if only else ""
    )

    def sending(value: float, usual: float) -> str:
        return f"sends {_rate(value)}, the median is {_rate(usual)}{other}"

    def receiving(value: float, usual: float) -> str:
        return f"receives {_rate(value)}, the median is {_rate(usual)}"

    on_gpus = any(each.devices for each in ranks.values())
    limit = _SLOW if on_gpus and not only else _DOUBTFUL
    yield from _against(sends, sends.values(), sending, "node-slow", limit)
    if not only:
        yield from _against(takes, takes.values(), receiving, "node-slow", limit)


def _slow_gpus(ranks: Mapping[int, RankAnswer]) -> Iterator[Finding]:
    def multiplying(value: float, usual: float) -> str:
        return f"a GPU multiplies at {value:.0f} TFLOPS, the median is {usual:.0f}"

    known = [(r.host, r.multiply) for r in ranks.values() if r.multiply is not None]
    slowest: dict[str, float] = {}
    for host, value in known:
        slowest[host] = min(value, slowest.get(host, value))
    every = [value for _, value in known]
    yield from _against(slowest, every, multiplying, "gpu-slow", _SLOW)


def best_sum(ranks: Mapping[int, RankAnswer]) -> float | None:
    """Return the highest bandwidth of an all-reduce, GB/s."""
    found: Sequence[float] = [s.bandwidth for e in ranks.values() for s in e.sums]
    return max(found, default=None)


def _bandwidth(wanted: Wanted, ranks: Mapping[int, RankAnswer]) -> Iterator[Finding]:
    best = best_sum(ranks)
    nodes = len(wanted.hosts)
    is_whole = len(ranks) == nodes * (wanted.gpus or 0)
    on_gpus = any(each.devices for each in ranks.values())
    if best is None or wanted.bandwidth is None or not (on_gpus and is_whole):
        return
    if nodes == 1:  # what is expected is that of a network
        return
    if best < _WEAK * wanted.bandwidth:
        said = (
            f"all-reduce carries {best:.1f} GB/s, profile {wanted.profile} expects "
            f"{wanted.bandwidth:g}"
        )
        fix = f"envcfg profiles show {wanted.profile} says who measured it"
        yield Finding("bandwidth-low", "warning", "", said, fix)


def _rate(value: float) -> str:
    return f"{value / 1e9:.2f} GB/s" if value >= 1e9 else f"{value / 1e6:.0f} MB/s"
