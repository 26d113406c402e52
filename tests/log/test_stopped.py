"""A scheduler, a user or envcfg stopped the job: that is the cause, and no reaction is."""

from __future__ import annotations

import pytest
from checking import check
from jobs import Job, text

from envcfg.log.read.rulebook import Rulebook, load_rules
from suites import mark_sample

GOOD = text(Job())
STEPS = "".join(
    f"step {step}/9000 loss {3 - step / 100:.2f}\n" for step in range(1, 40)
)


def cancelled(what: str = "JOB 27", why: str = "") -> str:
    """Return slurmstepd's line."""
    when = "2026-01-02T03:04:05"
    writer = f"slurmstepd{'-nid001000' * what.startswith('STEP')}"
    return f"{writer}: error: *** {what} ON nid001000 CANCELLED AT {when}{why} ***\n"


STEP = cancelled("STEP 27.0")
SILENT = "envcfg: error: the step is stopped: it is silent, and held up as above\n"
SLOW = (
    "envcfg: error: the step is stopped after 38 s: degraded: 16 of 16 ranks use TCP sockets; "
    "envcfg check-log /scratch/nccl-123.4567 says more\n"
)
AGAIN = "envcfg: note: warned by USR1, the program has stopped; the job starts again\n"
REQUEUED, TIMED = " DUE TO JOB REQUEUE", " DUE TO TIME LIMIT"
# Each way to end a job: its lines, the rule, the first line, the next step.
WAYS = {
    "job": (
        cancelled() + STEP,
        "slurm-cancelled",
        "the job was cancelled",
        "fix first",
    ),
    "step-line-first": (
        STEP + cancelled(),
        "slurm-cancelled",
        "the job was cancelled",
        "fix first",
    ),
    "step": (STEP, "slurm-cancelled", "step 27.0 was cancelled", "fix first"),
    "array-task": (
        cancelled("JOB 31"),
        "slurm-cancelled",
        "the job was cancelled",
        "fix first",
    ),
    "signal-named": (
        cancelled(why=" DUE to SIGNAL Terminated"),
        "slurm-cancelled",
        "the job was cancelled",
        "fix first",
    ),
    "after-srun": (
        f"srun: forcing job termination\n{cancelled()}",
        "slurm-cancelled",
        "the job was cancelled",
        "fix first",
    ),
    "srun-alone": (
        "srun: sending Ctrl-C to StepId=27.0\n",
        "srun-stopped",
        "the job was stopped: srun got a signal",
        "fix first",
    ),
    "time": (
        cancelled("STEP 27.0", TIMED) + cancelled(why=TIMED),
        "slurm-time-limit",
        "the job reached its time limit",
        "restart",
    ),
    "preempted": (
        cancelled(why=" DUE TO PREEMPTION"),
        "slurm-preempted",
        "the job was preempted",
        "restart",
    ),
    "requeued": (
        cancelled(why=REQUEUED) + cancelled("STEP 27.0", REQUEUED),
        "slurm-requeued",
        "the job was put back into the queue by the scheduler",
        "wait",
    ),
    "requeued-by-envcfg": (
        AGAIN,
        "envcfg-starts-again",
        "the job was put back into the queue by envcfg",
        "wait",
    ),
    "node": (
        "srun: error: Node failure on nid001001\n"
        + cancelled(why=" DUE TO NODE FAILURE, SEE SLURMCTLD LOG FOR DETAILS"),
        "slurm-node-failure",
        "a process on nid001001 ended: the node went down",
        "restart without",
    ),
    "silent": (
        f"{SILENT}{STEP}",
        "envcfg-stopped-silent",
        "the job was stopped by envcfg: it was silent, because a rank or node blocked it",
        "fix first",
    ),
    "silent-interrupted": (
        f"{SILENT}srun: sending Ctrl-C to StepId=27.0\n{STEP}",
        "envcfg-stopped-silent",
        "the job was stopped by envcfg: it was silent, because a rank or node blocked it",
        "fix first",
    ),
    "verify": (
        SLOW,
        "envcfg-stopped-slow",
        "the job was stopped by envcfg: degraded: 16 of 16 ranks use TCP sockets",
        "fix first",
    ),
}
WAITING = "srun: Job step aborted: Waiting up to 32 seconds for job step to finish.\n"
GONE = (
    "srun: Check SLURM_JOB_ID environment variable. Expired or invalid job 27\n"
    "envcfg: note: could not remove the caches /tmp/envcfg-1000-27-1.0 on all nodes\n"
)
TORCHRUN = """\
W0110 07:08:09.123000 4700 torch/distributed/elastic/agent/server/api.py:900] Received Signals.SIGTERM death signal, shutting down workers
Traceback (most recent call last):
  File "/opt/venv/bin/torchrun", line 8, in <module>
    sys.exit(main())
torch.distributed.elastic.multiprocessing.api.SignalException: Process 4700 got signal: 15
"""
# Reactions of processes, launchers and envcfg's own clean-up.
REACTIONS = {
    "none": "",
    "terminated": "srun: error: nid001000: tasks 0-3: Terminated\n",
    "killed": "srun: error: nid001001: tasks 4-7: Killed\n",
    "codes": "srun: error: nid001000: tasks 0-3: Exited with exit code 143\n"
    "srun: error: nid001001: tasks 4-7: Exited with exit code 1\n",
    "ended-by-srun": "srun: error: nid001000: tasks 0-3: Killed\n"
    "srun: launch/slurm: _step_signal: Terminating StepId=27.0\n"
    "srun: Force Terminated StepId=27.0\n",
    "code-137": "srun: error: nid001000: tasks 0-3: Exited with exit code 137\n",
    "clean-up": "srun: error: Unable to create step for job 27: Invalid job id specified\n"
    + GONE,
    "clean-up-22": "srun: error: Unable to confirm allocation for job 27: Invalid job id "
    f"specified\n{GONE}",
    "clean-up-late": "srun: error: Unable to create step for job 27: Job/step already "
    "completing or completed\n",
    "continued": f"srun: got SIGCONT\nsrun: forcing job termination\n{WAITING}",
    "torchrun": TORCHRUN,
    "interrupt": "[rank5]: KeyboardInterrupt\nsrun: error: nid001001: task 5: Interrupt\n",
    "lost-peers": "[rank1]: Traceback (most recent call last):\n"
    '[rank1]:   File "/app/train.py", line 5, in <module>\n'
    "[rank1]: ConnectionResetError: [Errno 104] Connection reset by peer\n",
}


