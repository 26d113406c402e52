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
        f"broken: rank 5{where} says nothing, and 15 ranks wait 600 seconds in number 77, ALLREDUCE of 4096"
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
    "even": ("", "all 16 ranks wait 600 seconds in number 77, ALLREDUCE of 4096; the last that ended is number 76"),
    "behind": (waits(3, seq=76), "rank 3 (nid001001) waits in number 76, and 15 ranks wait 600 seconds in number 77"),
    "ahead": (waits(3, seq=78), "15 ranks wait 600 seconds in number 77, ALLREDUCE of 4096, and rank 3 (nid001001) has completed it; the log does not show which"),
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
    assert report.summary.startswith("broken: 4 ranks wait 600 seconds in number 77")
    assert report.summary.endswith("12 other ranks say nothing")
    assert "lag-even" not in rules_of(check(GOOD + waits(3)))
    assert check(re.sub("SeqNum=77.*", "SeqNum=", waits(0))).verdict == "broken"


def signalled(rank: int, enqueued: int, completed: int) -> str:
    return (
        f"[rank{rank}]:[E314 09:26:53.523456789 ProcessGroupNCCL.cpp:1682] [PG ID 0 PG GUID "
        f"0(default_pg) Rank {rank}] Received a dump signal due to a collective timeout from  "
        "local rank 0 and we will try our best to dump the debug info. Last enqueued NCCL "
        f"work: {enqueued}, last completed NCCL work: {completed}. This is most likely caused "
        "by incorrect usages of collectives\n"
    )


# Lines of public reports, and the start of the first line.
REPORTED = {
    # A rank that answers the dump signal says how far it is.
    "dump signal": (
        "".join(waits(rank) for rank in range(16) if rank != 5) + signalled(5, 76, 76),
        "rank 5 did not call number 77, ALLREDUCE of 4096; the last was 76, and 15 ranks wait",
    ),
    "dump signal of a rank far behind": (
        "".join(waits(rank) for rank in range(16) if rank != 5) + signalled(5, 70, 70),
        "rank 5 did not call number 77, ALLREDUCE of 4096; the last was 70, and 15 ranks wait",
    ),
    "dump signals alone": (
        "".join(signalled(rank, 98 if rank == 2 else 99, 98) for rank in range(4)),
        "rank 2 did not call number 99",
    ),
    # Rank 2 waits in a collective that the others completed.
    "dump signals of ranks that are past it": (
        waits(2) + "".join(signalled(rank, 77, 77) for rank in (0, 1, 3)),
        "rank 2 waits in number 77, and 3 ranks completed it",
    ),
    # The group of all ranks waits for nothing: another group timed out.
    "a group without a wait": (
        "".join(signalled(rank, 98, 98) for rank in range(4)),
        "a collective of another rank did not end in time",
    ),
    # Half of the ranks are at the older number: these did not complete it.
    "two halves": (
        "".join(waits(rank, seq=77 - rank // 2) for rank in range(4)),
        "ranks 2-3 wait in number 76, and 2 ranks wait 600 seconds in number 77",
    ),
    # hiyouga/LlamaFactory#7396: only the second line of a rank names the group
    "a group in one line of two": (
        "".join(
            waits(rank).replace("[PG ID 0 PG GUID 0(default_pg) Rank", "[Rank", 1)
            for rank in range(4)
        ),
        "all 4 ranks wait in number 77, ALLREDUCE of 4096",
    ),
    # pytorch/pytorch#140969 and pytorch/tutorials: what torchfrtrace prints
    "torchfrtrace": (
        ("Not all ranks joining collective, sequence number: 31117\n"
        "internal record id: 31116\ngroup info: 0:default_pg\ncollective: nccl:all_reduce\n"
        "missing ranks: {3, 4, 5, 6, 7}\ninput sizes: [[1571911]]\nworld size: 8\n"),
        "some ranks did not join a collective in which the others wait: missing ranks: {3, 4, 5, 6, 7}",
    ),
    "torchfrtrace of PyTorch 2.5": (
        ("  Not all ranks joining collective 5 at entry 4\n  group info: 0:default_pg\n"
        "  collective: nccl:all_reduce\n  missing ranks: {1}\n  input sizes: [[3, 4]]\n"),
        "some ranks did not join a collective in which the others wait: missing ranks: {1}",
    ),
    "torchfrtrace of ranks that differ": (
        ("Collective sequence number: 7 has errors\ninternal record id: 6\n"
        "group info: 0:default_pg\ncollective: nccl:all_reduce\ncollective state: scheduled\n"
        "error msg: Culprit rank 2; Error type: SIZE_OR_SYNTAX_MISMATCH\n"),
        ("ranks called different operations, sizes or types as the same collective: error msg: "
        "Culprit rank 2"),
    ),
    # pytorch TraceUtils.h: TORCH_NCCL_DESYNC_DEBUG
    "desync report": (
        waits(0)
        + "\t - To our best knowledge, the lagging/dead/mismatched ranks that caused the desync are:\n"
        "\t   [1] finished collective #76, but didn't join collective #77 (count from 1)\n",
        "some ranks did not join a collective in which the others wait: [1] finished collective #76",
    ),
    # pytorch ProcessGroupWrapper.cpp: TORCH_DISTRIBUTED_DEBUG=DETAIL
    "fingerprints": (
        ("RuntimeError: Detected mismatch between collectives on ranks. Rank 1 is running collective: "
        "CollectiveFingerPrint(SequenceNumber=3, OpType=BROADCAST, TensorShape=[1]), but Rank 0 is "
        "running collective: CollectiveFingerPrint(SequenceNumber=3, OpType=ALLREDUCE).\n"),
        ("the ranks call different collectives: RuntimeError: Detected mismatch between collectives on "
        "ranks. Rank 1 is running collective: CollectiveFingerPrint(SequenceNumber=3, OpType=BROADCAST"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", REPORTED)
def test_what_is_reported_of_a_hang_names_the_ranks(case: str) -> None:
    log, line = REPORTED[case]
    assert check(log).summary.startswith(f"broken: {line}")


@pytest.mark.parametrize(
    ("case", "answer"),
    [("torchfrtrace", "fix first"), ("torchfrtrace of ranks that differ", "fix first")],
)
def test_the_next_step_after_a_report_of_torchfrtrace(case: str, answer: str) -> None:
    assert check(REPORTED[case][0]).next.answer == answer


@pytest.mark.parametrize("group", PREFIXES)
@pytest.mark.parametrize("front", ["", "3: ", "[default3]:"])
def test_one_rank_alone_is_told_how_to_show_the_others(front: str, group: str) -> None:
    lines = waits(3, group=PREFIXES[group]).splitlines()
    report = check("".join(f"{front}{line}\n" for line in lines))
    assert report.summary.startswith(
        "broken: rank 3 waited 600 seconds in number 77, ALLREDUCE of 4096"
    )
    assert "srun --output=log-%t" in report.next.reason
    assert report.next.action == "fix first"
    assert report.waiting[0].seconds == 600


def test_an_end_before_the_hang_stays_the_cause() -> None:
    died = "srun: error: nid001000: task 5: Segmentation fault (core dumped)\n"
    report = check(died + waits(3))
    assert report.summary.startswith("broken: rank 5 (nid001000) crashed")
