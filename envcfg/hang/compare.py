"""A rank that does something else than the others, by stacks or by the kernel; pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from envcfg.findings import Finding
from envcfg.hang.activity import activity, is_in_collective, place
from envcfg.hang.records import RankView
from envcfg.hang.rules import Words
from envcfg.hang.subjects import subjects
from envcfg.log.numbers import count_of

_MOST = 2 / 3  # of the ranks, who must be alike for the others to stand out


def compared(ranks: Sequence[RankView], words: Words) -> Iterator[Finding]:
    """Yield ranks that do something else than most, by their stacks or by the kernel."""
    if len(ranks) < 2:
        return
    if all(rank.stack for rank in ranks):
        apart = [rank for rank in ranks if not is_in_collective(rank)]
        if 0 < len(apart) < len(ranks):
            yield from _apart(apart, ranks, words)
            return
        if others := _minority(ranks, [place(rank) for rank in ranks]):
            yield from _apart(others, ranks, words)
            return
    acts = [activity(rank) for rank in ranks]
    kinds = Counter(each.kind for each in acts)
    if set(kinds) == {"sleeps", "waits"} and kinds["sleeps"] <= kinds["waits"]:
        # No collective sleeps while it waits for others, so that two ranks are enough.
        sleeping = [
            r for r, each in zip(ranks, acts, strict=True) if each.kind == "sleeps"
        ]
        yield from _apart(sleeping, ranks, words)
        return
    others = _minority(ranks, [each.kind for each in acts])
    if (
        not others
        and set(kinds) == {"runs", "waits"}
        and kinds["runs"] <= kinds["waits"]
    ):
        others = [r for r, each in zip(ranks, acts, strict=True) if each.kind == "runs"]
    busy = [each for each in others if activity(each).kind == "runs"]
    rest = count_of(len(ranks) - len(others), "other")
    for subject, some in _alike(busy, _at):
        each = "each " if len(some) > 1 else ""
        said = f"{each}computes{_at(some[0])}, while {rest} wait"
        yield words.finding("hang-rank-busy", subject, said)
    if len(busy) < len(others):
        idle = [each for each in others if each not in busy]
        yield from _apart(idle, [each for each in ranks if each not in busy], words)


def _minority(ranks: Sequence[RankView], signs: Sequence[str]) -> list[RankView]:
    """Return the ranks whose sign is not that of most; nobody where most are not alike."""
    (common, count), *_ = Counter(signs).most_common(1)
    if len(ranks) < 3 or count == len(ranks) or count < _MOST * len(ranks):
        return []
    return [rank for rank, sign in zip(ranks, signs, strict=True) if sign != common]


def _apart(
    apart: Sequence[RankView], ranks: Sequence[RankView], words: Words
) -> Iterator[Finding]:
    rest = [rank for rank in ranks if rank not in apart]
    usual, count = Counter(does(rank) for rank in rest).most_common(1)[0]
    others = (
        f"{count} of {count_of(len(rest), 'other')}" if len(rest) > 1 else "the other"
    )
    for subject, some in _alike(apart, does):
        each = "each " if len(some) > 1 else ""
        said = f"{each}{does(some[0])}; {others}: {usual}"
        yield words.finding("hang-rank-apart", subject, said)


def _alike(
    ranks: Sequence[RankView], key: Callable[[RankView], str]
) -> Iterator[tuple[str, Sequence[RankView]]]:
    alike: dict[str, list[RankView]] = {}
    for rank in ranks:
        alike.setdefault(key(rank), []).append(rank)
    for some in alike.values():
        yield from subjects(some)


def does(rank: RankView) -> str:
    """Return what *rank* does, and where in its program."""
    return f"{activity(rank).said}{_at(rank)}"


def _at(rank: RankView) -> str:
    where = place(rank)
    return f" in {where}" if where else ""
