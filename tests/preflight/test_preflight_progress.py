"""Until when nodes and ranks are waited for."""

from __future__ import annotations

import pytest
from said import HOSTS, answers, node_lines, rank_lines, ranks

from envcfg.nodes.preflight.progress import (
    Limits,
    NodeProgress,
    RankProgress,
    late_ranks,
)

LIMITS = Limits(start=100, patience=10, measure=20)


def test_nodes_are_waited_for_until_all_have_answered() -> None:
    progress = NodeProgress(HOSTS[:2], LIMITS, 1000.0)
    assert progress.deadline({}, 1000.0) == 1100.0
    half = node_lines(HOSTS[0])[:-1]
    assert progress.deadline(answers(half), 1005.0) == 1100.0
    one = answers(node_lines(HOSTS[0]))
    assert progress.deadline(one, 1050.0) == 1060.0
    assert progress.deadline(one, 1055.0) == 1060.0
    both = answers([*node_lines(HOSTS[0]), *node_lines(HOSTS[1])])
    assert progress.deadline(both, 1056.0) is None


# At which time two ranks have reached how many stages, and until when is waited then.
STORIES = {
    "nobody comes": [((None, None), 0, 100)],
    "the second does not": [((1, None), 5, 15), ((1, None), 9, 15)],
    "both go on": [((1, 1), 5, 15), ((2, 1), 6, 16), ((2, 2), 7, 107)],
    "torch loads slowly for both": [((2, 2), 7, 107), ((3, 2), 67, 137), ((3, 3), 70, 80)],
    "all is measured": [((4, 4), 8, 38), ((5, 4), 20, 50), ((5, 5), 21, 51), ((6, 6), 30, None)],
}  # fmt: skip


@pytest.mark.parametrize("story", STORIES.values(), ids=list(STORIES))
def test_ranks_are_waited_for_as_long_as_the_first_was_quick(
    story: list[tuple[tuple[int | None, int | None], float, float | None]],
) -> None:
    progress = RankProgress(LIMITS, 0.0)
    for stages, now, expected in story:
        lines = [
            line
            for rank, stage in enumerate(stages)
            if stage is not None
            for line in rank_lines(rank, HOSTS[rank], world=2, stages=stage - 1)
        ]
        assert progress.deadline(*ranks(lines), float(now)) == expected, now


@pytest.mark.parametrize("said", ["failed OSError x", "unmet h 1 x"])
def test_a_rank_that_cannot_go_on_ends_it_soon(said: str) -> None:
    progress = RankProgress(LIMITS, 0.0)
    lines = rank_lines(0, HOSTS[0], said, world=2, stages=0)
    assert progress.deadline(*ranks(lines), 5.0) == 6.0
    assert progress.deadline(*ranks(lines), 5.5) == 6.0


def test_without_torch_nothing_is_waited_for() -> None:
    lines = [
        line
        for rank in range(2)
        for line in rank_lines(rank, HOSTS[rank], "lacks torch", world=2, stages=1)
    ]
    assert RankProgress(LIMITS, 0.0).deadline(*ranks(lines), 5.0) is None


def test_ranks_that_have_said_nothing_are_the_latest() -> None:
    lines = rank_lines(1, HOSTS[1], world=3, stages=2)
    assert late_ranks(*ranks(lines)) == ([0, 2], 0)
