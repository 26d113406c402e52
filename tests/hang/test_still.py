"""Which ranks stand still between two looks, and which program a rank is of."""

from __future__ import annotations

import pytest
from views import rank

from envcfg.nodes.hang.hang_records import HangRank, program_names
from envcfg.nodes.hang.rank_activity import standing

FIRST = rank(0, turns=7, worked=12.5, moment=1000.0)


@pytest.mark.parametrize(
    ("later", "stands"),
    [
        ({"moment": 1016.0}, True),
        ({"moment": 1016.0, "worked": 12.9}, True),  # a thread that says that it lives
        ({"moment": 1016.0, "turns": 8}, False),
        ({"moment": 1016.0, "worked": 20.0}, False),  # what it has started works
        ({"moment": 1014.0}, False),
        ({"moment": 1016.0, "turns": None}, False),
        ({"moment": 1016.0, "worked": None}, False),
        ({"moment": 3.0}, False),  # the node came up anew
        ({"moment": 1016.0, "pid": 4}, False),
    ],
)
def test_who_stands_still(later: dict[str, object], stands: bool) -> None:
    now = FIRST._replace(**later)  # type: ignore[arg-type]
    assert standing([FIRST], [now]) == ({(now.host, now.pid)} if stands else set())


def test_who_is_seen_for_the_first_time_does_not_stand_still() -> None:
    assert standing([], [FIRST]) == frozenset()


def process(pid: int, number: int, step: str, port: str) -> HangRank:
    return rank(number, host="n1", pid=pid, step=step, port=port)


@pytest.mark.parametrize(
    ("ranks", "names"),
    [
        ([], []),
        ([(0, "0", "29500"), (1, "0", "29500")], ["", ""]),
        ([(0, "0", ""), (0, "1", "")], ["step 0", "step 1"]),
        ([(0, "", "1"), (0, "3", "1")], ["the batch script", "step 3"]),
        ([(0, "0", "1"), (0, "0", "2")], ["step 0, port 1", "step 0, port 2"]),
        # each rank was given a port of its own, which is what is wrong
        ([(0, "0", "1"), (1, "0", "2")], ["", ""]),
        # the same rank twice with one port: a program that has started itself again
        ([(0, "0", "1"), (0, "0", "1")], ["", ""]),
    ],
)
def test_programs(ranks: list[tuple[int, str, str]], names: list[str]) -> None:
    views = [process(pid, *each) for pid, each in enumerate(ranks)]
    found = program_names(views)
    assert [found[each.host, each.pid] for each in views] == names
