"""Logs that say the same in another way come to the same verdict; less never says more.

The logs are those of whole jobs, good and bad, of every dialect; what is done to them is
what launchers, editors, disks and other programs do.
"""

from __future__ import annotations

import gzip
import lzma
import random
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

import pytest
from checking import check, rulebook
from hypothesis import assume, given
from hypothesis import strategies as st
from jobs import DIALECTS, WRAPPERS, Job, Line, lines, training_output, wrap
from wrappers import LABELS, QUOTES

from envcfg.common.findings import Result
from envcfg.log.expectations import Expectations
from envcfg.log.follow import GrowingFile, is_safe
from envcfg.log.judge.job_judge import judge
from envcfg.log.read.log_source import LogSource
from envcfg.log.state.job_state import JobLog as State
from envcfg.log.state.reader import Reader
from envcfg.log.verdict import Coverage, LogReport
from envcfg.report.finding_report import write_findings
from envcfg.report.log.log_findings import log_findings, log_json, rank_findings
from envcfg.report.log.log_html import log_html
from envcfg.report.log.log_text import log_lines
from fuzzing import tries

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

FIRST = frozenset({0})
SECOND = frozenset({1})
GOOD: dict[str, dict[str, object]] = {
    "good": {},
    "infiniband": {"network": "ib"},
    "groups": {"groups": ("node", "alone")},
    "one process for a node": {"processes": "node"},
    "warning that means nothing": {"errors": {1: ("ibv-wrapper",)}},
    "ended": {"ended": True},
}
# What is missed in these must be shown to be ok: to leave lines out is no way to it.
LACKING: dict[str, dict[str, object]] = {
    "fallen": {"fallen": SECOND},
    "first fallen": {"fallen": FIRST},
    "failed": {"failed": SECOND},
    "sockets": {"network": "socket"},
    "libfabric over tcp": {"provider": "tcp"},
    "missing": {"missing": frozenset({3})},
    "stopped": {"stopped": frozenset({2})},
}
BAD: dict[str, dict[str, object]] = {
    "without gpu rdma": {"gdr": False},
    "one without gpu rdma": {"gdr": frozenset({3})},
    "error": {"errors": {1: ("ofi-register-gpu",)}},
    "one node": {"nodes": 1},
    "warnings only": {"debug": "WARN"},
}
# Of these a rank that a launcher puts in front tells more than the log does.
HIDDEN: dict[str, dict[str, object]] = {
    "network only": {"subsystems": "NET"},
    "no start": {"subsystems": "^INIT"},
}
# What programs say that is none of NCCL's.
OTHERS = (
    "INFO Using network resnet50",
    "Using network interface eth0",
    "INFO:root:Using network Socket for the dashboard",
    "Bootstrap: using 5 samples",
    "2026-03-14 09:26:53,1 INFO train: NCCL_DEBUG=INFO NCCL_NET=Socket",
    "backend nccl, NCCL 2.24, comm 0, rank 3 of 16",
    "Initialized NET plugin resnet",
    "+ export NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,NET",
    "Connected to 10.1.1.7",
)
LAUNCHERS = (
    "srun",
    "srun-right",
    "ompi",
    "mpich",
    "default",
    "rank",
    "pdsh",
    "pals",
    "ray",
)
CLOCKS = ("iso", "ts", "journald", "clock", "cloudwatch", "json", "crlf")

dialects = st.sampled_from(sorted(DIALECTS))
seeds = st.integers(0, 1 << 20)


def faults(
    *kinds: dict[str, dict[str, object]],
) -> st.SearchStrategy[dict[str, object]]:
    """Draw the fields of a job."""
    return st.sampled_from([fields for kind in kinds for fields in kind.values()])


shown = faults(GOOD, LACKING, BAD)
anything = faults(GOOD, LACKING, BAD, HIDDEN)


def job_of(fields: dict[str, object], dialect: str, seed: int) -> Job:
    return Job(**{"ranks_per_node": 2, "dialect": dialect, "seed": seed % 5, **fields})  # type: ignore[arg-type]


def joined(said: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in said)


def gist(report: LogReport) -> tuple[str, str]:
    return report.verdict, report.summary


def read(*paths: Path) -> LogReport:
    """Judge files as the command does."""
    state = State(rulebook())
    reader = Reader(state)
    for path in paths:
        source = LogSource(str(path))
        reader.read(source)
        source.close()
    return judge(
        state, Expectations(), reader.locate, Coverage(reader.files, reader.size)
    )


