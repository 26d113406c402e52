"""What watching a step costs, for a job that logs 1 MB a second."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

from benchmarks.rows import Row
from benchmarks.trace import ENVCFG

sys.path.append(str(Path(__file__).parent.parent / "tests/log"))
import jobs
import training

_SECONDS = 120
_EACH = 0.1  # seconds between two writes
_BYTES = 100_000
_TICKS = os.sysconf("SC_CLK_TCK")
_NODES = 8  # of eight ranks each


def measure(folder: Path) -> list[Row]:
    """Let a job of 64 ranks log for two minutes, and watch it."""
    log, output = folder / "nccl-1.1", folder / "out"
    log.mkdir()
    output.touch()
    said: dict[int, list[str]] = {}
    for line in jobs.lines(jobs.Job(nodes=_NODES)):
        said.setdefault(line.rank, []).append(line.text)
    for rank, lines in said.items():
        (log / f"nccl-nid-{rank}.log").write_text("\n".join(lines) + "\n")
    lines = training.training_output(20_000)
    block = "\n".join(lines).encode()[:_BYTES]
    words = [
        str(ENVCFG),
        "check-log",
        "--watch-step",
        "warn",
        "--since=0",
        str(log),
        str(output),
    ]
    with (folder / "said").open("wb") as stderr:
        watcher = subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr
        )
    began = time.monotonic()
    with output.open("ab", buffering=0) as file:
        while time.monotonic() - began < _SECONDS:
            file.write(block)
            time.sleep(_EACH)
    stat = Path(f"/proc/{watcher.pid}/stat").read_text().rpartition(")")[2].split()
    used = (int(stat[11]) + int(stat[12])) / _TICKS
    before = time.monotonic()
    with watcher:
        os.write(watcher.stdin.fileno(), b"1\n")  # type: ignore[union-attr]
        _, code, usage = os.wait4(watcher.pid, 0)
        watcher.returncode = code
    last = time.monotonic() - before
    memory = usage.ru_maxrss / 1024
    if b"verified after" not in (folder / "said").read_bytes():
        raise OSError((folder / "said").read_text())
    each = 60_000 * used / _SECONDS
    return [
        Row(
            what=f"watch a step of {_NODES * 8} ranks, 1 MB/s: processor time a minute",
            measured=each,
            unit="ms",
            target="<= 1200 ms",
            met=each <= 1200,
        ),
        Row(
            what="the same: most memory",
            measured=memory,
            unit="MB",
            target="<= 60 MB",
            met=memory <= 60,
        ),
        Row(what="the same: time for its last words", measured=last * 1000, unit="ms"),
    ]
