"""What versions said that are years old, and lines whose host was taken off."""

from __future__ import annotations

import pytest
from checking import check, rules_of

OLD = "NCCL version 2.4.7+cuda10.0\n"
SOCKET = "NET/Socket : Using [0]ib0:10.1.1.7<0>"
ALONE = "NET/Plugin : No plugin found (libnccl-net.so)."
IB = "NET/IB : Using [0]mlx5_0:1/IB ; OOB ib0:10.1.1.7<0>"
NONE = "NET/IB : No device found."
OFF = "NCCL_IB_DISABLE set by environment to 1."


@pytest.mark.parametrize(
    ("said", "verdict", "network"),
    [
        # Up to 2.4.7 the processes find each other by it, whatever carries the data.
        ([SOCKET, ALONE, IB], "inconclusive", "IB"),
        ([SOCKET, ALONE], "inconclusive", None),
        ([SOCKET, ALONE, NONE], "degraded", "Socket"),
        ([SOCKET, ALONE, OFF], "degraded", "Socket"),
        # From 2.4.8 on they say so.
        (["Bootstrap : Using [0]ib0:10.1.1.7<0>", SOCKET], "degraded", "Socket"),
    ],
)
def test_a_socket_that_is_only_for_the_start(
    said: list[str], verdict: str, network: str | None
) -> None:
    hosts = (f"gpu{number}:9:19 [0] NCCL INFO" for number in (1, 2))
    report = check(OLD + "".join(f"{host} {s}\n" for host in hosts for s in said))
    assert report.verdict == verdict
    assert report.job.network == network


def test_an_interface_that_is_no_device_is_no_error() -> None:
    said = "NCCL INFO Could not find real path of /sys/class/net/eth0/device"
    trace = "NCCL INFO include/net.h:19 -> 2"
    report = check(f"gpu1:9:19 [0] {said}\ngpu1:9:19 [0] {trace}\n")
    assert (report.verdict, rules_of(report)) == ("inconclusive", set())


def test_the_oldest_versions_warn_from_headers_too() -> None:
    said = "include/socket.h:360 WARN Call to connect failed : Connection timed out"
    report = check(f"gpu1:9:19 [0] {said}\ngpu1:9:19 [0] INFO init.cu:7 -> 2\n")
    assert (report.verdict, rules_of(report)) == ("broken", {"system-call"})


@pytest.mark.parametrize("host", [":", "::"])
def test_a_process_whose_host_was_taken_off_is_one(host: str) -> None:
    hum = f"{host}9:19 [0] graph/x.cc:7 NCCL WARN The cable hums\n"
    up = f"{host}9:19 [0] NCCL INFO init.cc:12 -> 2\n"
    assert rules_of(check(hum + up)) == {"warning-then-failed"}
    other = f"{host}8:18 [0] NCCL INFO init.cc:12 -> 2\n"
    assert "warning-then-failed" not in rules_of(check(hum + other))
