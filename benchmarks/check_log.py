"""check-log: time against grep, memory, the answer while a job runs, thousands of ranks."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from statistics import median

from benchmarks import logs
from benchmarks.logs import MB, Growth
from benchmarks.race import Command, Usage, best, race, weigh
from benchmarks.rows import Row, ratio_row
from benchmarks.trace import ENVCFG

PEER = "LC_ALL=C grep -cE 'NCCL (INFO|WARN)'"
START_UP = "python -c 'import argparse, yaml'"
SMALL = ((2, 2, 3.0), (16, 8, 6.0))  # MB, nodes, and how many times as long as START_UP
ROOM = 2_000 * MB  # on the disk: one log lies there at a time, the largest has 1 GB
MOST_MEMORY = 100.0  # MB
MADE_UP_MEMORY = 500.0  # MB
INCONCLUSIVE = 3
MOST_GROWTH = 1.1
LEAST_SPEED = 50  # MB/s of lines of NCCL
MOST_SECONDS = 1.0  # from the line that decides to the verdict
TURNS = 5
_TICKS = os.sysconf("SC_CLK_TCK")


def measure(folder: Path) -> list[Row]:
    """Compare with grep on large logs, and time the verdict on one that grows.

    Raises:
        OSError: the disk has no room for the logs.
    """
    if shutil.disk_usage(folder).free < ROOM:
        needed = f"check-log needs {ROOM // MB:,} MB on the disk"
        msg = f"{needed}: {folder}; set TMPDIR to a folder elsewhere"
        raise OSError(msg)
    log = folder / "job.log"
    try:
        return [
            *_small(log),
            *_large(log),
            *_many_ranks(log),
            *_made_up(log),
            *_follow(log),
        ]
    finally:
        log.unlink(missing_ok=True)


def _small(log: Path) -> list[Row]:
    """Time the logs that most users have, rules kept by the run before."""
    rows = []
    for size, nodes, most in SMALL:
        logs.small_log(log, size * MB, nodes)
        checked = _check(log)
        weigh(checked)
        times = race(
            {
                "check-log": checked,
                START_UP: Command(
                    [sys.executable, "-c", "import argparse, yaml"], checked.env
                ),
            },
            rounds=20,
        )
        rows.append(
            ratio_row(
                f"{size} MB of {8 * nodes} ranks: time",
                measured=times["check-log"],
                peer=times[START_UP],
                against=START_UP,
                most=most,
            )
        )
    return rows


def _large(log: Path) -> list[Row]:
    logs.training_log(log, 300 * MB)
    small = weigh(_check(log))
    logs.training_log(log, 1_000 * MB)
    training, rows = _beside_grep(log, "1 GB of training", rounds=5, most=1.5)
    logs.nccl_log(log, 300 * MB)
    nccl, more = _beside_grep(log, "300 MB of NCCL lines", rounds=3, most=8.0)
    rows += more
    logs.spread_log(log, 300 * MB)
    _, more = _beside_grep(
        log, "300 MB, 2 % NCCL spread through it", rounds=3, most=6.0
    )
    rows += more
    logs.dense_log(log, nodes=256)
    dense, more = _beside_grep(log, "start of 2,048 ranks, 32 channels", rounds=3)
    speed = log.stat().st_size / MB / dense.seconds
    what = "start of 2,048 ranks, 32 channels: speed"
    met = speed >= LEAST_SPEED
    rows += [
        *more,
        Row(
            what=what, measured=speed, unit="MB/s", target=f">= {LEAST_SPEED}", met=met
        ),
    ]
    log.unlink()  # its blocks would not become holes
    logs.sparse_log(log)
    largest = weigh(_check(log))
    peaks = {
        "1 GB of training": training,
        "300 MB of NCCL lines": nccl,
        "10 GB, nearly all holes": largest,
    }
    rows += [_seconds("10 GB, nearly all holes: time", largest.seconds)]
    rows += [_peak(what, usage) for what, usage in peaks.items()]
    rows += [
        ratio_row(
            f"{what}: memory",
            measured=usage.megabytes,
            peer=small.megabytes,
            against="300 MB of training",
            unit="MB",
            most=MOST_GROWTH,
        )
        for what, usage in peaks.items()
        if usage is not nccl
    ]
    return rows


def _beside_grep(
    log: Path, what: str, *, rounds: int, most: float | None = None
) -> tuple[Usage, list[Row]]:
    grep = [shutil.which("grep") or "/bin/grep", "-cE", "NCCL (INFO|WARN)", str(log)]
    commands = {
        "check-log": _check(log),
        "grep": Command(grep, {"PATH": os.defpath, "LC_ALL": "C"}),
    }
    taken = best(commands, rounds=rounds)
    row = ratio_row(
        f"{what}: time",
        measured=taken["check-log"].seconds,
        peer=taken["grep"].seconds,
        against=PEER,
        unit="s",
        most=most,
    )
    return taken["check-log"], [row]


def _many_ranks(log: Path) -> list[Row]:
    ranks, lines = logs.many_ranks_log(log)
    usage = weigh(_check(log, "--json"))
    report = json.loads(usage.stdout)
    job = report["job"]
    right = (
        job["world_size"] == len(job["ranks_seen"]) == len(report["ranks"]) == ranks
        and not job["ranks_missing"]
        and job["node_count"] == len(job["nodes"]) == ranks // logs.RANKS_PER_NODE
    )
    what = f"{ranks:,} ranks, {lines / 1e6:.1f} million lines"
    counted = Row(
        what=f"{what}: counted",
        measured=len(report["ranks"]),
        unit="ranks",
        target=f"{ranks:,}, none missing",
        met=right,
    )
    return [
        _seconds(f"{what}: time", usage.seconds),
        Row(what=f"{what}: memory", measured=usage.megabytes, unit="MB"),
        counted,
    ]


def _made_up(log: Path) -> list[Row]:
    """Weigh logs that no job wrote; the verdict on each is inconclusive."""
    rows = []
    for kind in ("ranks", "channels"):
        logs.made_up_log(log, 100 * MB, kind)
        usage = weigh(replace(_check(log, "--json"), code=INCONCLUSIVE))
        what = f"100 MB of made-up {kind}"
        rows += [
            _seconds(f"{what}: time", usage.seconds),
            _peak(what, usage, MADE_UP_MEMORY),
        ]
    return rows


def _follow(log: Path) -> list[Row]:
    growth = logs.growing_log()
    rows = []
    for code, line in growth.deciding.items():
        times = [_time_verdict(log, growth, line, code) for _ in range(TURNS)]
        what = f"--follow, 200 ranks, {'a bad' if code else 'the last'} line: verdict"
        rows.append(_seconds(what, median(times), most=MOST_SECONDS))
    return rows


def _time_verdict(log: Path, growth: Growth, line: bytes, code: int) -> float:
    """Return the seconds from the writing of *line* to the end of check-log."""
    log.unlink(missing_ok=True)
    command = _check(log, "--follow", "--timeout", "120")
    with (
        log.open("ab", buffering=0) as file,
        subprocess.Popen(
            command.argv, env=command.env, stdout=subprocess.PIPE
        ) as process,
    ):
        for piece in growth.start:
            file.write(piece)
            time.sleep(0.1)
        _wait_idle(process.pid)
        for piece in growth.output:
            file.write(piece)
            time.sleep(0.07)  # so that turns differ in how far the last look is away
        file.write(line)
        before = time.perf_counter()
        process.communicate(timeout=120)
        after = time.perf_counter()
    if process.returncode != code:
        msg = f"envcfg check-log --follow ended with {process.returncode}, not {code}"
        raise RuntimeError(msg)
    return after - before


def _wait_idle(pid: int) -> None:
    """Wait until the process has read what is there, and only looks for more."""
    before = _processor_time(pid)
    while True:
        time.sleep(0.5)
        now = _processor_time(pid)
        if now - before < 0.05:
            return
        before = now


def _processor_time(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def _check(log: Path, *options: str) -> Command:
    env = {"PATH": os.defpath, "HOME": str(log.parent), "LANG": "C.UTF-8"}
    return Command([str(ENVCFG), "check-log", *options, str(log)], env)


def _seconds(what: str, seconds: float, most: float | None = None) -> Row:
    return Row(
        what=what,
        measured=seconds,
        unit="s",
        target="" if most is None else f"< {most:.0f} s",
        met=None if most is None else seconds < most,
    )


def _peak(what: str, usage: Usage, most: float = MOST_MEMORY) -> Row:
    return Row(
        what=f"{what}: memory",
        measured=usage.megabytes,
        unit="MB",
        target=f"<= {most:.0f} MB",
        met=usage.megabytes <= most,
    )
