"""Nodes on which jobs fail more often than chance explains."""

from __future__ import annotations

import random
from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envcfg.jobs.accounting import expand_list
from envcfg.jobs.node_failures import NodeFailure, find_failing_nodes, upper_tail


@given(st.integers(1, 40), st.integers(0, 40), st.floats(0.01, 0.99))
def test_the_tail_is_that_of_the_binomial_distribution(
    trials: int, least: int, rate: float
) -> None:
    exact = sum(
        comb(trials, n) * rate**n * (1 - rate) ** (trials - n)
        for n in range(least, trials + 1)
    )
    assert upper_tail(least, trials, rate) == pytest.approx(exact, abs=1e-9)


def failure(
    node: str, user: str = "u", print_: str = "Xid", day: str = "1"
) -> NodeFailure:
    return NodeFailure(node, user, print_, day)


def test_one_failure_counts_per_user_cause_and_day() -> None:
    (node,) = find_failing_nodes([failure("n1")] * 50, {"n1": 50, "n2": 50})
    assert (node.failures, node.is_bad) == (1, False)


def test_a_user_with_one_cause_condemns_no_node() -> None:
    jobs = {f"n{at}": 30 for at in range(50)}
    own = [failure("n1", day=f"{day}") for day in range(20)]
    assert [n.is_bad for n in find_failing_nodes(own, jobs)] == [False]
    two = [*own, failure("n1", user="v")]
    assert [n.is_bad for n in find_failing_nodes(two, jobs)] == [True]


def test_planted_nodes_are_named_and_good_ones_are_not() -> None:
    for seed in range(20):
        chance = random.Random(seed)
        nodes = [f"n{at:04}" for at in range(1000)]
        bad = set(chance.sample(nodes, 5))
        jobs = dict.fromkeys(nodes, 40)
        found = [
            failure(
                node,
                f"u{chance.randrange(50)}",
                chance.choice(["Xid", "link"]),
                f"{job}",
            )
            for node in nodes
            for job in range(40)
            if chance.random() < (0.4 if node in bad else 0.004)
        ]
        assert {n.node for n in find_failing_nodes(found, jobs) if n.is_bad} == bad, (
            seed
        )


@pytest.mark.parametrize(
    ("text", "nodes"),
    [
        ("n1", ["n1"]),
        ("n[1-3]", ["n1", "n2", "n3"]),
        ("n[08-10],x,m[1,3]-ib", ["n08", "n09", "n10", "x", "m1-ib", "m3-ib"]),
        ("n[1-999999999]", []),
        ("n[a]", []),
        ("n[1", []),
        ("None assigned", ["None assigned"]),
        ("", []),
    ],
)
def test_a_list_of_nodes_is_unfolded_within_limits(text: str, nodes: list[str]) -> None:
    assert [*expand_list(text)] == nodes
