"""Files as they are: compressed, split, huge lines, holes, and where each line stands."""

from __future__ import annotations

import gzip
import itertools
import lzma
import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from checking import check
from jobs import Job, iter_lines, text

from envcfg.common.errors import OutputError
from envcfg.log.expectations import Expectations
from envcfg.log.judge.job_judge import judge
from envcfg.log.read.log_source import EDGE, LARGE, LogSource, expand
from envcfg.log.read.process_facts import Spot
from envcfg.log.read.rulebook import Rulebook, load_rules
from envcfg.log.state.job_state import JobLog as State
from envcfg.log.state.reader import Reader
from envcfg.log.verdict import Coverage, LogReport
from support import envcfg

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

Pack = Callable[[bytes], bytes]
BOOK = Rulebook(load_rules())


def read(*paths: Path | str) -> LogReport:
    state = State(BOOK)
    reader = Reader(state)
    for name in expand([str(path) for path in paths]):
        source = LogSource(name)
        try:
            reader.read(source)
        finally:
            source.close()
    return judge(
        state, Expectations(), reader.locate, Coverage(reader.files, reader.size)
    )


@pytest.mark.parametrize(
    ("suffix", "pack"),
    [
        ("", bytes),
        (".gz", gzip.compress),
        (".gz", lambda data: gzip.compress(data[:5000]) + gzip.compress(data[5000:])),
        (".xz", lzma.compress),
        (".zst", zstd.compress),
        (".zst", lambda data: zstd.compress(data[:5000]) + zstd.compress(data[5000:])),
        (".log", gzip.compress),  # the content tells, not the name
    ],
)
def test_compressed(tmp_path: Path, suffix: str, pack: Pack) -> None:
    log = text(Job(fallen=frozenset({1})))
    path = tmp_path / f"job.out{suffix}"
    path.write_bytes(pack(log.encode()))
    report = read(path)
    assert report.summary.startswith("degraded: 8 of 16 ranks use TCP sockets")
    finding = report.findings[0]
    assert finding.evidence is not None
    assert finding.evidence.text == log.splitlines()[finding.evidence.line - 1].strip()
    assert report.coverage.size == len(log.encode())


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress, zstd.compress])
def test_compressed_file_that_is_cut(tmp_path: Path, pack: Pack) -> None:
    path = tmp_path / "job.out.z"
    path.write_bytes(pack(text(Job()).encode() * 20)[:-200])
    with pytest.raises(OutputError, match="cannot be read beyond byte"):
        read(path)


def test_one_file_per_process(tmp_path: Path) -> None:
    """NCCL_DEBUG_FILE=nccl-%h-%p.log"""
    for line in iter_lines(Job()):
        with (tmp_path / f"nccl-{line.rank}.log").open("a") as file:
            file.write(line.text + "\n")
    for names in ([tmp_path], [f"{tmp_path}/nccl-*.log"], sorted(tmp_path.iterdir())):
        report = read(*names)
        assert report.verdict == "ok", report.summary
        assert report.coverage.files == 16


