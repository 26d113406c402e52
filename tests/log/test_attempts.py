"""Several attempts of a job: the next step follows from all of them together.

Each case is drawn from the kinds of end, the number of attempts, their steps, nodes and files.
``expected`` is a second statement of the rules, which shares nothing with the code.
"""

from __future__ import annotations

import os
from itertools import product
from pathlib import Path
from typing import NamedTuple

import pytest
from checking import check, rulebook

from envcfg.log.files import check_files
from envcfg.log.read.attempt_steps import order_of
from envcfg.log.verdict import LogReport
from suites import mark_sample

AT = "2026-03-14T09:26:53"
TRACE = '[rank3]: Traceback (most recent call last):\n[rank3]:   File "/u/train.py", line {line}, in <module>\n[rank3]: {raised}\n'
EXIT = "srun: error: {node}: task 3: Exited with exit code 1\n"
CANCELLED = "slurmstepd: error: *** STEP 4.0 ON {node} CANCELLED AT {at} DUE TO "


class End(NamedTuple):
    """One kind of end: its lines, the class of its cause, and the step after it alone."""

    lines: str
    part: str
    alone: str


ENDS = {
    "exception": End(TRACE.format(line=9, raised="ValueError: bad {n}") + EXIT, "program", "fix first"),
    "gpu-memory": End(TRACE.format(line=9, raised="torch.OutOfMemoryError: CUDA out of memory. Tried to allocate {n} MiB.") + EXIT, "program", "fix first"),
    "module": End(TRACE.format(line=2, raised="ModuleNotFoundError: No module named 'flash_attn'") + EXIT, "image", "fix first"),
    "quota": End(TRACE.format(line=9, raised="OSError: [Errno 122] Disk quota exceeded: '/scratch/u/{n}'") + EXIT, "file system", "fix first"),
    "segfault": End("srun: error: {node}: task 3: Segmentation fault (core dumped)\n", "program", "fix first"),
    "memory": End("slurmstepd: error: Detected 1 oom_kill event in StepId=4.0. Some of the step tasks have been OOM Killed.\nsrun: error: {node}: task 3: Out Of Memory\n", "program", "fix first"),
    "code": End("srun: error: {node}: task 3: Exited with exit code 9\n", "program", "fix first"),
    "node": End("srun: error: Node failure on {node}\n", "node", "restart without"),
    "gpu": End(TRACE.format(line=9, raised="RuntimeError: CUDA error: uncorrectable ECC error encountered") + EXIT, "GPU", "restart without"),
    "network": End("{node}:4711:4999 [0] transport/net_ib.cc:1309 NCCL WARN NET/IB : Got completion from peer 10.0.0.2<40001> with status=12 opcode=0 len=0 vendor err 129\n" + TRACE.format(line=9, raised="torch.distributed.DistBackendError: NCCL error in: ../ProcessGroupNCCL.cpp:1, remote process exited or there was a network error, NCCL version 2.21.5") + EXIT, "network", "restart"),
    "limit": End(CANCELLED + "TIME LIMIT ***\n", "scheduler", "restart"),
    "preempted": End(CANCELLED + "PREEMPTION ***\n", "scheduler", "restart"),
}  # fmt: skip
MARKS = (
    "envcfg: note: the step ended with 1; the job starts again\n",
    f"slurmstepd: error: *** JOB 4 ON nid001 CANCELLED AT {AT} DUE TO JOB REQUEUE ***\n",
    "[default] Worker group FAILED. 2/3 attempts left; will restart worker group\n",
)
BAD = "nid002"
HARDWARE = ("node", "GPU", "network")


class Attempt(NamedTuple):
    """One attempt: the kind of its end, its last step (0 without one), and its nodes."""

    kind: str
    step: int
    nodes: tuple[str, ...]


