"""Logs of many nodes and lines without an end: the time grows as the log does."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest
from checking import check, rulebook, rules_of
from jobs import Job, text

from envcfg.common.errors import OutputError
from envcfg.log.expectations import Expectations
from envcfg.log.judge.job_judge import judge
from envcfg.log.read.log_source import LONGEST, LogSource
from envcfg.log.read.prefix import Record
from envcfg.log.read.process_facts import Spot
from envcfg.log.state.job_state import JobLog as State
from envcfg.log.state.reader import Reader
from envcfg.log.verdict import Coverage, LogReport

LINE = (
    "nid{host:06}:{pid}:9 [0] NCCL INFO comm 0x{host:x}0 rank {rank} nranks {size} cudaDev 0"
    " busId c1000 commId 0x{id:x} - Init COMPLETE\n"
)
NETWORK = "nid{host:06}:{pid}:9 [0] NCCL INFO Using network IB\n"


def nodes(count: int) -> str:
    """Return a job with one process on each of *count* nodes, all of one number."""
    return "".join(
        LINE.format(host=n, pid=1, rank=n, size=count, id=7)
        + NETWORK.format(host=n, pid=1)
        for n in range(count)
    )


def worlds(count: int) -> str:
    """Return *count* processes, each a world of its own."""
    return "".join(
        LINE.format(host=n, pid=n, rank=0, size=1, id=n) for n in range(count)
    )


def attempts(count: int) -> str:
    """Return *count* processes, of which each eight are an attempt."""
    return "".join(
        LINE.format(host=n % 64, pid=n, rank=n % 8, size=8, id=n // 8)
        for n in range(count)
    )


@pytest.mark.nightly
@pytest.mark.parametrize("log_of", [nodes, worlds, attempts])
def test_twenty_thousand_processes(log_of: Callable[[int], str]) -> None:
    start = time.process_time()
    check(log_of(20_000))
    # A guard against time that grows as the square of the nodes (more than a minute).
    assert time.process_time() - start < 20


def read(path: Path) -> LogReport:
    state = State(rulebook())
    reader = Reader(state)
    source = LogSource(str(path))
    reader.read(source)
    source.close()
    return judge(state, Expectations(), reader.locate, Coverage(1, reader.size))


RECORD = b"nid001001:47:48 [3] NCCL INFO Using network Socket "


@pytest.mark.nightly
@pytest.mark.parametrize(
    "part",
    [
        RECORD,
        b" ".join(rulebook().gates),
        b"NCCL ",
        b"NCCL INFO" + b" " * 4000,
        b"a" * 3000 + b" NCCL INFO ",
        b"nid1:1:1 [0] NCCL INFO Channel 00/0 : 1[0] -> 0[0] [send] via NET/Socket/0 ",
    ],
    ids=["records", "gates", "name", "blanks", "words", "channels"],
)
def test_a_line_of_tens_of_megabytes_that_is_full_of_gates(
    tmp_path: Path, part: bytes
) -> None:
    path = tmp_path / "a.log"
    good = text(Job(ranks_per_node=2)).encode()
    path.write_bytes(good + part * (30_000_000 // len(part)) + b"\n" + good)
    start = time.process_time()
    report = read(path)
    assert time.process_time() - start < 20  # it took minutes
    assert report.verdict != "ok"


def test_what_is_left_out_of_a_line_is_said(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    good = text(Job(ranks_per_node=2)).encode()
    noise = b"NCCL " * (2 * LONGEST // 5)
    path.write_bytes(good + noise + b"\n" + noise + b"\n")
    report = read(path)
    assert report.summary == (
        "inconclusive: not proven: all 4 ranks seen on 2 nodes use AWS Libfabric over "
        "cxi with GPU RDMA; the end of 2 lines that is longer than can be looked at"
    )
    path.write_bytes(good + noise + RECORD + b"\n")
    assert read(path).verdict == "inconclusive"


@pytest.mark.parametrize("filler", [b"step ", b"NCCL "])
def test_a_record_in_a_long_line_is_read_whole(tmp_path: Path, filler: bytes) -> None:
    """Wherever the pieces are cut: half of a host's name is no other host."""
    said = RECORD.replace(
        b"Using network", b"Channel 00/0 : 1[0] -> 0[0] [send] via NET/"
    )
    said = said.replace(b"NET/ Socket", b"NET/Socket/0")
    path = tmp_path / "a.log"
    good = text(Job(ranks_per_node=2)).encode()
    for length in range(20_000, 20_060, 7):
        words = filler * (length // 5)
        path.write_bytes(good + words + said + words + said + words + b"\n")
        report = read(path)
        assert report.job.nodes == ("nid001001", "nid001002")
        assert report.verdict == "ok"
        assert "lines-quoted" in rules_of(report)


def test_a_file_of_returns_alone_that_is_larger_than_a_line_may_be(
    tmp_path: Path,
) -> None:
    path = tmp_path / "a.log"
    good = text(Job(ranks_per_node=2))
    bar = " 45%|####      | 11/25 [00:10<00:12, 1.12it/s]\n" * 60_000
    path.write_text((bar + good + bar).replace("\n", "\r"))
    assert path.stat().st_size > 2 * LONGEST
    assert read(path).summary == check(good).summary


def test_a_device_whose_line_never_ends_is_refused() -> None:
    source = LogSource("/dev/zero")
    try:
        with pytest.raises(OutputError, match="/dev/zero: no line ends in 64 MB"):
            for _ in source.raw_blocks():
                pass
    finally:
        source.close()


def test_of_many_processes_that_say_the_same_a_line_of_each_kind_is_kept() -> None:
    state = State(rulebook())
    reader = Reader(state)
    source = reader.begin("job.log", plain=False)
    reader.take(nodes(2_000).encode(), Spot(source, 0, 0), 0)
    kept = {id(each.seen["network IB"]) for each in state.processes.values()}
    assert len(state.processes) == 2_000
    assert len(kept) < 300


def test_rings_and_lines_without_a_rule_are_counted_and_passed_over() -> None:
    said = "nid1:7:9 [0] NCCL INFO {}\n"
    rings = [f"Ring {n % 16:02} : {n} -> {n + 1} -> {n + 2}" for n in range(500)]
    timed = [f"The moon took {n} days" for n in range(500)]
    other = "nid2:7:9 [0] NCCL INFO The moon took 5 days\n"
    log = "".join(map(said.format, [*rings, *timed])) + other
    state = State(rulebook())
    reader = Reader(state)
    source = reader.begin("job.log", plain=False)
    folded = []
    fold = state.fold

    def count(record: Record, text: str, spot: Spot, shape: bytes = b"") -> bool:
        folded.append(record)
        return fold(record, text, spot, shape)

    state.fold = count  # type: ignore[method-assign]
    for number, block in enumerate((log, log)):
        reader.take(block.encode(), Spot(source, number, 0), 0)
    assert len(folded) < 10
    assert state.records == 2 * (len(rings) + len(timed) + 1)
