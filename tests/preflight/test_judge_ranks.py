"""What is found of the network, by what the ranks say."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from said import HOSTS, WANTED, rank_lines, ranks

from envcfg.nodes.preflight.network_judge import judge_ranks, speeds
from envcfg.nodes.preflight.preflight_records import Requirements

TWO = WANTED._replace(hosts=HOSTS[:2])
PLAIN = WANTED._replace(gpus=None)


def pair(sender: int, speed: float) -> str:
    """Return what a rank says that got 1 GB at *speed* GB/s."""
    return f"pair {sender} {HOSTS[sender]} 1000000000 {1 / speed:.6f}"


def everyone(*said: tuple[str, ...]) -> list[str]:
    given = (*said, (), (), ())[:3]
    return [
        line
        for rank, more in enumerate(given)
        for line in rank_lines(rank, HOSTS[rank], *more)
    ]


def rules(
    lines: list[str],
    wanted: Requirements = PLAIN,
    ended: Mapping[str, str] | None = None,
) -> list[tuple[str, str, str]]:
    found, job = judge_ranks(wanted, *ranks(lines), ended or {})
    every = [*job, *(each for some in found.values() for each in some)]
    return [(each.rule, each.severity, each.subject) for each in every]


def test_ranks_where_all_is_well_have_no_findings() -> None:
    even = everyone((pair(1, 9), pair(2, 9)), (pair(0, 9),), (pair(0, 9), pair(1, 9)))
    assert rules(even) == []


# All are at 10 GB/s, but for what a case says.
def speeds_of(
    sends: float = 10, receives: float = 10, gpus: str = "torch 2.9 12.8 2"
) -> list[str]:
    return everyone(
        (pair(1, sends), pair(2, 10), gpus),
        (pair(0, receives), pair(2, receives), gpus),
        (pair(0, 10), pair(1, sends), gpus),
    )


@pytest.mark.parametrize(
    ("sends", "receives", "severity"),
    [
        (10, 10, None),
        (8, 8, None),
        (6, 10, "warning"),
        (4, 10, "error"),
        (10, 6, "warning"),
        (10, 4, "error"),
    ],
)
def test_a_slow_node_is_named_against_the_median(
    sends: float, receives: float, severity: str | None
) -> None:
    expected = [("node-slow", severity, HOSTS[1])] if severity else []
    assert rules(speeds_of(sends, receives)) == expected


@pytest.mark.parametrize(("sends", "severity"), [(4, "warning"), (2, "error")])
def test_what_processors_measure_fails_later(sends: float, severity: str) -> None:
    lines = speeds_of(sends, gpus="torch 2.9+cpu cpu 0")
    assert rules(lines) == [("node-slow", severity, HOSTS[1])]


def test_a_node_with_one_slow_partner_is_not_slow() -> None:
    lines = everyone(
        (pair(1, 10), pair(2, 1)),
        (pair(0, 10), pair(2, 10)),
        (pair(0, 10), pair(1, 10)),
    )
    assert rules(lines) == []
    measured = speeds(ranks(lines)[0])
    assert {host: round(sent / 1e9) for host, (sent, _) in measured.items()} == dict.fromkeys(HOSTS, 10)  # fmt: skip


def test_of_two_nodes_the_sender_is_named_and_the_doubt() -> None:
    lines = [
        *rank_lines(0, HOSTS[0], pair(1, 1), world=2),
        *rank_lines(1, HOSTS[1], pair(0, 10), world=2),
    ]
    assert rules(lines, TWO) == [("node-slow", "error", HOSTS[1])]
    found, _ = judge_ranks(TWO, *ranks(lines), {})
    (one,) = found[HOSTS[1]]
    assert one.message.endswith("two nodes alone do not show which")


def slow_gpu(speed: int) -> list[str]:
    return everyone(("multiply 100.0",), (f"multiply {speed}.0",), ("multiply 100.0",))


@pytest.mark.parametrize("lines", [speeds_of(4), speeds_of(10, 4), slow_gpu(40)])
def test_one_measured_speed_alone_condemns_no_node(lines: list[str]) -> None:
    found, _ = judge_ranks(PLAIN, *ranks(lines), {})
    (one,) = found[HOSTS[1]]
    assert one.fix is not None
    assert one.fix.startswith("measure again")


FAULTS = {
    "wrong sum": (everyone((), ("wrong 4096 3",)), ("sum-wrong", "error", HOSTS[1])),
    "slow GPU": (slow_gpu(40), ("gpu-slow", "error", HOSTS[1])),
    "weak GPU": (slow_gpu(60), ("gpu-slow", "warning", HOSTS[1])),
    "clock": (
        everyone((), ("clock 60.5 0.001",), ("clock 0.001 0.001",)),
        ("clock-skew", "warning", HOSTS[1]),
    ),
    "the first node's clock": (
        everyone((), ("clock 60.5 0.001",), ("clock 60.4 0.001",)),
        ("clock-skew", "warning", HOSTS[0]),
    ),
}


@pytest.mark.parametrize(("lines", "expected"), FAULTS.values(), ids=list(FAULTS))
def test_a_fault_is_found_at_its_node(
    lines: list[str], expected: tuple[str, str, str]
) -> None:
    assert rules(lines) == [expected]


STUCK = {
    "one rank is behind": (
        [
            *rank_lines(0, HOSTS[0], stages=2),
            *rank_lines(1, HOSTS[1], stages=1),
            *rank_lines(2, HOSTS[2], stages=2),
        ],
        [("collective-stuck", "error", HOSTS[1])],
    ),
    "one has never begun": (
        [*rank_lines(0, HOSTS[0], stages=1), *rank_lines(2, HOSTS[2], stages=1)],
        [("collective-stuck", "error", HOSTS[1])],
    ),
    "two that talk get no answer": (
        [
            *rank_lines(0, HOSTS[0], f"with 1 {HOSTS[1]}", stages=3),
            *rank_lines(1, HOSTS[1], f"with 0 {HOSTS[0]}", stages=3),
            *rank_lines(2, HOSTS[2], stages=3),
        ],
        [
            ("collective-stuck", "error", HOSTS[0]),
            ("collective-stuck", "error", HOSTS[1]),
        ],
    ),
    "all wait": (
        [line for rank in range(3) for line in rank_lines(rank, HOSTS[rank], stages=4)],
        [("collective-stuck", "error", "")],
    ),
    "one does not reach the first node": (
        [
            *rank_lines(0, HOSTS[0], "absent 1", stages=1),
            *rank_lines(1, HOSTS[1], "unmet h 1 timed out", stages=0),
            *rank_lines(2, HOSTS[2], stages=1),
        ],
        [("rendezvous-unreachable", "error", HOSTS[1])],
    ),
    "nobody reaches the first node": (
        [
            *rank_lines(0, HOSTS[0], "absent 2", stages=0),
            *rank_lines(1, HOSTS[1], "unmet h 1 timed out", stages=0),
            *rank_lines(2, HOSTS[2], "unmet h 1 timed out", stages=0),
        ],
        [("rendezvous-unreachable", "error", HOSTS[0])],
    ),
    "one fails, and takes the others along": (
        [
            *rank_lines(0, HOSTS[0], "failed RuntimeError peer closed", stages=3),
            *rank_lines(1, HOSTS[1], "failed OSError no such device", stages=2),
            *rank_lines(2, HOSTS[2], stages=3),
        ],
        [("collective-failed", "error", HOSTS[1])],
    ),
    "no torch": (
        [
            line
            for rank in range(3)
            for line in rank_lines(rank, HOSTS[rank], "lacks torch", stages=1)
        ],
        [],
    ),
}


@pytest.mark.parametrize(("lines", "expected"), STUCK.values(), ids=list(STUCK))
def test_who_is_behind_is_named(
    lines: list[str], expected: list[tuple[str, str, str]]
) -> None:
    assert rules(lines) == expected


@pytest.mark.parametrize(
    ("torch", "expected"),
    [
        ("torch 2.9 12.8 2", []),
        ("torch 2.9+cpu cpu 0", [("torch-without-gpus", "warning", "")]),
        ("torch 2.9 12.8 0", [("gpu-unseen", "error", host) for host in HOSTS]),
    ],
)
def test_what_torch_sees_is_held_against_the_profile(
    torch: str, expected: list[tuple[str, str, str]]
) -> None:
    lines = everyone((torch,), (torch,), (torch,))
    assert sorted(rules(lines, WANTED)) == sorted(expected)
    assert rules(lines) == []


@pytest.mark.parametrize(("measured", "is_low"), [(90, False), (60, False), (40, True)])
def test_a_sum_is_held_against_what_the_profile_expects(
    measured: int, is_low: bool
) -> None:
    one = (f"sum 536870912 0.01 {measured}", "torch 2.9 6.4 2")
    lines = everyone(one, ("torch 2.9 6.4 2",), ("torch 2.9 6.4 2",))
    found = rules(lines, WANTED._replace(gpus=1, bandwidth=85))
    assert found == ([("bandwidth-low", "warning", "")] if is_low else [])
    assert rules(lines, WANTED._replace(gpus=8, bandwidth=85)) == []  # a part of nodes


def test_a_task_that_ended_by_itself_is_told_where_no_rank_says_why() -> None:
    lines = rank_lines(0, HOSTS[0], stages=1)
    found = rules(lines, ended={HOSTS[1]: "Killed"})
    assert found == [("collective-failed", "error", HOSTS[1])]


def test_who_lacks_what_others_have_is_named() -> None:
    lines = everyone()
    own = f"envcfg-rank 1 {HOSTS[1]} "
    kept = [line for line in lines if not line.startswith(own)]
    kept += [f"{own}began 3 0", f"{own}met", f"{own}lacks No module named 'torch'"]
    kept += [f"envcfg-rank 0 {HOSTS[0]} torch 2.9 12.8 2"]
    assert ("collective-failed", "error", HOSTS[1]) in rules(kept)
    alone = [line for line in kept if line.startswith(own)]
    assert rules(alone) == []