@pytest.mark.parametrize("reaction", mark_sample(REACTIONS, every=7))
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    "begin", ["", STEPS, GOOD + STEPS], ids=["bare", "steps", "nccl"]
)
def test_the_stop_is_the_cause_and_reactions_are_not(
    begin: str, way: str, reaction: str
) -> None:
    lines, rule, words, step = WAYS[way]
    report = check(begin + lines + REACTIONS[reaction])
    assert report.cause is not None
    assert report.cause.rule == rule
    assert report.verdict == "broken"
    assert report.summary.startswith(f"broken: {words}")
    assert report.next.action == step


@pytest.mark.parametrize("reaction", REACTIONS)
@pytest.mark.parametrize("way", ["job", "step", "time", "preempted"])
def test_a_rank_that_ended_before_is_the_cause(way: str, reaction: str) -> None:
    exit_ = "srun: error: nid001001: task 9: Exited with exit code 3\n"
    report = check(STEPS + exit_ + WAYS[way][0] + REACTIONS[reaction])
    assert report.cause is not None
    assert (report.cause.rule, report.cause.ranks) == ("slurm-task-exit", (9,))


def test_reactions_of_another_node_may_come_before_the_line() -> None:
    for reaction in ("terminated", "killed", "code-137", "interrupt"):
        report = check(STEPS + REACTIONS[reaction] + WAYS["job"][0])
        assert report.cause is not None
        assert report.cause.rule == "slurm-cancelled", reaction


