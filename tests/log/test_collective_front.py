"""Which ranks of a group are behind, whatever reports their progress."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from envcfg.log.collective.collective_front import GroupProgress, front_of


def front(*ranks: tuple[int, int | None]) -> tuple[tuple[int, ...], bool]:
    progress = {rank: GroupProgress(*own) for rank, own in enumerate(ranks)}
    numbers = sorted({number for own in ranks for number in own if number})
    result = front_of(progress, numbers)
    return (result.behind, result.is_desync) if result else ((), False)


def test_the_oldest_open_collective_decides() -> None:
    assert front((7, 7), (6, None), (7, 7)) == ((1,), False)  # did not call it
    assert front((9, 8), (7, 7), (8, 8)) == ((1,), False)  # it has not ended there
    assert front((7, 7), (7, 7)) == ((), False)  # all wait
    assert front((7, None), (7, None)) == ((), False)
    assert front((0, None), (7, 7)) == ((0,), False)  # called nothing
    assert front((8, 8), (7, 7), (7, 7)) == ((1, 2), True)  # one has left the others


@given(
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 2)), min_size=1, max_size=8)
)
def test_each_rank_has_one_place_and_none_ahead_is_behind(
    ranks: list[tuple[int, int]],
) -> None:
    progress = {
        rank: GroupProgress(called, called - back + 1 if 0 < back <= called else None)
        for rank, (called, back) in enumerate(ranks)
    }
    numbers = sorted({own.called for own in progress.values()} - {0})
    result = front_of(progress, numbers)
    if result is None:
        return
    parts = (*result.absent, *result.waiting, *result.done)
    assert sorted(parts) == [*progress]
    for rank in result.done:
        own = progress[rank]
        assert own.called >= result.seq
        assert own.open is None or own.open > result.seq
        assert rank not in result.behind
