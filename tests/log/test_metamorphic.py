"""A log that says the same in another way comes to the same; one that says less, to no more.

The logs are those of jobs in which one rank meets an error, of those that end a program and
of those that no rule knows, too.
"""

from __future__ import annotations

import gzip
import lzma
import random
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from checking import check, rulebook
from hypothesis import given
from hypothesis import strategies as st
from jobs import (
    DIALECTS,
    ERRORS,
    Job,
    Line,
    errors_of,
    lines,
    training_output,
    wrap,
)

from envcfg.log.expectations import Expectations
from envcfg.log.judge.job_judge import judge
from envcfg.log.read.process_facts import Spot
from envcfg.log.state.job_state import JobLog as State
from envcfg.log.state.reader import Reader
from envcfg.log.verdict import Coverage, LogReport
from fuzzing import part
from support import envcfg

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

LATE = frozenset({3})  # a rank whose channels show the fault, when all else is said
FAULTS: tuple[dict[str, object], ...] = (
    {"fallen": frozenset({1})},
    {"failed": frozenset({0})},
    {"network": "socket"},
    {"provider": "tcp"},
    {"gdr": False},
    {"gdr": LATE},
)
# The store was reached in the end, and channels show GPU RDMA: what was said of them before
# counts no more.
MENDED = ("store-connect", "port-taken", "gdr-no-module", "gdr-no-peer-memory")


@st.composite
def bad(draw: st.DrawFn) -> Job:
    """Draw a job that is degraded or broken."""
    dialect = draw(st.sampled_from(sorted(DIALECTS)))
    names = [each for each in errors_of(dialect) if each not in MENDED]
    errors = {draw(st.integers(0, 3)): (draw(st.sampled_from(names)),)}
    fields = draw(st.sampled_from([*FAULTS, *({"errors": errors},) * 6]))
    seed = draw(st.integers(0, 4))
    return Job(ranks_per_node=2, dialect=dialect, seed=seed, **fields)  # type: ignore[arg-type]


def joined(said: list[str]) -> str:
    return "".join(f"{line}\n" for line in said)


def texts(said: list[Line]) -> list[str]:
    return [line.text for line in said]


def gist(report: LogReport) -> tuple[str, str]:
    return report.verdict, report.network_verdict


seeds = st.integers(0, 1 << 20)
tries = part(120)


def judged(data: bytes, cuts: list[int], *, large: bool) -> LogReport:
    """Judge *data* in blocks that end with the lines at *cuts*, as one of a *large* log."""
    state = State(rulebook())
    reader = Reader(state)
    source = reader.begin("job.log", plain=False)
    ends = sorted({data.find(b"\n", cut) + 1 for cut in cuts} - {0} | {len(data)})
    start = 0
    for end in ends:
        spot, lines = Spot(source, start, 0), data.count(b"\n", 0, start)
        reader.take(data[start:end], spot, lines, large=large)
        start = end
    return judge(state, Expectations(), reader.locate, Coverage(1, len(data)))


@part(60)
@given(bad(), st.lists(st.integers(0, 60_000), max_size=6), st.integers(0, 9))
def test_lines_that_a_large_log_skips_change_nothing(
    job: Job, cuts: list[int], between: int
) -> None:
    output = "".join(f"step {n} loss 0.{n}\n" for n in range(between))
    data = "".join(f"{line}\n{output}" for line in texts(lines(job))).encode()
    assert judged(data, cuts, large=True) == judged(data, cuts, large=False)


@pytest.mark.nightly
@tries
@given(bad(), st.integers(0, 3))
def test_a_rank_without_lines_makes_no_bad_job_ok(job: Job, rank: int) -> None:
    said = lines(job)
    assert check(joined(texts(said))).verdict != "ok"
    less = check(joined([line.text for line in said if line.rank != rank]))
    assert less.verdict != "ok"
    assert less.network_verdict != "ok"


@tries
@given(bad(), seeds)
def test_the_end_of_a_bad_log_makes_it_no_better_than_unknown(
    job: Job, seed: int
) -> None:
    """What stands before the fault is not the whole job, or it shows the fault."""
    said = lines(job)
    cut = random.Random(seed).randrange(len(said))
    report = check(joined(texts(said[:cut])))
    if report.verdict == "ok":  # then it is all that was said before a rank failed
        assert job.errors or job.gdr == LATE
        assert all(each.gdr != "no" for each in report.ranks)
        assert cut > max(i for i, line in enumerate(said) if "COMPLETE" in line.text)


