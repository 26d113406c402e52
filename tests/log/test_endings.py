"""What ended a job, or kept it from starting: it is named, and the network beside it."""

from __future__ import annotations

import pytest
from checking import check, rules_of
from jobs import Job, text

GOOD = text(Job())
KILLED = "srun: error: nid001001: task 3: Killed\n"
CANCELLED = (
    "slurmstepd: error: *** STEP 412.0 ON nid001001 CANCELLED AT 2026-03-14T09:26:53 "
)
DEEPSPEED = (
    "[2026-03-14 09:26:53,204] [ERROR] [launch.py:321:sigkill_handler] "
    "['/opt/venv/bin/python', '-u', 'train.py'] exits with return code = "
)
ELASTIC = "torch.distributed.elastic.multiprocessing"
FATAL = "FATAL:   container creation failed: while mounting image /proc/self/fd/3: x\n"
FOLDER = "envcfg: error: cannot make the folder /tmp/envcfg-1000-77-4.0-nid001002 for caches\n"
ENDINGS = {
    "killed": (KILLED, "slurm-task-killed"),
    "cancelled": (CANCELLED + "***\n", "slurm-cancelled"),
    "cancelled-and-killed": (f"{CANCELLED}***\n{KILLED}", "slurm-cancelled"),
    "killed-and-cancelled": (f"{KILLED}{CANCELLED}***\n", "slurm-cancelled"),
    "preempted": (f"{CANCELLED}DUE TO PREEMPTION ***\n", "slurm-preempted"),
    "hung-up": (
        f"{ELASTIC}.api.SignalException: Process 4700 got signal: 1\n",
        "torch-hangup",
    ),
    "deepspeed-memory": (f"{DEEPSPEED}-9\n", "deepspeed-killed"),
    "deepspeed-crash": (f"{DEEPSPEED}-7\n", "deepspeed-crashed"),
    "deepspeed-exit": (f"{DEEPSPEED}1\n", "deepspeed-exit"),
}
STARTS = {
    "container": (FATAL, "container-not-started"),
    "container-by-label": (f"3: {FATAL}", "container-not-started"),
    "container-and-exit": (
        f"{FATAL}srun: error: nid001001: task 3: Exited with exit code 255\n",
        "container-not-started",
    ),
    "program": (
        'FATAL:   "train.py": executable file not found in $PATH\n',
        "container-program",
    ),
    # The hooks of Enroot may say worse things, which its log repeats.
    "pyxis": (
        """\
3: slurmstepd: error: pyxis: container start failed with error code: 1
3: slurmstepd: error: pyxis:     71 Segmentation fault      (core dumped) | pwck
""",
        "pyxis-not-started",
    ),
    "launch": (
        """\
srun: error: Application launch failed: Socket timed out on send/recv operation
srun: Job step aborted
""",
        "slurm-not-launched",
    ),
    "no-program": (
        """\
slurmstepd: error: execve(): apptainer: No such file or directory
srun: error: nid001001: tasks 0-7: Exited with exit code 2
""",
        "slurm-program",
    ),
    "folder": (f"{FOLDER}srun: error: nid001002: task 9: Exited with exit code 4\n", "envcfg-refused"),
    "folder-by-label": (
        f"9: {FOLDER}srun: error: nid001002: task 9: Exited with exit code 4\n",
        "envcfg-refused",
    ),
}  # fmt: skip
WELL = {
    "exit-0": f"{DEEPSPEED}0\n",
    "words": "FATAL: loss is not a number\npyxis: imported docker image: docker://x\n",
}