@pytest.mark.nightly
@tries(150)
@given(anything, dialects, seeds, st.sampled_from(["crlf", "cr", "mixed"]))
def test_line_ends_change_nothing(
    fields: dict[str, object], dialect: str, seed: int, kind: str
) -> None:
    rng = random.Random(seed)
    ends = {"crlf": ["\r\n"], "cr": ["\r"], "mixed": ["\r\n", "\r", "\n"]}[kind]
    said = [line.text for line in lines(job_of(fields, dialect, seed))]
    changed = "".join(line + rng.choice(ends) for line in said)
    there, here = check(joined(said)), check(changed)
    assert gist(here) == gist(there)
    if kind == "crlf":
        places = [each.evidence and each.evidence.line for each in there.findings]
        assert [
            each.evidence and each.evidence.line for each in here.findings
        ] == places


@pytest.mark.nightly
@tries(150)
@given(
    shown,
    dialects,
    seeds,
    st.one_of(
        st.tuples(st.sampled_from(sorted({*WRAPPERS} - QUOTES - {"ray-repeated"}))),
        st.tuples(st.sampled_from(LAUNCHERS), st.sampled_from(CLOCKS)),
    ),
)
def test_what_launchers_put_in_front_changes_nothing(
    fields: dict[str, object], dialect: str, seed: int, wrappers: tuple[str, ...]
) -> None:
    # A process with all GPUs of a node has one prefix; these wrappers count its GPUs.
    labels = {LABELS.get(wrapper) for wrapper in wrappers}
    assume(fields.get("processes") != "node" or labels <= {None, "host", "node"})
    job = job_of(fields, dialect, seed)
    said = lines(job)
    plain = check(joined(line.text for line in said))
    around = check(joined(wrap(job, iter(said), *wrappers)))
    assert around.verdict == plain.verdict


def shuffled(said: list[Line], rng: random.Random) -> list[str]:
    """Return the lines in another order; those of one process keep theirs."""
    processes = {
        line.rank: line.text.rsplit(" [", 1)[0].rsplit(":", 1)[0]
        for line in said
        if " NCCL INFO " in line.text
    }
    turns = [processes.get(line.rank, str(line.rank)) for line in said]
    queues: dict[str, list[str]] = {}
    for turn, line in zip(turns, said, strict=True):
        queues.setdefault(turn, []).append(line.text)
    rng.shuffle(turns)
    streams = {turn: iter(queue) for turn, queue in queues.items()}
    return [next(streams[turn]) for turn in turns]


@pytest.mark.nightly
@tries(150)
@given(anything, dialects, seeds)
def test_the_order_of_ranks_changes_nothing(
    fields: dict[str, object], dialect: str, seed: int
) -> None:
    said = lines(job_of(fields, dialect, seed))
    plain = check(joined(line.text for line in said))
    assert check(joined(shuffled(said, random.Random(seed)))).verdict == plain.verdict


def with_others(said: list[str], rng: random.Random) -> list[str]:
    """Return *said* with lines of other programs between, which keep their order."""
    more = [*training_output(20, rng.randrange(1 << 16)), *OTHERS]
    places = sorted(rng.randrange(len(said) + 1) for _ in more)
    for at, line in reversed([*zip(places, more, strict=True)]):
        said = [*said[:at], line, *said[at:]]
    return said


@pytest.mark.nightly
@tries(150)
@given(anything, dialects, seeds)
def test_what_other_programs_say_changes_nothing(
    fields: dict[str, object], dialect: str, seed: int
) -> None:
    said = [line.text for line in lines(job_of(fields, dialect, seed))]
    there = check(joined(said))
    here = check(joined(with_others(said, random.Random(seed))))
    # Without a line of NCCL, the last words that look like an error are quoted.
    if here.verdict == "inconclusive" and "last words" in here.summary:
        assert there.verdict == "inconclusive"
    else:
        assert gist(here) == gist(there)


@pytest.mark.nightly
@tries(40)
@given(anything, dialects, seeds, st.sampled_from([bytes, gzip.compress, lzma.compress, zstd.compress]))  # fmt: skip
def test_files_change_nothing(
    fields: dict[str, object], dialect: str, seed: int, pack: type[bytes]
) -> None:
    said = lines(job_of(fields, dialect, seed))
    plain = check(joined(line.text for line in said))
    with tempfile.TemporaryDirectory() as folder:
        whole = Path(folder, "whole")
        whole.write_bytes(pack(joined(line.text for line in said).encode()))
        assert gist(read(whole)) == gist(plain)
        parts = []
        for rank in {line.rank for line in said}:
            part = Path(folder, f"rank-{rank}")
            own = joined(line.text for line in said if line.rank == rank)
            part.write_bytes(pack(own.encode()))
            parts.append(part)
        assert read(*parts).verdict == plain.verdict


