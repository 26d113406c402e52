"""Who lags, from the lines of PyTorch's watchdog alone."""

from __future__ import annotations

import re

import pytest
from checking import check, rules_of
from jobs import Job, text

GOOD = text(Job())
PREFIXES = {
    "2.1": "[Rank {rank}] ",
    "2.3": "[PG 0 Rank {rank}] ",
    "2.4": "[PG ID 0 PG GUID 0(default_pg) Rank {rank}] ",
}


def waits(
    rank: int,
    *,
    seq: int = 77,
    operation: str = "ALLREDUCE",
    numel: int = 4096,
    group: str = PREFIXES["2.4"],
    label: bool = True,
    member: int | None = None,
) -> str:
    own = group.format(rank=rank if member is None else member)
    front = f"[rank{rank}]:" if label else ""
    return (
        f"{front}[E314 09:26:53.123456789 ProcessGroupNCCL.cpp:632] {own}Watchdog caught collective operation "
        f"timeout: WorkNCCL(SeqNum={seq}, OpType={operation}, NumelIn={numel}, NumelOut={numel}, "
        "Timeout(ms)=600000) ran for 600027 milliseconds before timing out.\n"
        f"{front}[E314 09:26:53.223456789 ProcessGroupNCCL.cpp:2271] {own} failure detected by watchdog at work "
        f"sequence id: {seq} PG status: last enqueued work: {seq + 2}, last completed work: {seq - 1}\n"
    )


@pytest.mark.parametrize("nccl", [True, False])
@pytest.mark.parametrize("label", [True, False])
@pytest.mark.parametrize("group", PREFIXES)
def test_the_silent_rank_is_named(group: str, label: bool, nccl: bool) -> None:
    said = (
        waits(rank, group=PREFIXES[group], label=label)
        for rank in range(16)
        if rank != 5
    )
    report = check((GOOD if nccl else "") + "".join(said))
    where = " (nid001001)" if nccl else ""
    assert report.summary == (
        f"broken: rank 5{where} says nothing, and 15 ranks wait in number 77, ALLREDUCE of 4096"
    )
    cause = [each.rule for each in report.findings if each.cause]
    assert cause[0] == "lag-silent"
    assert "torch-watchdog" not in cause
    assert len(report.waiting) == 15
    row = report.waiting[0]
    assert (row.seq, row.operation, row.enqueued, row.completed) == (
        77,
        "ALLREDUCE",
        79,
        76,
    )


CASES = {
    "even": ("", "all 16 ranks wait in number 77, ALLREDUCE of 4096; the last that ended is number 76"),
    "behind": (waits(3, seq=76), "rank 3 (nid001001) waits in number 76, and 15 ranks wait in number 77"),
    "ahead": (waits(3, seq=78), "rank 3 (nid001001) waits in number 78, and 15 ranks wait in number 77"),
    "operation": (waits(3, operation="BROADCAST"), "rank 3 (nid001001) called BROADCAST as number 77"),
    "size": (waits(3, numel=7), "rank 3 (nid001001) called ALLREDUCE of 7 as number 77"),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_who_differs_is_named(case: str) -> None:
    said, words = CASES[case]
    others = "".join(waits(rank) for rank in range(16) if rank != 3 or not said)
    report = check(GOOD + others + said)
    assert report.summary.startswith(f"broken: {words}")


def test_a_size_that_differs_by_rank_as_it_may_is_no_mismatch() -> None:
    said = (waits(rank, operation="GATHER", numel=rank + 1) for rank in range(16))
    assert rules_of(check(GOOD + "".join(said))) >= {"lag-even"}


def test_a_rank_that_waits_in_another_group_is_not_the_silent_one() -> None:
    group = "[PG ID 1 PG GUID 3(tp) Rank {rank}] "
    world = "".join(waits(rank) for rank in range(16) if rank not in (4, 5))
    inner = waits(5, seq=9, group=group, member=1)
    report = check(GOOD + world + inner)
    assert report.summary.startswith("broken: rank 4 (nid001001) says nothing")


def test_a_first_error_of_the_network_stays_the_cause() -> None:
    lost = (
        "nid001001:4711:4999 [0] transport/net_ib.cc:1309 NCCL WARN NET/IB : Got completion "
        "from peer 10.0.0.2<40001> with status=12 opcode=0 len=0 vendor err 129\n"
    )
    report = check(GOOD + lost + "".join(waits(rank) for rank in range(16)))
    assert "InfiniBand" in report.summary or "IB" in report.summary
    assert "lag-even" in rules_of(report)


def test_half_a_log_names_nobody() -> None:
    report = check(GOOD + "".join(waits(rank) for rank in range(0, 16, 4)))
    assert report.summary.startswith("broken: 4 ranks wait in number 77")
    assert report.summary.endswith("12 other ranks say nothing")
    assert "lag-even" not in rules_of(check(GOOD + waits(3)))
    assert check(re.sub("SeqNum=77.*", "SeqNum=", waits(0))).verdict == "broken"
