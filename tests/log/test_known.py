"""What is known though not all is proven, and what torn or elided lines do not spoil."""

from __future__ import annotations

import random
import re

import pytest
from checking import check
from jobs import Job, text
from scenarios import GOOD, small


def torn(log: str, share: float, seed: int) -> str:
    """Return *log* with lines of two writers in each other, at a *share* of its lines."""
    lot = random.Random(seed)
    lines = log.splitlines()
    for at in range(0, len(lines) - 1, 2):
        if lot.random() < share:
            cut = lot.randrange(1, len(lines[at]))
            one, other = lines[at : at + 2]
            lines[at : at + 2] = one[:cut] + other, one[cut:]
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("dialect", ["nccl-2.18", "nccl-2.24", "rccl-2.20"])
def test_torn_lines_do_not_outweigh_channels_of_all_ranks(dialect: str) -> None:
    log = text(Job(nodes=4, dialect=dialect))
    verdicts = [check(torn(log, 0.002, seed)).verdict for seed in range(10)]
    assert set(verdicts) <= {"ok", "inconclusive"}
    assert verdicts.count("ok") >= 9


def test_a_torn_line_hides_no_provider_of_tcp() -> None:
    log = text(Job(dialect="nccl-2.18"))
    fallen = re.sub(r"(?m)^(nid001002:.*)(?: is cxi|/GDRDMA)", r"\1 is tcp", log)
    assert check(fallen).verdict != "ok"
    for seed in range(20):
        assert check(torn(fallen, 0.02, seed)).verdict != "ok"


@pytest.mark.parametrize("hidden", [" commId \\S+", " rank 5 nranks .* commId \\S+"])
def test_a_missing_id_makes_no_second_attempt(hidden: str) -> None:
    log = text(Job(dialect="nccl-2.24"))
    on_one = re.sub(
        rf"(?m)^(nid001002:.*){hidden}",
        lambda found: re.sub(r" commId \S+", "", found[0]),
        log,
    )
    assert on_one != log or "rank 5" in hidden
    assert check(on_one).verdict == "ok"


def test_two_attempts_stay_two() -> None:
    first = small(comm_id="0xc1", only=(0, 1), channel=None)
    second = small(comm_id="0xc2", only=(2, 3), first_pid=90, channel=None)
    assert check(first + second).verdict != "ok"


def test_what_is_known_is_said_where_ranks_are_missing() -> None:
    report = check(small(size=8, only=(0, 1, 2, 3, 4, 5)))
    assert report.summary == (
        "inconclusive: not proven: all 6 ranks seen on 3 nodes use IB with GPU RDMA; "
        "2 ranks of 8 are not in the log (6-7)"
    )


SHARP = """\
sharp_plugin.c:365 NCCL WARN NET/IB : SHARP coll init error: Cannot create SHARP job(-11)
transport/coll_net.cc:1358 -> 2
transport.cc:387 -> 2
net_ib.cc:12 -> 2"""
MSCCLPP = "init.cc:2040 NCCL WARN MSCCL++: Cannot enable MSCCL++; environment is not MSCCL compatible"


@pytest.mark.parametrize("said", [SHARP, MSCCLPP])
def test_what_falls_back_and_goes_on_is_harmless(said: str) -> None:
    assert check(small(start=said)).verdict == "ok"
    assert check(small(end=said)).verdict == "ok"
    assert check(small(end=f"{said}\ngroup.cc:422 -> 2")).verdict == "broken"


def test_advice_fits_the_system_and_what_it_writes() -> None:
    fault = "a:1 NCCL WARN Cuda failure 'named symbol not found'\n"
    amd = "RCCL version 2.20.5+hip6.2 HEAD:abc\n"
    line = re.sub(r"(?m)^", "nid1:70:70 [0] ", fault)
    fix = " ".join(each.fix or "" for each in check(GOOD + line).findings)
    assert "nvidia-smi" in fix
    fix = " ".join(each.fix or "" for each in check(amd + GOOD + line).findings)
    assert "rocm-smi" in fix
    assert "nvidia-smi" not in fix
    failed = "RuntimeError: NCCL error in: ../x.cpp:1, unhandled system error, NCCL version 2.21.5\n"
    fixes = [
        " ".join(e.fix or "" for e in check(log).findings)
        for log in (failed, GOOD + failed)
    ]
    assert ["NCCL_DEBUG=WARN" in fix for fix in fixes] == [True, False]
