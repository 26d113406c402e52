"""Logs of jobs that died: the first line names who ended first, of what, and where.

``crashes.txt`` holds logs of real launchers and shells, cut short, each with the first line
that is expected of it; of launchers that are not at hand it holds what they put in front.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from checking import check
from crashes import CRASHES
from jobs import Job
from jobs import text as text_of

from support import envcfg

GOOD = text_of(Job())
OUTLIVED = [name for name in CRASHES if name.startswith("outlived")]
ENDED = {
    name: crash
    for name, crash in CRASHES.items()
    if name not in OUTLIVED and not crash[0].startswith("inconclusive")
}


@pytest.mark.parametrize("name", CRASHES)
def test_first_line_names_what_ended_first(name: str) -> None:
    expected, log = CRASHES[name]
    assert check(log).summary == expected


@pytest.mark.parametrize("name", ENDED)
def test_cause_and_next_step_are_told_where_a_job_is_broken(name: str) -> None:
    report = check(ENDED[name][1])
    assert report.cause
    assert report.cause.message in report.summary
    assert report.next.fingerprint
    assert report.coverage.records or not report.unknowns


@pytest.mark.parametrize("name", OUTLIVED)
def test_no_exception_that_was_outlived_is_a_cause(name: str) -> None:
    report = check(CRASHES[name][1])
    assert not report.cause or "Error" not in report.cause.message


def test_attempts_that_end_alike_have_one_fingerprint() -> None:
    step = check(CRASHES["attempts"][1]).next
    assert (step.action, step.repeats) == ("fix first", 1)
    again = CRASHES["attempts"][1].replace("corrupt shard 1234", "corrupt shard 99")
    other = check(again).next
    assert other.fingerprint == step.fingerprint


def test_attempts_that_a_signal_ended_are_counted() -> None:
    killed = CRASHES["oom"][1]
    again = "slurmstepd: error: *** JOB 4 ON n1 CANCELLED AT 2026-03-14T09:26:53 DUE TO JOB REQUEUE ***\n"
    words = check(killed + again + killed).next.words
    assert words.startswith(
        "fix first: attempts 1 and 2 ended the same way, without a new step"
    )


def test_what_envcfg_says_of_a_new_start_parts_two_attempts() -> None:
    """Slurm says so only of a script that it has to end."""
    once = CRASHES["var-srun"][1]
    note = "envcfg: note: the step ended with 1; the job starts again\n"
    words = check(once + note + once).next.words
    assert words.startswith(
        "fix first: attempts 1 and 2 ended the same way, without a new step"
    )


def test_node_that_went_down_is_left_out() -> None:
    step = check(CRASHES["node"][1]).next
    assert (step.action, step.nodes) == ("restart without", ("nid001007",))


def test_traceback_of_one_rank_is_read_through_lines_of_others() -> None:
    lines = CRASHES["var-srun"][1].splitlines(keepends=True)
    mixed = [part for line in lines for part in (line, " 3: loading shard 7\n")]
    assert check("".join(mixed)).summary == CRASHES["var-srun"][0]


def test_heading_of_torchrun_is_no_exception() -> None:
    log = (
        'Traceback (most recent call last):\n  File "/opt/venv/bin/accelerate", line 8, in <module>\n'
        "    sys.exit(main())\n  \nFailures:\n  <NO_OTHER_FAILURES>\n"
    )
    assert check(log).cause is None


def test_cut_traceback_is_no_cause() -> None:
    log = CRASHES["var-none"][1]
    cut = log[: log.index("ValueError")]
    assert check(cut).cause is None


TRACE = """\
Traceback (most recent call last):
  File "/scratch/u/train.py", line 33, in <module>
    load(1234)
ValueError: corrupt shard 1234
"""
BLOCK = """\
Root Cause (first observed failure):
[0]:
  time      : 2026-03-14_09:26:53
  host      : nid001235
  rank      : 7 (local_rank: 3)
  exitcode  : 1 (pid: 4711)
