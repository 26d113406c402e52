"""A program that starts its own processes, started once per rank: NCCL's lines of each node."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from checking import check, rulebook, rules_of

from envcfg.log.expectations import Expectations
from envcfg.log.files import check_files
from envcfg.log.follow import is_safe
from envcfg.log.judge.job_judge import judge
from envcfg.log.read.process_facts import Spot
from envcfg.log.state.job_state import JobLog
from envcfg.log.state.reader import Reader
from envcfg.log.verdict import Coverage

BUSES = ("7000", "b000", "48000", "4c000", "88000", "8b000", "c8000", "cb000")


def comm(
    host: str,
    pid: int,
    dev: int,
    number: int,
    *,
    rank: int | None = None,
    size: int = 8,
) -> str:
    rank = dev if rank is None else rank
    return (
        f"{host}:{pid}:{pid + 1} [{dev}] NCCL INFO ncclCommInitRank comm 0x55{number:06x} rank {rank} "
        f"nranks {size} cudaDev {dev} nvmlDev {dev} busId {BUSES[dev]} commId 0xabc{number:06x} - Init COMPLETE"
    )


def copies(
    host: str, count: int, gpus: int = 8, *, apart: int = 0, of: str = ""
) -> Iterator[str]:
    """Yield the lines of *count* copies; their pids alternate, or are *apart*."""
    for copy in range(count):
        for dev in range(gpus):
            pid = 1000 + (copy * apart + dev if apart else copy + dev * count)
            yield comm(host, pid, dev, hash_of(of or host, copy), size=gpus)


def hash_of(host: str, copy: int) -> int:
    return sum(map(ord, host)) * 64 + copy


FOUND = {
    "8 times 8": [*copies("n1", 8)],
    "on two nodes": [*copies("n1", 8), *copies("n2", 8)],
    "4 times 4": [*copies("n1", 4, 4)],
}
HEALTHY = {
    "one copy per node": [*copies("n1", 1), *copies("n2", 1)],
    "actor and learner": [*copies("n1", 2)],
    "restarts, one after the other": [*copies("n1", 8, apart=50)],
    "on one of two nodes": [*copies("n1", 8), *copies("n2", 1)],
    "one world": [comm("n1", 1000 + d, d, 1, size=16) for d in range(8)]
    + [comm("n2", 1000 + d, d, 1, rank=8 + d, size=16) for d in range(8)],
    "more groups of the same processes": [
        comm("n1", 1000 + d, d, n) for n in range(9) for d in range(8)
    ],
    "groups of parts of a node": [
        comm("n1", 1000 + d, d, d // 2, rank=d % 2, size=2) for d in range(8)
    ],
    "workers of one GPU": [
        comm("n1", 1000 + n, 0, n, rank=0, size=1) for n in range(8)
    ],
    "two GPUs": [*copies("n1", 2, 2)],
}


@pytest.mark.parametrize("name", FOUND)
def test_copies_on_the_same_gpus_are_an_error(name: str) -> None:
    report = check("\n".join(FOUND[name]) + "\n")
    (finding,) = (one for one in report.findings if one.rule == "started-per-rank")
    gpus = 4 if name.startswith("4") else 8
    assert f"{gpus} times {gpus} on {gpus} GPUs of each node" in finding.message
    assert "--launcher whole-node" in (finding.fix or "")
    assert report.verdict == "broken"
    assert report.network_verdict == "broken"


@pytest.mark.parametrize("name", HEALTHY)
def test_other_programs_are_left_alone(name: str) -> None:
    assert "started-per-rank" not in rules_of(check("\n".join(HEALTHY[name]) + "\n"))


@pytest.mark.parametrize("name", [*FOUND, *HEALTHY])
def test_the_watch_of_a_step_may_end_copies_only(name: str) -> None:
    """``--verify=stop`` ends a step if the lines in NCCL's own files prove it."""
    text = "\n".join({**FOUND, **HEALTHY}[name]) + "\n"
    certain = JobLog(rulebook(), certain=True)
    reader = Reader(JobLog(rulebook()), certain)
    source = reader.begin("nccl.log", plain=False)
    reader.take(text.encode(), Spot(source, 0, 0), 0)
    proof = judge(certain, Expectations(), reader.locate, Coverage(1, len(text)))
    is_ended = proof.network_verdict == "broken" and is_safe(proof, proof, certain)
    assert is_ended == (name in FOUND)


def test_two_copies_count_if_each_task_of_the_step_is_one() -> None:
    text = "\n".join(copies("n1", 2, 2)) + "\n"
    assert "started-per-rank" in rules_of(check(text, ranks=2))
    assert "started-per-rank" not in rules_of(check(text, ranks=1))
    apart = "\n".join(copies("n1", 2, 2, apart=50)) + "\n"
    assert "started-per-rank" not in rules_of(check(apart, ranks=2))


def test_files_of_copies_are_one_job(tmp_path: Path) -> None:
    for line in copies("n1", 8):
        (tmp_path / f"nccl-n1-{line.split(':')[1]}.log").write_text(f"{line}\n")
    report = check_files(
        sorted(map(str, tmp_path.iterdir())), rulebook(), Expectations(ranks=8)
    )
    assert report.summary.startswith("broken: the program starts its own processes: 8")
