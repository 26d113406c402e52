"""What watching a step costs: its log of 1 MB a second, its node, and 1,024 nodes."""

from __future__ import annotations

import os
import re
import resource
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
_AFTER = 60  # seconds to the first line about the node: one look in 12 seconds
_LOOKS = 10  # of the nodes in the two minutes
_TOOLS = {
    "squeue": 'echo "12|12|RUNNING|$(id -un)|None|N/A|node1"',
    "scontrol": "echo node1",
    # Slurm's srun itself is not measured, only what it starts.
    "srun": (
        "until [[ ${1##*/} == bash || ${1##*/} == sh ]]; do shift; done\n"
        'SLURMD_NODENAME=node1 "$@"\ntimes >"$0.times"'
    ),
    "nvidia-smi": (
        'for n in {0..7}; do echo "$n, 97, 40000, 81920, 400.00, NVIDIA H100"; done'
    ),
}


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
    tools = folder / "tools"
    tools.mkdir()
    for name, text in _TOOLS.items():
        (tools / name).write_text(f"#!/bin/bash\n{text}\n")
        (tools / name).chmod(0o755)
    env = {**os.environ, "PATH": f"{tools}:{os.environ['PATH']}", "SLURM_JOB_ID": "12"}
    words = [
        str(ENVCFG),
        "check-log",
        "--watch-step",
        "warn",
        f"--verify-after={_AFTER}s",
        "--since=0",
        str(log),
        str(output),
    ]
    with (folder / "said").open("wb") as stderr:
        watcher = subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr, env=env
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
    report = (folder / "said").read_text()
    if "verified after" not in report or "all 8 GPUs busy" not in report:
        raise OSError(report)
    probe = _seconds((tools / "srun.times").read_text())
    each = 60_000 * used / _SECONDS
    return [
        Row(
            what=f"watch {_NODES * 8} ranks, 1 MB/s, and a node: processor time a minute",
            measured=each,
            unit="ms",
            target="<= 1200 ms",
            met=each <= 1200,
        ),
        _memory_row(memory),
        Row(what="the same: time for its last words", measured=last * 1000, unit="ms"),
        Row(
            what="the same: processor time of the node's probe and tools, for a look",
            measured=1000 * probe / _LOOKS,
            unit="ms",
        ),
        *_many_nodes(),
    ]


def _memory_row(megabytes: float) -> Row:
    return Row(
        what="the same: most memory",
        measured=megabytes,
        unit="MB",
        target="<= 60 MB",
        met=megabytes <= 60,
    )


def _seconds(times: str) -> float:
    """Return the sum of the times that bash's ``times`` prints, as ``0m0.123s``."""
    parts = re.findall(r"(\d+)m([\d.]+)s", times)
    return sum(60 * int(minutes) + float(seconds) for minutes, seconds in parts)


def _many_nodes(count: int = 1024) -> list[Row]:
    """Measure looks at recorded answers of many nodes, in a process of its own."""
    code = f"import benchmarks.watch as watch; watch.look_at({count})"
    answer = subprocess.run(
        [sys.executable, "-c", code],
        cwd=Path(__file__).parent.parent,
        capture_output=True,
        text=True,
        check=True,
    )
    seconds, memory, lines = map(float, answer.stdout.split())
    return [
        Row(
            what=f"{count} nodes, a look a minute: processor time of a look",
            measured=seconds * 1000,
            unit="ms",
            target="<= 600 ms",
            met=seconds <= 0.6,
        ),
        _memory_row(memory),
        Row(
            what="the same, every node with a fault: lines in an hour",
            measured=lines,
            unit="",
            target="<= 101",
            met=lines <= 101,
        ),
    ]


def look_at(count: int) -> None:
    """Print the processor time of a look, the most memory in MB, and the lines."""
    sys.path.append(str(Path(__file__).parent.parent / "tests/monitor"))
    from simulated import Card, Node, bound, watch
    from watching import Clock, Nodes

    from envcfg.core import step_nodes

    clock = step_nodes.time = Clock()  # type: ignore[assignment]
    asking, ask = 0.0, Nodes.ask

    def timed(nodes: Nodes, number: int) -> None:
        nonlocal asking
        begun = time.process_time()
        ask(nodes, number)
        asking += time.process_time() - begun

    Nodes.ask = timed  # type: ignore[method-assign]
    began = time.process_time()

    def state(node: int, minute: float) -> Node:
        bad = int(minute / 7) % 8
        cards = [Card(0 if n == (node + bad) % 8 else 96) for n in range(8)]
        return Node(cards, bound(node))

    lines = watch(clock, state, nodes=count, minutes=60)
    spent = time.process_time() - began - asking
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(spent / 60, memory, len(lines))
