"""Logs of clouds with networks of their own, against what their profiles expect."""

from __future__ import annotations

from pathlib import Path

import pytest
from checking import check, rules_of
from jobs import Job, text
from scenarios import small

from support import envcfg

FASTRAK = small(
    network="Using network FasTrak",
    start="Initializing network FasTrak, version: 1.0.17",
    channel="NET/FasTrak/0",
).replace("hsn0", "enp0s12")
SENT_BY_TCP = small(network="Using network Socket", channel="NET/Socket/0").replace(
    "hsn0", "enp0s12"
)

GIB = small(network="Using network gIB", channel="NET/gIB/0/GDRDMA")


def verbs(nics: int, interface: str = "eth") -> str:
    return text(Job(network="ib", nics=nics, interface=interface))


@pytest.mark.parametrize(
    ("profile", "log", "code", "words"),
    [
        ("google-a3-mega", FASTRAK, 0, "use FasTrak"),
        ("google-a3-mega", SENT_BY_TCP, 1, "TCP sockets"),
        ("google-a3-mega", FASTRAK.replace("enp0s12", "docker0"), 0, "docker0"),
        ("google-a3-mega", verbs(8), 1, "degraded: 16 of 16 ranks use IB"),
        ("google-a3-mega", FASTRAK.replace("enp0s12", "eth0"), 0, "use FasTrak"),
        ("azure-ndh100", verbs(8), 0, "use IB"),
        ("azure-ndh100", verbs(7), 1, "7"),
        ("azure-ndh100", verbs(8, "ib"), 0, "use IB"),
        ("azure-ndh100", FASTRAK, 1, "degraded: 4 of 4 ranks use FasTrak"),
        ("oci-h100", verbs(16), 0, "use IB"),
        ("oci-h100", verbs(8), 1, "8"),
        ("google-a3-ultra", GIB, 0, "use gIB, with GPU RDMA"),
        ("google-a4", verbs(8), 1, "degraded: 16 of 16 ranks use IB"),
        ("google-a4", SENT_BY_TCP, 1, "TCP sockets"),
        ("oci-h200", verbs(8), 0, "use IB"),
        ("ibm-h100", verbs(8), 0, "use IB"),
        ("roce-cuda", SENT_BY_TCP, 1, "TCP sockets"),
    ],
)
def test_a_log_is_held_against_the_cloud_s_profile(
    tmp_path: Path, profile: str, log: str, code: int, words: str
) -> None:
    (tmp_path / "log").write_text(log)
    done = envcfg("check-log", "--profile", profile, str(tmp_path / "log"))
    assert done.code == code, done.text + done.err
    assert words in done.text


@pytest.mark.parametrize("name", ["GPUDirectTCPX_v7", "GPUDirectTCPXO", "FasTrak_v8"])
def test_a_network_without_rdma_of_google_s_is_neither_fallback_nor_unknown(
    tmp_path: Path, name: str
) -> None:
    log = small(network=f"Using network {name}", channel=f"NET/{name}/0")
    (tmp_path / "log").write_text(log)
    done = envcfg("check-log", str(tmp_path / "log"))
    assert done.code == 0, done.text + done.err
    assert f"use {name}; whether with GPU RDMA is not shown" in done.text


def test_polaris_has_two_adapters_and_not_its_family_s_four(
    tmp_path: Path,
) -> None:
    (tmp_path / "log").write_text(text(Job(dialect="nccl-2.24", nics=2)))
    options = ("check-log", "--profile", "polaris")
    assert envcfg(*options, str(tmp_path / "log")).code == 0
    (tmp_path / "log").write_text(text(Job(dialect="nccl-2.24", nics=1)))
    assert envcfg(*options, str(tmp_path / "log")).code == 1


def test_where_a_plugin_failed_infiniband_that_is_off_is_not_the_reason() -> None:
    """Images for EFA switch InfiniBand off, which no machine with EFA has."""
    log = """\
algo-1:71:90 [0] nccl_net_ofi_create_plugin:259 NCCL WARN NET/OFI aws-ofi-nccl initialization failed
algo-1:71:90 [0] NCCL INFO NCCL_IB_DISABLE set by environment to 1.
algo-1:71:90 [0] NCCL INFO NET/Socket : Using [0]eth0:10.0.0.1<0>
algo-1:71:90 [0] NCCL INFO Using network Socket
"""
    assert rules_of(check(log)) == {"socket-fallback", "plugin-init-failed"}
    without = "".join(log.splitlines(keepends=True)[1:])
    other = without.replace("algo-1:71", "algo-2:71")
    comm = (
        "[0] NCCL INFO comm 0x7 rank {0} nRanks 2 nNodes 2 localRanks 1 localRank 0\n"
    )
    both = (
        without + other + f"algo-1:71:90 {comm.format(0)}algo-2:71:90 {comm.format(1)}"
    )
    assert "socket-ib-disabled" in rules_of(check(both))