def test_a_file_named_twice_counts_once(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_text(text(Job()))
    assert read(path, tmp_path).coverage.files == 1


@pytest.mark.parametrize(
    ("name", "message", "hint"),
    [
        ("slurm-12.ot", "slurm-12.ot: no such file", "did you mean .*slurm-12.out"),
        ("77", "77: no such file", "did you mean .*train-77.out"),
        ("*.xyz", "no file fits this pattern", "somewhere else"),
        ("empty", "no file in this folder", "name the log file itself"),
    ],
)
def test_what_is_not_there(tmp_path: Path, name: str, message: str, hint: str) -> None:
    for log in ("slurm-12.out", "train-77.out"):
        (tmp_path / log).touch()
    (tmp_path / "empty").mkdir()
    with pytest.raises(OutputError, match=message) as caught:
        expand([str(tmp_path / name)])
    assert re.search(hint, caught.value.hint or "")


@pytest.mark.parametrize(
    ("log", "line"),
    [
        ("a\r\nb\r\nLINE\r\nc\r\n", 3),
        ("a\nb\nLINE\r\n", 3),
        ("a\r  5%\r 10%\r\nb\nLINE\n", 3),
        ("a\r  5%\r 10%\rLINE\nb\n", 1),
        ("a\nb\r  5%\rLINE\r  9%\nc\n", 2),
        ("a\rb\rLINE\rc", 1),
        ("a\n\r\nb\r\n\rLINE\r\n", 4),
    ],
)
def test_a_return_ends_a_line_and_only_a_newline_is_counted(
    tmp_path: Path, log: str, line: int
) -> None:
    """As editors count: a progress bar is one line to them."""
    said = "nid001001:1:1 [0] NCCL INFO NET/OFI GDR support reported to NCCL but then"
    path = tmp_path / "a.log"
    path.write_bytes(log.replace("LINE", said).encode())
    (finding,) = read(path).findings
    assert finding.evidence is not None
    assert (finding.evidence.line, finding.evidence.text) == (line, said)


def test_damaged_bytes(tmp_path: Path) -> None:
    damaged = text(Job()).encode().replace(b"\n", b"\n\xff\xfe\0\0\xc3\n", 40)
    path = tmp_path / "a.log"
    path.write_bytes(damaged.replace(b"NCCL INFO Using", b"NCCL INFO U\0sing", 1))
    assert read(path).verdict == "ok"


def test_line_of_a_hundred_megabytes(tmp_path: Path) -> None:
    """A progress bar without a newline; NCCL lines stand before, in and behind it."""
    lines = text(Job(fallen=frozenset({1}))).splitlines()
    half = len(lines) // 2
    bar = b"\r  45%|####      | 11/25 [00:10<00:12, 1.12it/s]" * 2_200_000
    path = tmp_path / "a.log"
    with path.open("wb") as file:
        file.write("\n".join(lines[:half]).encode() + b"\n")
        file.write(bar + lines[half].encode() + bar[:2_000_000] + b"\n")
        file.write("\n".join(lines[half + 1 :]).encode() + b"\n")
    report = read(path)
    assert report.summary.startswith("degraded: 8 of 16 ranks use TCP sockets")


@pytest.mark.parametrize("place", ["head", "middle", "tail"])
def test_nothing_is_lost_in_a_large_file(tmp_path: Path, place: str) -> None:
    log = text(Job(fallen=frozenset({1}))).encode()
    output = b"step 17 loss 0.4711 lr 1e-4 tokens/s 8812\n" * 3000
    size = LARGE + 4 * EDGE
    parts = {"head": 0, "middle": size // 2, "tail": size - len(log) - 5000}
    path = tmp_path / "a.log"
    with path.open("wb") as file:
        while file.tell() < parts[place]:
            file.write(output)
        before = file.tell() // 42
        file.write(log)
        while file.tell() < size:
            file.write(output)
    report = read(path)
    assert report.summary.startswith("degraded: 8 of 16 ranks use TCP sockets")
    finding = report.findings[0]
    assert finding.evidence is not None
    assert (
        finding.evidence.text
        == log.decode().splitlines()[finding.evidence.line - before - 1]
    )


@pytest.mark.nightly
@pytest.mark.parametrize(
    "line",
    [
        "NCCL INFO NET/OFI Selected provider is tcp, fabric is 10.0.0.0/8 (found 1 nics)",
        "torch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:1970, remote",
        "nid001001:1:1 [0] NCCL INFO NET/OFI Selected provider is tcp (found 1 nics)",
        "[rank3]: Watchdog caught collective operation timeout: WorkNCCL(SeqNum=18)",
    ],
)
def test_one_line_in_the_middle_of_a_large_file(tmp_path: Path, line: str) -> None:
    log = text(Job())
    size = LARGE + 4 * EDGE
    path = tmp_path / "a.log"
    with path.open("wb") as file:
        file.write(log.encode())
        file.truncate(size)
        file.seek(size // 2)
        file.write(f"\n{line}\n".encode())
    said = read(path)
    whole = check(f"{log}\n{line}\n")
    assert (said.verdict, said.summary) == (whole.verdict, whole.summary)
    assert said.verdict != "ok"


def test_errors_at_the_end_of_a_large_file(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    with path.open("wb") as file:
        file.write(text(Job()).encode())
        file.truncate(LARGE + 4 * EDGE)  # a hole of NULs
        file.seek(0, 2)
        file.write(b"\nHSA_STATUS_ERROR_OUT_OF_RESOURCES: no more\n")
    report = read(path)
    assert report.verdict == "broken"
    assert report.findings[0].evidence is not None


WRAPPED = {
    "collective-timeout": """\
[Rank 3] Watchdog caught collective
operation timeout: WorkNCCL(SeqNum=18,
OpType=ALLREDUCE, Timeout(ms)=1800000) ran for 1800123 milliseconds before timing out.
""",
    "completion": """\
gpu-07:900:955 [0] transport/net_ib.cc:1600 NCCL WARN NET/IB : Got
completion from peer 10.1.1.7<40321> with error 12, opcode 0, len 0, vendor err 129
""",
    "in-a-word": """\
3: gpu-07:900:955 [0] transport/net_ib.cc:1600 NCCL WARN NET/IB : Got compl
3: etion from peer 10.1.1.7<40321> with error 12, opcode 0, len 0, vendor err 129
""",
    "last-error": """\
Last error:
socketStartConnect: Connect to 10.0.0.1<3434> failed : Software caused connection abort
""",
}


@pytest.mark.parametrize("block", [1, 1 << 17])
@pytest.mark.parametrize("lines", WRAPPED.values(), ids=WRAPPED)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_message_over_several_lines(lines: str, block: int, end: str) -> None:
    for log in (f"loss 0.5\n{lines}loss 0.5\n", lines, lines.removesuffix("\n")):
        assert _judged(log.replace("\n", end), block).verdict == "broken"


TRACEBACK = (
    "Traceback (most recent call last):",
    '  File "/app/train.py", line 212, in <module>',
    "    dist.all_reduce(loss)",
    "torch.distributed.DistBackendError: NCCL error in: a.hpp:317, unhandled system error",
)


@pytest.mark.parametrize("block", [1, 1 << 17])
@pytest.mark.parametrize(
    "ends", list(itertools.product("\r\n", repeat=len(TRACEBACK))), ids=repr
)
def test_traceback_over_several_blocks(ends: tuple[str, ...], block: int) -> None:
    log = "".join(line + end for line, end in zip(TRACEBACK, ends, strict=True))
    assert "(train.py:212)" in _judged(log, block).summary


GOT = "gpu-07:900:955 [0] a.cc:1 NCCL WARN NET/IB : Got"
COMPLETION = "completion from peer 10.1.1.7<40321> with error 12, opcode 0, len 0"
CONNECT = "socketStartConnect: Connect to 10.0.0.1<3434> failed : Connection refused"


@pytest.mark.parametrize("block", [1, 1 << 17])
@pytest.mark.parametrize(
    "lines",
    [
        (GOT, "step 1", "step 2", "step 3", COMPLETION),
        (f"3: {GOT}", f"4: {COMPLETION}"),
        (GOT, "", COMPLETION),
        (GOT, "gpu-07:900:955 [0] NCCL INFO comm 0x1", COMPLETION),
        ("Last error:", "", CONNECT),
        (CONNECT,),
    ],
    ids=["far", "other-task", "blank", "other-record", "no-last-error", "bare"],
)
def test_message_that_does_not_go_on(lines: tuple[str, ...], block: int) -> None:
    log = "".join(f"{line}\n" for line in lines)
    assert _judged(log, block).verdict == "inconclusive"


def test_what_stands_behind_a_message_counts_once() -> None:
    state = State(BOOK)
    reader = Reader(state)
    log = f"{GOT}\nslurmstepd: error: *** JOB 12 ON n1 CANCELLED AT 3 DUE TO NODE FAILURE\n"
    reader.take(log.encode(), Spot(reader.begin("a", plain=False), 0, 0), 0)
    assert [each.count for each in state.occurrences.values()] == [1]


def _judged(log: str, block: int) -> LogReport:
    """Read *log* in blocks that end with the line in which they have *block* bytes."""
    state = State(BOOK)
    reader = Reader(state)
    source = reader.begin("job.log", plain=False)
    at = lines = 0
    data = log.encode()
    while at < len(data):
        end = data.find(b"\n", at + block - 1) + 1 or len(data)
        reader.take(data[at:end], Spot(source, at, 0), lines)
        lines += data.count(b"\n", at, end)
        at = end
    return judge(state, Expectations(), reader.locate, Coverage(1, len(data)))


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b"", "empty"),
        (
            b"PK\x03\x04" + bytes(range(256)),
            "a zip archive, which must be unpacked first",
        ),
        (b"BZh91AY&SY", "a file of bzip2, which must be unpacked first"),
        (b"\x7fELF\x02\x01\x01\x00", "a program or library"),
        (bytes(range(1, 256)) * 4, "a binary file"),
    ],
)
def test_what_is_no_log_says_what_it_is(tmp_path: Path, data: bytes, kind: str) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(data)
    nothing = "inconclusive: the log has no line of NCCL or RCCL: a.log is "
    if not data:
        nothing = "inconclusive: a.log is "
        kind += ": a wrong path, a full quota, or the job did not start"
    assert read(tmp_path).summary == f"{nothing}{kind}"


def test_an_archive_next_to_a_log_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text(text(Job()))
    alone = read(tmp_path).summary
    shutil.make_archive(str(tmp_path / "old"), "tar", tmp_path, "a.log")
    assert read(tmp_path).summary == alone


@pytest.mark.parametrize("ending", ["tar", "tar.gz", "tar.xz", "zip"])
def test_archives_and_programs_are_refused_like_scripts(
    tmp_path: Path, ending: str
) -> None:
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "a.log").write_text(text(Job(ranks_per_node=1)))
    form = {"tar.gz": "gztar", "tar.xz": "xztar"}.get(ending, ending)
    shutil.make_archive(str(tmp_path / "all"), form, tmp_path / "logs")
    (tmp_path / "train").write_bytes(b"\x7fELF\x02\x01\x01\x00" + bytes(99))
    (tmp_path / "run.sh").write_text("srun python train.py\n")
    for name in (f"all.{ending}", "train", "run.sh"):
        assert envcfg("check-log", str(tmp_path / name)).code == 2
    words = envcfg("check-log", str(tmp_path / f"all.{ending}")).err
    assert "archive, which must be unpacked first" in words


@pytest.mark.parametrize(
    "text",
    ["step 1 loss 0.5\n", "\0" * 600 + "step\n", "\x1b[31mstep\x1b[0m\n" * 9, "\u00e4\u00f6\u00fc\n" * 99],
)  # fmt: skip
def test_text_is_text(tmp_path: Path, text: str) -> None:
    path = tmp_path / "a.log"
    path.write_text(text)
    assert read(path).summary == "inconclusive: the log has no line of NCCL or RCCL"


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_text_of_windows_is_read(tmp_path: Path, encoding: str) -> None:
    log = text(Job(dialect="nccl-2.24", fallen=frozenset({1})))
    path = tmp_path / "a.log"
    path.write_text(log)
    plain = read(path)
    path.write_bytes(log.encode(encoding))
    assert read(path)._replace(coverage=plain.coverage) == plain
