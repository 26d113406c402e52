"""NCCL's own hints behind an error: the better words for it, and no errors themselves."""

from __future__ import annotations

import pytest
from checking import check, rules_of

HEAD = "nid001234:4711:4802 [1] "
HINT = "NCCL {} HINT: In many cases this error indicates that "
COMPLETION = (
    "transport/net_ib.cc:1309 NCCL WARN NET/IB : Got completion from peer 10.0.0.2<40001> "
    "with status={} opcode=0 len=0 vendor err {} (Recv)"
)
CASES = {
    "acs": (
        COMPLETION.format(4, 81),
        "ACS is enabled, which breaks the GPU Direct RDMA protocol.",
        "PCIe access control (ACS)",
    ),
    "timeout": (
        COMPLETION.format(12, 129),
        "NCCL_IB_TIMEOUT is set too short (the default value is 20).",
        "within NCCL_IB_TIMEOUT",
    ),
    "gid": (
        "misc/ibvwrap.cc:345 NCCL WARN Call to ibv_modify_qp failed with error Invalid argument",
        "an incorrect GID index is forced by NCCL_IB_GID_INDEX.",
        "NCCL_IB_GID_INDEX has a wrong index",
    ),
    "bar1": (
        "include/cudawrap.h:53 NCCL WARN Cuda failure 711 'peer mapping resources exhausted'",
        "the GPU peer-mapping (BAR1 P2P) resources are exhausted.",
        "table of peers (BAR1)",
    ),
}


@pytest.mark.parametrize("level", ["INFO", "WARN"])
@pytest.mark.parametrize("name", CASES)
def test_a_hint_gives_the_reason_of_the_error_before_it(name: str, level: str) -> None:
    error, hint, words = CASES[name]
    test = f"{HEAD}NCCL {level} HINT: To confirm, set NCCL_X=0."
    log = f"{HEAD}{error}\n{HEAD}{HINT.format(level)}{hint}\n{test}\n"
    report = check(log)
    assert report.verdict == "broken"
    assert words.partition("; ")[0] in report.summary
    assert report.cause
    assert error.partition("NCCL WARN ")[2] in report.cause.message
    assert words not in check(f"{HEAD}{error}\n").summary
    assert "unknown-warning" not in rules_of(report)


def test_a_hint_alone_is_no_error() -> None:
    report = check(f"{HEAD}{HINT.format('INFO')}ACS is enabled.\n")
    assert report.verdict == "inconclusive"
    assert report.findings == ()