"""


@pytest.mark.parametrize(
    ("files", "given", "who"),
    [
        ({"run_x/attempt_0/3/stderr.log": TRACE}, ".", "local rank 3"),
        ({"x/attempt_9/2/stderr.log": TRACE, "x/attempt_10/3/stderr.log": TRACE}, ".", "local rank 3"),
        ({"x/attempt_0/3/stderr.log": TRACE, "job.out": BLOCK}, "x job.out", r"rank 7 (nid001235)"),
        ({"rank-5.out": TRACE, "rank-4.out": "step 1\n"}, ".", "rank 5"),
        ({"out/1/rank.05/stderr": TRACE}, "out/1/rank.05", "rank 5"),
        ({"20260314_rank12.log": TRACE}, ".", "rank 12"),
        ({"frank5.out": TRACE}, ".", "the job"),
    ],
)  # fmt: skip
def test_rank_is_read_from_the_name_of_its_file(
    files: dict[str, str], given: str, who: str, tmp_path: Path
) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    names = [str(tmp_path / each) for each in given.split()]
    said = envcfg("check-log", *names).text.partition("\n")[0]
    assert said == f"broken: {who} ended: ValueError: corrupt shard 1234 (train.py:33)"


def waited(rank: int, says: str) -> str:
    """Return what *rank* prints as it gives up."""
    lines = TRACE.replace("ValueError: corrupt shard 1234", says).splitlines(True)
    return "".join(f"{rank}: {line}" for line in lines)


KEYS = "torch.distributed.DistStoreError: wait timeout after 6000ms, keys: "
GLOO = f"{KEYS}/default_pg/0//cpu//0/0"
UNIQUE = (
    "torch.distributed.DistBackendError: [2] is setting up NCCL communicator and retrieving ncclUniqueId from [0] "
    "via c10d key-value store by key '0', but store->get('0') got error: wait timeout after 600000ms, keys: "
)
OLD = (
    "RuntimeError: Timed out initializing process group in store based barrier on rank: 2, "
    "for key: store_based_barrier_key:1 (world_size=4, worker_count=3, timeout=0:30:00)"
)
EXIT = "srun: error: nid001235: task 2: Exited with exit code 1\n"
ALL = EXIT + "srun: error: nid001234: tasks 0-1: Terminated\n"


@pytest.mark.parametrize(
    ("log", "first"),
    [
        (waited(2, GLOO) + ALL, "rank 2 (nid001235) waited for rank 0, which never joined"),
        (waited(1, GLOO) + waited(2, GLOO) + ALL, "ranks 1-2 (nid001234, nid001235) waited for rank 0, which never joined"),
        (waited(2, f"{KEYS}/worker/count") + ALL, "rank 2 (nid001235) waited for others, which never joined"),
        (waited(2, f"{UNIQUE}/default_pg/0//cuda//0/0") + ALL, "rank 2 (nid001235) waited for rank 0, which never joined"),
        (waited(2, f"{UNIQUE}/7//cuda//0/0") + ALL, "rank 2 (nid001235) waited for others, which never joined"),
        (waited(2, "torch.distributed.DistStoreError: Socket Timeout") + ALL, "rank 2 (nid001235) waited for others, which never joined"),
        (waited(2, OLD) + ALL, "the job ended: only 3 of 4 ranks joined in time"),
        (TRACE.replace("ValueError: corrupt shard 1234", GLOO) + ALL, "rank 2 (nid001235) waited for rank 0, which never joined"),
        # Who says nothing where all others wait, who ends by itself, or raises, is the cause.
        ("".join(waited(rank, GLOO) for rank in range(1, 8)) + EXIT, "rank 0 never joined the others"),
        (waited(1, GLOO) + EXIT, "rank 2 (nid001235) ended with exit code 1"),
        (EXIT + TRACE.replace("ValueError: corrupt shard 1234", GLOO), "rank 2 (nid001235) ended with exit code 1"),
        (waited(1, GLOO) + waited(2, "ValueError: no shard") + ALL, "rank 2 (nid001235) ended: ValueError: no shard"),
    ],
)  # fmt: skip
def test_who_waited_for_others_is_no_cause(log: str, first: str) -> None:
    assert check(log).summary.startswith(f"broken: {first}")
    assert check(GOOD + log).verdict == "broken"