@tries
@given(bad(), seeds)
def test_the_order_of_ranks_changes_nothing(job: Job, seed: int) -> None:
    said = lines(job)
    turns = [line.rank for line in said]
    random.Random(seed).shuffle(turns)
    streams = {
        rank: iter([line.text for line in said if line.rank == rank])
        for rank in set(turns)
    }
    mixed = [next(streams[rank]) for rank in turns]
    assert gist(check(joined(mixed))) == gist(check(joined(texts(said))))


@pytest.mark.nightly
@tries
@given(bad(), seeds)
def test_what_other_programs_say_changes_nothing(job: Job, seed: int) -> None:
    rng = random.Random(seed)
    said = plain = texts(lines(job))
    for line in training_output(20, rng.randrange(1 << 16)):
        at = rng.randrange(len(said) + 1)
        said = [*said[:at], line, *said[at:]]
    assert gist(check(joined(said))) == gist(check(joined(plain)))


@tries
@given(bad(), seeds)
def test_line_ends_change_nothing(job: Job, seed: int) -> None:
    said = texts(lines(job))
    rng = random.Random(seed)
    mixed = "".join(line + rng.choice(("\r\n", "\r", "\n")) for line in said)
    there, here = check(joined(said)), check(mixed)
    assert gist(here) == gist(there)
    assert here.summary == there.summary


# Quotes, tables and mails of a log are left out: an error of another program is not
# looked for in them.
AROUND = (
    "srun",
    "srun-right",
    "ompi",
    "mpich",
    "default",
    "rank",
    "pdsh",
    "pdsh-twice",
    "pals",
    "ray",
    "iso",
    "ts",
    "journald",
    "json",
    "crlf",
)


@tries
@given(bad(), st.sampled_from(AROUND))
def test_what_launchers_put_in_front_changes_nothing(job: Job, wrapper: str) -> None:
    if ("watchdog-torn",) in job.errors.values():
        return  # its second line is none that anybody would know again
    said = lines(job)
    around = check(joined(list(wrap(job, iter(said), wrapper))))
    assert gist(around) == gist(check(joined(texts(said))))


@tries
@given(bad(), st.sampled_from(AROUND), seeds)
def test_all_of_it_together_changes_nothing(job: Job, wrapper: str, seed: int) -> None:
    """Ranks in another order, with a launcher's prefix, among output, with mixed ends."""
    if ("watchdog-torn",) in job.errors.values():
        return
    rng = random.Random(seed)
    said = lines(job)
    turns = [line.rank for line in said]
    rng.shuffle(turns)
    streams = {
        rank: iter([line for line in said if line.rank == rank]) for rank in set(turns)
    }
    around = list(wrap(job, (next(streams[rank]) for rank in turns), wrapper))
    for line in training_output(10, rng.randrange(1 << 16)):
        around.insert(rng.randrange(len(around) + 1), line)
    mixed = "".join(line + rng.choice(("\r\n", "\n")) for line in around)
    assert gist(check(mixed)) == gist(check(joined(texts(said))))


@pytest.mark.parametrize("name", ["slurm-crash", "new-words", "ib-async-qp"])
@pytest.mark.parametrize(
    "pack",
    [bytes, gzip.compress, lzma.compress, zstd.compress, lambda data: data.decode().encode("utf-16")],
    ids=["plain", "gzip", "xz", "zstd", "utf-16"],
)  # fmt: skip
def test_how_a_log_is_stored_changes_nothing(
    tmp_path: Path, name: str, pack: Callable[[bytes], bytes]
) -> None:
    dialect = next(each for each in reversed(DIALECTS) if ERRORS[name].fits(each))
    said = joined(
        texts(lines(Job(ranks_per_node=2, dialect=dialect, errors={1: (name,)})))
    )
    (tmp_path / "a.log").write_bytes(pack(said.encode()))
    done = envcfg("check-log", str(tmp_path / "a.log"))
    assert done.code == 1
    assert check(said).summary.startswith(done.text.splitlines()[0])
