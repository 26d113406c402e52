"""A rank that does something else than the others, by stacks or by the kernel; pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from envcfg.findings import Finding
from envcfg.hang.activity import activity, does, is_in_collective, place, where
from envcfg.hang.records import RankView
from envcfg.hang.rules import finding, subjects
from envcfg.log.numbers import count_of, grouped

_MOST = 2 / 3  # of the ranks, who must be alike for the others to stand out


def compared(ranks: Sequence[RankView]) -> Iterator[Finding]:
    """Yield ranks that do something else than most, by their stacks or by the kernel.

    Stacks come first, as they tell a collective from all else: who is in none holds up
    those who are in one. Where stacks do not part them, the kernel does. No collective
    sleeps while it waits for others, so that one of two that sleeps is enough. Who runs
    may wait in NCCL, so that those who run are named only where most do not.
    """
    if len(ranks) < 2:
        return
    if all(rank.stack for rank in ranks):
        outside = [rank for rank in ranks if not is_in_collective(rank)]
        if len(outside) in (0, len(ranks)):
            outside = _minority(ranks, [place(rank) for rank in ranks])
        if outside:
            yield from _apart(outside, ranks)
            return
    yield from _by_kernel(ranks)


def _by_kernel(ranks: Sequence[RankView]) -> Iterator[Finding]:
    kinds = [activity(rank).kind for rank in ranks]
    if sleeping := _fewer("sleeps", ranks, kinds):
        yield from _apart(sleeping, ranks)
        return
    others = _minority(ranks, kinds) or _fewer("runs", ranks, kinds)
    busy = [each for each in others if activity(each).kind == "runs"]
    rest = count_of(len(ranks) - len(others), "other")
    for subject, some in _alike(busy, where):
        each = "each " if len(some) > 1 else ""
        said = f"{each}computes{where(some[0])}, while {rest} wait"
        yield finding("hang-rank-busy", subject, said)
    if idle := [each for each in others if each not in busy]:
        yield from _apart(idle, [each for each in ranks if each not in busy])


def _fewer(
    kind: str, ranks: Sequence[RankView], kinds: Sequence[str]
) -> list[RankView]:
    """Return the ranks of one kind, where all others wait and are no fewer."""
    some = [rank for rank, each in zip(ranks, kinds, strict=True) if each == kind]
    is_so = set(kinds) == {kind, "waits"} and 2 * len(some) <= len(ranks)
    return some if is_so else []


def _minority(ranks: Sequence[RankView], signs: Sequence[str]) -> list[RankView]:
    """Return the ranks whose sign is not that of most; nobody where most are not alike."""
    (common, count), *_ = Counter(signs).most_common(1)
    if len(ranks) < 3 or count == len(ranks) or count < _MOST * len(ranks):
        return []
    return [rank for rank, sign in zip(ranks, signs, strict=True) if sign != common]


def _apart(apart: Sequence[RankView], ranks: Sequence[RankView]) -> Iterator[Finding]:
    rest = [rank for rank in ranks if rank not in apart]
    usual, count = Counter(does(rank) for rank in rest).most_common(1)[0]
    others = (
        f"{count} of {count_of(len(rest), 'other')}" if len(rest) > 1 else "the other"
    )
    for subject, some in _alike(apart, does):
        each = "each " if len(some) > 1 else ""
        said = f"{each}{does(some[0])}; {others}: {usual}"
        yield finding("hang-rank-apart", subject, said)


def _alike(
    ranks: Sequence[RankView], key: Callable[[RankView], str]
) -> Iterator[tuple[str, Sequence[RankView]]]:
    for some in grouped(ranks, key).values():
        yield from subjects(some)