@tries(300)
@given(faults(LACKING), dialects, seeds, st.data())
def test_fewer_lines_of_a_rank_never_make_it_ok(
    fields: dict[str, object], dialect: str, seed: int, data: st.DataObject
) -> None:
    said = lines(job_of(fields, dialect, seed))
    rank = data.draw(st.sampled_from(sorted({line.rank for line in said})))
    kept = data.draw(st.sampled_from([0.0, 0.3, 0.7, 0.95]))
    rng = random.Random(seed)
    left = [line.text for line in said if line.rank != rank or rng.random() < kept]
    assert check(joined(left)).verdict != "ok"


@pytest.mark.nightly
@tries(100)
@given(anything, anything, dialects, seeds)
def test_two_jobs_in_a_log_are_no_better_than_the_worse(
    one: dict[str, object], other: dict[str, object], dialect: str, seed: int
) -> None:
    """As far as a log shows that there are two: what says nothing of NCCL is not a job."""
    order = ["ok", "inconclusive", "degraded", "broken"]
    first = joined(line.text for line in lines(job_of(one, dialect, 0)))
    second = joined(line.text for line in lines(job_of(other, dialect, 1)))
    alone = [check(log) for log in (first, second)]
    both = check(first + second if seed % 2 else second + first)
    speaking = [order.index(each.verdict) for each in alone if each.job.nodes]
    assert order.index(both.verdict) >= max(speaking, default=0)


class Watch:
    """A file that is followed while it is written, without a process of its own."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.path.touch()
        self.whole, self.certain = State(rulebook()), State(rulebook(), certain=True)
        self.reader = Reader(self.whole, self.certain)
        number = self.reader.begin(str(path), plain=False)
        self.growing = GrowingFile(str(path), number)

    def add(self, chunk: bytes) -> None:
        with self.path.open("ab") as file:
            file.write(chunk)
        self.growing.advance(self.reader)

    def judge(self, job: State) -> LogReport:
        return judge(
            job, Expectations(), self.reader.locate, Coverage(1, self.reader.size)
        )


@pytest.mark.nightly
@tries(60)
@given(anything, dialects, seeds, st.sampled_from(["\n", "\r\n", "\r"]))
def test_a_log_that_grows_says_what_it_says_as_a_whole(
    fields: dict[str, object], dialect: str, seed: int, end: str
) -> None:
    rng = random.Random(seed)
    said = with_others(
        [line.text for line in lines(job_of(fields, dialect, seed))], rng
    )
    log = "".join(line.replace("\r", " ") + end for line in [*said, "end"]).encode()
    log += b"" if end == "\n" else b"\n"
    with tempfile.TemporaryDirectory() as folder:
        watch = Watch(Path(folder, "log"))
        at = 0
        while at < len(log):
            size = rng.choice([1, 60, 500, 5000, 50_000])
            watch.add(log[at : at + size])
            at += size
        there, here = check(log), watch.judge(watch.whole)
        assert gist(here) == gist(there)
        # In a file of a single line, nothing is before or after a traceback.
        places, now = (
            [
                each.evidence and each.evidence.line
                for each in report.findings
                if each.severity != "note" or end != "\r"
            ]
            for report in (there, here)
        )
        assert now == places


@tries(100)
@given(anything, dialects, seeds)
def test_no_job_that_ends_well_is_stopped(
    fields: dict[str, object], dialect: str, seed: int
) -> None:
    """However far a log has come: bad is said only of a job whose whole log is bad."""
    rng = random.Random(seed)
    said = with_others(
        [line.text for line in lines(job_of(fields, dialect, seed))], rng
    )
    if check(joined(said)).verdict in ("degraded", "broken"):
        return
    with tempfile.TemporaryDirectory() as folder:
        watch = Watch(Path(folder, "log"))
        at = 0
        while at < len(said):
            size = rng.choice([1, 3, 10, 40])
            watch.add(joined(said[at : at + size]).encode())
            at += size
            report, proof = watch.judge(watch.whole), watch.judge(watch.certain)
            if is_safe(report, proof, watch.certain):
                assert report.verdict == "ok", report.summary


@pytest.mark.nightly
@tries(200)
@given(anything, dialects, seeds, st.binary(max_size=300))
def test_every_report_of_every_log_can_be_written(
    fields: dict[str, object], dialect: str, seed: int, junk: bytes
) -> None:
    rng = random.Random(seed)
    log = joined(line.text for line in lines(job_of(fields, dialect, seed))).encode()
    damaged = bytearray(log)
    for at in range(0, len(junk), 2):
        damaged[rng.randrange(len(damaged) or 1) : 0] = junk[at : at + 2]
    report = check(bytes(damaged))
    found = Result({**log_findings(report, ["log"]), **rank_findings(report)})
    junit = write_findings(found, "junit")
    for text in (junit, log_html(report, "log"), log_json(report)):
        text.encode()
    assert all(line.isprintable() or line for line, _ in log_lines(report))