def expected(attempts: list[Attempt]) -> tuple[str, set[str]]:
    """Return the next step by the rules, and the nodes that it leaves out."""
    last, earlier = attempts[-1], attempts[:-1]
    end = ENDS[last.kind]
    if end.alone == "wait":
        return "wait", set()
    for place in range(len(earlier) - 1, -1, -1):
        if earlier[place].kind == last.kind:
            if all(own.step <= earlier[place].step for own in attempts[place + 1 :]):
                return "fix first", set()
            break
    if last.kind == "limit" and not last.step:
        return "fix first", set()
    if last.kind == "limit" and last.step in [
        e.step for e in earlier if e.kind == "limit"
    ]:
        return "fix first", set()
    if end.part in HARDWARE and len({own.nodes for own in attempts}) > 1:
        bad = {BAD, "nid001", "nid003", "nid004", "nid005", "nid006"}
        for own in attempts:
            is_bad = ENDS[own.kind].part in HARDWARE
            bad = bad & set(own.nodes) if is_bad else bad - set(own.nodes)
        if bad:
            # A node that the last line names is the first to leave out.
            named = end.alone == "restart without" and BAD in bad
            return "restart without", {BAD} if named else bad
    if end.alone == "restart without":
        return "restart without", {BAD}
    return end.alone, set()


def log_of(attempt: Attempt, number: int) -> str:
    """Return the lines of an attempt, with its mark if another one follows."""
    hosts = "".join(
        f"{node}:{number}{place}:9 [0] NCCL INFO Bootstrap : Using hsn0:10.0.0.{place}<0>\n"
        for place, node in enumerate(attempt.nodes)
    )
    steps = "".join(
        f"step {step}/900 loss {3 - step / 100}\n"
        for step in range(max(1, attempt.step - 9), attempt.step + 1)
    )
    end = ENDS[attempt.kind].lines.format(node=BAD, at=AT, n=number + 17)
    return f"loading the data\n{hosts}{steps}{end}"


def attempts_of(
    kind: str, count: int, steps: str, nodes: str, earlier: str
) -> list[Attempt]:
    attempts = []
    for number in range(count):
        own = ("nid001", BAD, f"nid00{3 + number * (nodes == 'differ')}")
        step = {"none": 0, "same": 20, "rising": 20 + 10 * number}[steps]
        is_last = number == count - 1 or earlier == "same"
        attempts.append(Attempt(kind if is_last else earlier, step, own))
    return attempts


CASES = list(
    product(
        ENDS,
        (1, 2, 3, 4),
        ("none", "same", "rising"),
        ("equal", "differ"),
        ("one", "several"),
        ("same", "limit"),
    )
)


def judge(attempts: list[Attempt], files: str, folder: Path) -> LogReport:
    """Judge *attempts*, in one file or in a file for each."""
    parts = [log_of(attempt, number) for number, attempt in enumerate(attempts)]
    if files == "one":
        log = parts[0]
        for number, part in enumerate(parts[1:]):
            log += MARKS[number % len(MARKS)] + part
        return check(log)
    names = []
    for number, part in enumerate(parts):
        names.append(str(folder / f"train-7.restart{number}.out"))
        Path(names[-1]).write_text(part)
    return check_files(sorted(names), rulebook())


@pytest.mark.parametrize("case", mark_sample(CASES, every=11))
def test_the_next_step_follows_from_all_attempts(
    case: tuple[str, int, str, str, str, str], tmp_path: Path
) -> None:
    kind, count, steps, nodes, files, earlier = case
    attempts = attempts_of(kind, count, steps, nodes, earlier)
    report = judge(attempts, files, tmp_path)
    action, bad = expected(attempts)
    assert (report.next.action, set(report.next.nodes)) == (action, bad), report.next
    assert [order_of(own.last or "")[1] for own in report.attempts] == [
        own.step or -1 for own in attempts
    ]
    assert [
        set(own.nodes) >= {*own_nodes.nodes}
        for own, own_nodes in zip(report.attempts, attempts, strict=True)
    ]


def test_ten_files_of_attempts_have_the_order_of_their_numbers(tmp_path: Path) -> None:
    for number in range(11):
        attempt = Attempt("exception", 20 + number, ("nid001",))
        (tmp_path / f"attempt_{number}.out").write_text(log_of(attempt, number))
    names = sorted(map(str, tmp_path.iterdir()), key=os.path.basename)
    steps = [own.last for own in check_files(names, rulebook()).attempts]
    assert steps == [f"step {20 + number}" for number in range(11)]