def test_a_rule_decides_if_its_end_is_a_reaction(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rules = [rule._replace(reaction=False) for rule in load_rules()]
    monkeypatch.setattr("checking.rulebook", lambda: Rulebook(rules))
    report = check(STEPS + REACTIONS["code-137"] + WAYS["job"][0])
    assert report.cause is not None
    assert report.cause.rule != "slurm-cancelled"


def test_a_step_that_srun_ends_after_a_failure_is_not_cancelled() -> None:
    failed = (
        "srun: error: nid001001: task 5: Segmentation fault (core dumped)\n"
        f"srun: Terminating StepId=27.0\n{STEP}{REACTIONS['killed']}"
    )
    report = check(STEPS + failed)
    assert report.cause is not None
    assert (report.cause.rule, report.cause.ranks) == ("slurm-task-signal", (5,))
    late = check(STEPS + "srun: Terminating StepId=27.0\n" + STEP)
    assert late.cause is None
    assert late.verdict != "ok"


@pytest.mark.parametrize(
    ("begin", "end", "verdict"),
    [
        ("envcfg: note: ", "", "inconclusive"),
        ("envcfg: silent for 20 s; the last line of the log: ", "", "inconclusive"),
        ("0: envcfg:   ", "", "inconclusive"),
    ],
)
def test_a_line_of_envcfg_that_quotes_an_end_is_no_end(
    begin: str, end: str, verdict: str
) -> None:
    for way in ("job", "step", "time", "preempted", "requeued"):
        quoted = "".join(f"{begin}{line}{end}\n" for line in WAYS[way][0].splitlines())
        report = check(STEPS + quoted)
        assert (report.verdict, report.cause) == (verdict, None), way


CODES = {
    134: ("exit-aborted", "aborted: exit code 134 (SIGABRT)"),
    135: ("exit-crashed", "crashed: exit code 135 (SIGBUS)"),
    136: ("exit-crashed", "crashed: exit code 136 (SIGFPE)"),
    137: ("exit-killed", "was killed: exit code 137 (SIGKILL)"),
    139: ("exit-crashed", "crashed: exit code 139 (SIGSEGV)"),
    143: ("exit-stopped", "was stopped: exit code 143 (SIGTERM)"),
}
LAUNCHERS = {
    "srun": "srun: error: nid001001: task 5: Exited with exit code {}\n",
    "torchrun": "  host      : nid001001\n  rank      : 5 (local_rank: 1)\n"
    "  exitcode  : {} (pid: 4711)\n",
}


@pytest.mark.parametrize("launcher", LAUNCHERS)
@pytest.mark.parametrize("code", CODES)
def test_exit_codes_of_shells_are_read_as_signals(code: int, launcher: str) -> None:
    rule, words = CODES[code]
    report = check(STEPS + LAUNCHERS[launcher].format(code))
    assert report.summary == f"broken: rank 5 (nid001001) {words}"
    assert report.cause is not None
    assert report.cause.rule == rule


@pytest.mark.parametrize(
    ("lines", "ranks", "words"),
    [
        (
            (
                "srun: error: nid001000: task 1: Alarm clock\n"
                "srun: error: nid001000: task 2: Exited with exit code 1\n"
            ),
            (1,),
            "ended by a signal: Alarm clock",
        ),
        (
            (
                "[rank5]: Traceback (most recent call last):\n"
                '[rank5]:   File "/app/train.py", line 5, in <module>\n'
                "[rank5]:     time.sleep(1)\n"
                "[rank5]: KeyboardInterrupt\n"
                "srun: error: nid001001: task 5: Interrupt\n"
                "srun: error: nid001001: task 4: Exited with exit code 1\n"
            ),
            (5,),
            "ended by a signal: Interrupt",
        ),
        (
            (
                "srun: error: nid001001: tasks 4-7: User defined signal 1\n"
                "srun: error: nid001000: tasks 0-3: Killed\n"
            ),
            (4, 5, 6, 7),
            "ended by a signal: User defined signal 1",
        ),
    ],
    ids=["alarm", "interrupt", "user"],
)
def test_a_task_that_a_signal_ended_is_named(
    lines: str, ranks: tuple[int, ...], words: str
) -> None:
    report = check(STEPS + lines)
    assert report.cause is not None
    assert report.cause.ranks == ranks
    assert words in report.cause.message


def raised(rank: int, key: str, line: int) -> str:
    """Return the traceback of *rank*, by the prefix of ``srun --label``."""
    return (
        f"{rank}: Traceback (most recent call last):\n"
        f'{rank}:   File "/app/train.py", line {line}, in <module>\n'
        f"{rank}:     value = sample['{key}']\n"
        f"{rank}: KeyError: '{key}'\n"
    )


@pytest.mark.parametrize(
    "between", ["", "6: skip this sample\n", "6: step 40 loss 1.0\n"]
)
@pytest.mark.parametrize("late", ["", "srun: error: nid001001: task 6: Killed\n"])
def test_a_rank_that_catches_an_exception_is_not_the_cause(
    between: str, late: str
) -> None:
    exit_ = "srun: error: nid001000: task 2: Exited with exit code 1\n"
    both = raised(6, "label", 9) + between + raised(2, "mask", 12) + exit_ + late
    report = check(STEPS + both)
    assert report.cause is not None
    assert (report.cause.ranks, report.cause.line) == ((2,), 12)
    assert "KeyError: 'mask'" in report.cause.message


def test_two_ranks_that_fail_alike_keep_the_order_of_their_exceptions() -> None:
    exits = "srun: error: nid001000: tasks 2,6: Exited with exit code 1\n"
    report = check(STEPS + raised(6, "label", 9) + raised(2, "mask", 12) + exits)
    assert report.cause is not None
    assert report.cause.ranks == (6,)


@pytest.mark.parametrize("prefix", ["", "2: ", "[rank2]: "])
@pytest.mark.parametrize(
    "frame", ["raise CalledProcessError(retcode, process.args,", "error = run(cmd)"]
)
def test_the_reason_of_an_exit_code_is_no_line_of_a_frame(
    prefix: str, frame: str
) -> None:
    said = "subprocess.CalledProcessError: Command '['false']' returned non-zero exit status 1."
    lines = (
        "Traceback (most recent call last):",
        '  File "/app/train.py", line 9, in <module>',
        '    subprocess.run(["false"], check=True)',
        '  File "/usr/lib/python3.11/subprocess.py", line 571, in run',
        f"    {frame}",
        said,
    )
    thrown = "".join(f"{prefix}{line}\n" for line in lines)
    exit_ = "srun: error: nid001000: task 2: Exited with exit code 1\n"
    report = check(STEPS + thrown + exit_)
    assert report.cause is not None
    assert report.cause.message.endswith(said)


def test_a_cancellation_after_a_process_was_killed_only_follows() -> None:
    killed = "srun: error: nid001: task 3: Out Of Memory\n"
    report = check(f"{killed}{cancelled('STEP 27.0')}")
    assert report.cause
    assert (report.cause.rule, report.cause.class_) == ("slurm-task-memory", "program")
    causes = {each.rule: each.cause for each in report.findings}
    assert not causes.get("slurm-cancelled", False)
