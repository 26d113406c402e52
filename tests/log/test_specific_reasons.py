"""The specific reason comes before the general finding that follows from it."""

from __future__ import annotations

import pytest
from checking import check

from envcfg.log.verdict import LogReport

FRONT = "gpu-07:900:955 [0] "
NET = "NCCL WARN NET/OFI"
REQUEST = f"{FRONT}ofi_process_cq:188 {NET} Request 0x7f0 completed with error. RC: 21. Error: x\n"
VNI = "libfabric:900:17::cxi:ep_data:f():675<warn> gpu-07: TXC (0x8f1:4): error: 0x4 (err: 107, VNI_NOT_FOUND)\n"
FAILED = (
    f"{FRONT}nccl_net_ofi_create_plugin:308 {NET} aws-ofi-nccl initialization failed\n"
)
GDR = f"{FRONT}platform_config_endpoint:611 {NET} GDR disabled on GDR-supported instance type p4de.24xlarge\n"
QUEUE = "libfabric:900:17::efa:cq:efa_rdm_cq_open():688<warn> Unable to create extended CQ: Invalid argument\n"
SOCKET = f"{FRONT}NCCL INFO Using network Socket\n"
OTHER = "gpu-07:901:956 [1] NCCL INFO Using network AWS Libfabric\n"
TIMEOUT = (
    "[rank1]: Watchdog caught collective operation timeout:\n  WorkNCCL(SeqNum=18)\n"
)
JOINED = "  [0,1,2,3] joined but didn't finish collective #41\n"


def rules_of(report: LogReport) -> tuple[list[str], set[str]]:
    """Return the causes in their order, and the findings that follow from them."""
    bad = [each for each in report.findings if each.severity != "note"]
    return [each.rule for each in bad if each.cause], {
        each.rule for each in bad if not each.cause
    }


@pytest.mark.parametrize(
    ("log", "cause", "follows", "class_"),
    [
        (REQUEST + VNI, "cxi-vni-not-found", {"ofi-request-failed"}, "configuration"),
        (VNI + REQUEST, "cxi-vni-not-found", {"ofi-request-failed"}, "configuration"),
        (REQUEST, "ofi-request-failed", set(), "network"),
        (QUEUE + FAILED + SOCKET + OTHER, "efa-queue", {"network-mixed", "plugin-init-failed", "socket-fallback"}, "configuration"),
        (TIMEOUT + JOINED, "torch-joined", {"torch-watchdog"}, "program or network"),
        (TIMEOUT, "torch-watchdog", set(), "program or network"),
    ],
)  # fmt: skip
def test_the_cause_of_an_end_is_the_specific_one(
    log: str, cause: str, follows: set[str], class_: str
) -> None:
    for front in ("", "3: ", "nid1: "):
        report = check("".join(f"{front}{line}\n" for line in log.splitlines()))
        (first, *_), others = rules_of(report)
        assert report.cause
        assert (report.verdict, first, report.cause.rule) == ("broken", cause, cause)
        assert report.cause.class_ == class_
        assert follows <= others
        assert not report.summary.endswith(":")


@pytest.mark.parametrize("log", [GDR + FAILED + SOCKET, SOCKET + FAILED + GDR])
def test_the_reason_why_a_plugin_did_not_start_comes_first(log: str) -> None:
    report = check(log)
    causes, follows = rules_of(report)
    assert causes[0] == "ofi-gdr-off-platform"
    assert {"plugin-init-failed", "socket-fallback"} <= follows
    assert "this machine has GPU RDMA" in report.summary


def test_sockets_within_one_node_are_no_finding_of_their_own() -> None:
    log = "".join(
        f"gpu-07:90{rank}:9 [{rank}] NCCL INFO {words}\n"
        for rank in range(2)
        for words in (
            f"comm 0x1 rank {rank} nranks 2 cudaDev {rank} busId {rank} - Init COMPLETE",
            "Using network Socket",
            "NET/OFI aws-ofi-nccl initialization failed",
        )
    )
    report = check(log)
    assert rules_of(report) == (["plugin-init-failed"], set())
    assert report.summary == (
        "degraded: 2 of 2 ranks run without the plugin, because it failed to initialise"
    )
