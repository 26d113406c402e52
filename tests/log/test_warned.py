"""Warnings with words that no rule knows: an error behind them makes them a reason."""

from __future__ import annotations

import pytest
from checking import check, rules_of
from jobs import Job, text

HUM = "transport/net.cc:12 NCCL WARN The cable hums"
UP = "NCCL INFO transport/net.cc:12 -> 2"
ON = "NCCL INFO Connected all trees"
GOOD = text(Job(dialect="nccl-2.24", ranks_per_node=2))
BROKEN, OPEN = ("broken", True), ("inconclusive", False)


def after(*said: str) -> str:
    """Return a log that is fine, and behind it what one rank says on GPUs of its own."""
    host = "nid001001:42001:42001"
    return GOOD + "".join(f"{host} {line}\n" for line in said)


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ([f"[0] {HUM}", f"[0] {UP}"], BROKEN),
        ([f"[0] {HUM}"], OPEN),
        ([f"[0] {UP}", f"[0] {HUM}"], OPEN),
        ([f"[0] {HUM}", f"[0] {UP}", f"[0] {ON}"], OPEN),
        ([f"[0] {HUM}", f"[0] {ON}", f"[0] {UP}"], OPEN),
        ([f"[0] {HUM}", f"[0] {UP}", f"[0] {ON}", f"[0] {HUM}", f"[0] {UP}"], BROKEN),
        # Each GPU of a process goes on by itself.
        ([f"[0] {ON}", f"[1] {ON}", f"[0] {HUM}", f"[0] {UP}", f"[1] {ON}"], BROKEN),
        # What is said before the GPU is chosen belongs to any.
        ([f"[5] {HUM}", f"[5] {UP}", f"[1] {ON}"], OPEN),
        (["[0] " + HUM, "[0] NCCL INFO enqueue.cu:7 -> 1"], BROKEN),
        (["[0] " + HUM, "[0] NCCL INFO misc/strongstream.cc:7 -> 7"], BROKEN),
        (["[0] " + HUM, "[0] NCCL INFO misc/strongstream.cc:7 -> 0"], OPEN),
        (["[0] " + HUM, "[0] NCCL INFO ras/ras.cc:7 -> 2"], OPEN),
    ],
)
def test_an_unknown_warning(said: list[str], expected: tuple[str, bool]) -> None:
    report = check(after(*said))
    assert (report.verdict, "warning-then-failed" in rules_of(report)) == expected
    assert ("unknown-warning" in rules_of(report)) != expected[1]


def test_an_error_that_tells_its_reason_wins() -> None:
    known = "transport/net_ib.cc:154 NCCL WARN NET/IB : mlx5_3:1 async fatal event on QP (0x7f): x"
    report = check(after(f"[0] {HUM}", f"[0] {known}", f"[0] {UP}"))
    assert "warning-then-failed" not in rules_of(report)
    assert "unknown-warning" in rules_of(report)


def test_lines_that_name_no_process_are_not_put_together() -> None:
    report = check(f"NCCL WARN The cable hums\n{UP}\n")
    assert report.verdict == "inconclusive"


def test_a_warning_of_the_oldest_versions_is_one() -> None:
    """They do not say that they are NCCL."""
    log = "".join(
        f"gpu{rank}:9:9 [0] INFO Using internal Network IB\n" for rank in (1, 2)
    )
    assert check(log).coverage.records == 2
    report = check(f"{log}gpu1:9:9 [0] transport/net.cu:60 WARN The cable hums\n")
    assert report.coverage.unknown_warnings == 1
    known = "gpu1:9:9 [0] include/shm.cu:60 WARN Cuda failure 'out of memory'\n"
    assert check(log + known).verdict == "broken"