_TWO_NODES = """\
srun: error: nid001234: tasks 0-3: {}
srun: error: nid001235: tasks 4-7: {}
"""
_RAISED = """\
Traceback (most recent call last):
  File "/scratch/u/train.py", line 7, in <module>
    cfg["lr"]
KeyError: 'lr'
"""
_RANK = "0: " + _RAISED.replace("\n", "\n0: ").removesuffix("0: ")
_EXIT = "Exited with exit code 1"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (_TWO_NODES.format(_EXIT, _EXIT), "ranks 0-7 (nid001234, nid001235) ended alike: exit code 1"),
        (_RAISED + _TWO_NODES.format(_EXIT, _EXIT), "ranks 0-7 (nid001234, nid001235) ended alike: KeyError: 'lr' (train.py:7)"),
        (_TWO_NODES.format(*["Bus error"] * 2), "ranks 0-7 (nid001234, nid001235) crashed alike: Bus error"),
        (_TWO_NODES.format(*["Out Of Memory"] * 2), "ranks 0-7 (nid001234, nid001235) were killed: out of memory"),
        (_TWO_NODES.format(_EXIT, "Exited with exit code 2"), "ranks 0-3 (nid001234) ended with exit code 1; 4 other ranks ended after it"),
        (_TWO_NODES.format(_EXIT, "Terminated"), "ranks 0-3 (nid001234) ended with exit code 1; 4 other ranks ended after it"),
        (_RANK + _TWO_NODES.format(_EXIT, _EXIT), "rank 0 (nid001234) ended: KeyError: 'lr' (train.py:7); 7 other ranks ended after it"),
    ],
)  # fmt: skip
def test_ranks_that_end_in_the_same_way_are_named_together(
    text: str, expected: str
) -> None:
    assert check(text).summary.split("; network")[0] == f"broken: {expected}"


@pytest.mark.parametrize("name", ENDINGS)
def test_the_end_of_a_job_that_was_well(name: str) -> None:
    said, rule = ENDINGS[name]
    report = check(GOOD + said)
    assert (report.verdict, report.network_verdict) == ("broken", "ok")
    assert next(each for each in report.findings if each.cause).rule == rule
    assert "network ok" in report.summary


@pytest.mark.parametrize("name", STARTS)
def test_a_job_that_did_not_start(name: str) -> None:
    said, rule = STARTS[name]
    report = check(said)
    assert report.verdict == "broken"
    assert next(each for each in report.findings if each.cause).rule == rule
    assert rule in rules_of(report)


@pytest.mark.parametrize("name", WELL)
def test_what_ends_no_job(name: str) -> None:
    assert check(GOOD + WELL[name]).verdict == "ok"


def test_memory_that_is_full_and_memory_that_is_not_there() -> None:
    warned = "gpu-07:900:955 [0] misc/shmutils.cc:121 NCCL WARN Error while "
    full = "creating shared memory segment /dev/shm/nccl-aB3dEf (size 33), error: No space left on device (28)\n"
    gone = "attaching to shared memory segment /dev/shm/nccl-aB3dEf (size 33), error: No such file or directory (2)\n"
    assert "shared-memory-full" in rules_of(check(warned + full))
    assert rules_of(check(warned + gone)) == {"shared-memory-gone"}


_BACK = 'Traceback (most recent call last):\n  File "/x/y.py", line 3, in f\n    g()\n'
WENT_ON = {
    "a line of a watcher": "envcfg: error: node nid001001: hsn0 is down\nhello\n",
    "a shell without modules": "job: line 3: module: command not found\nhello\n",
    "a shell without a file": "job: line 3: /etc/env.sh: No such file or directory\nhello\n",
    "a finalizer": f"Exception ignored in: <function x.__del__>\n{_BACK}AssertionError: no\n",
    "a thread": f"Exception in thread Thread-3:\n{_BACK}OSError: gone\n",
    "an end of Python": f"Error in atexit._run_exitfuncs:\n{_BACK}OSError: gone\n",
}


@pytest.mark.parametrize("log", WENT_ON.values(), ids=WENT_ON)
def test_what_ends_no_program_breaks_nothing(log: str) -> None:
    assert check(log).verdict == "inconclusive"
    assert check(GOOD + log).verdict != "broken"


def test_the_last_line_of_a_shell_is_why_a_job_ended() -> None:
    assert check("hello\njob: line 3: srun: command not found\n").verdict == "broken"


def test_the_first_line_names_the_node_where_a_folder_cannot_be_made() -> None:
    summary = check(STARTS["folder"][0]).summary
    assert summary.removeprefix("broken: ").startswith(
        "rank 9 (nid001002) did not start: cannot make the folder /tmp/"
    )


def test_several_ranks_were_killed() -> None:
    report = check(GOOD + "srun: error: nid001001: tasks 2-3: Killed\n")
    assert "ranks 2-3 (nid001001) were killed" in report.summary
    assert "was killed" in check(GOOD + KILLED).summary
