"""The order of evidence: launcher and scheduler, then a rank, then what a program prints.

A death is never ``ok`` and never ``done``, whatever is printed before or after it. A death
that is only quoted does not break a job that goes on.
"""

from __future__ import annotations

import lzma
import re
from itertools import product
from pathlib import Path

import pytest
from checking import check, rules_of
from hypothesis import given
from hypothesis import strategies as st
from jobs import Job, text
from jobs import lines as lines_of

from fuzzing import tries
from support import envcfg

GOOD = text(Job(dialect="nccl-2.24", ranks_per_node=2))
BAR = " 35%|███▌      | 7/20 [00:01<00:02,  5.00it/s]"


def steps(first: int, last: int) -> str:
    return "".join(f"step {n} loss {3 - n / 1000:.3f}\n" for n in range(first, last))


def traceback(end: str) -> str:
    return (
        'Traceback (most recent call last):\n  File "/app/train.py", line 33, in <module>\n'
        f'    main()\n  File "/app/train.py", line 20, in main\n    load()\n{end}\n'
    )


# Messages of launchers and schedulers.
REPORTS = {
    "srun-crash": "srun: error: nid001002: task 3: Segmentation fault (core dumped)\n",
    "srun-killed": "srun: error: nid001002: task 3: Killed\n",
    "srun-exit": "srun: error: nid001002: task 3: Exited with exit code 1\n",
    "srun-io": "srun: error: step_launch_notify_io_failure: aborting, io error with slurmstepd on node 1\n",
    "time-limit": "slurmstepd: error: *** JOB 4711 ON nid001001 CANCELLED AT 2026-03-14T09:26:53 DUE TO TIME LIMIT ***\n",
    "oom-kill": "slurmstepd: error: Detected 1 oom_kill event in StepId=4711.0. Some of the step tasks have been OOM Killed.\n",
    "stepd": "slurmstepd: error: *** STEP 4711.0 STEPD TERMINATED ON nid001002 AT 2026-01-02T03:04:05 DUE TO JOB NOT ENDING WITH SIGNALS ***\n",
    "node": "srun: error: Node failure on nid001002\n",
    "mpirun": "mpirun noticed that process rank 3 with PID 4711 on node nid001002 exited on signal 11 (Segmentation fault).\n",
    "mpirun-left": "mpirun has exited due to process rank 3 with PID 4711 on\nnode nid001002 exiting improperly. There are two reasons this could occur:\n",
    "pdsh": "pdsh@login1: nid001002: ssh exited with exit code 1\n",
    "horovodrun": "Process 3 exit with status code 1.\n",
    "flux": "12.345s: job.exception type=exec severity=0 task 3 on host nid001002 failed\n",
    "flux-job": "flux-job: task(s) Killed\n",
    "pbs": "=>> PBS: job killed: walltime 3611 exceeded limit 3600\n",
    "lsf": "TERM_RUNLIMIT: job killed after reaching LSF run time limit.\n",
    "kernel": "kernel: Out of memory: Killed process 4711 (python) total-vm:123456kB, anon-rss:65432kB\n",
    "torchrun": "  exitcode  : -11 (pid: 4711)  (SIGSEGV)\n",
    "torchrun-line": "E0314 09:26:53.123000 4711 torch/distributed/elastic/multiprocessing/api.py:869] failed (exitcode: -9) local_rank: 1 (pid: 4713) of binary: /usr/bin/python\n",
    "deepspeed": "[2026-03-14 09:26:54,123] [ERROR] [launch.py:325:sigkill_handler] ['/usr/bin/python', 'train.py'] exits with return code = -9\n",
    "slurm-memory": "slurmstepd: error: StepId=4711.0 exceeded memory limit (67108864 > 62914560), being killed\n",
    "jsrun": "ERROR:  One or more process (first noticed rank 3) exited with code 1\n",
    "aprun": "_pmiu_daemon(SIGCHLD): [NID 00012] [c0-0c0s3n0] [Sat Mar 14 09:26:53 2026] PE RANK 3 exit signal Killed\n",
    "salloc": "salloc: error: Node failure on nid001002\n",
    "prterun": "prterun noticed that process rank 3 with PID 4711 on node nid001002 exited on\nsignal 9 (Killed).\n",
    "flux-shell": "flux-shell[1]: FATAL: task 3 (host nid001002): start failed\n",
    "horovodrun-left": "Terminating remaining workers after failure of Process 3.\n",
}
# Exceptions, signals and aborts of a rank.
RANKS = {
    "exception": traceback("ValueError: corrupt shard 1234"),
    "zlib": traceback("zlib.error: Error -3 while decompressing data: invalid block type"),
    "struct": traceback("struct.error: unpack requires a buffer of 4 bytes"),
    "gaierror": traceback("socket.gaierror: [Errno -2] Name or service not known"),
    "bash-crash": "run.sh: line 31:  4711 Segmentation fault      (core dumped) python train.py\n",
    "bash-instruction": "run.sh: line 31:  4711 Illegal instruction     (core dumped) python train.py\n",
    "bash-float": "run.sh: line 31:  4711 Floating point exception(core dumped) python train.py\n",
    "assert": "train: src/net.cc:33: void load(int): Assertion `n > 0' failed.\n",
    "glog": "F0314 09:26:53.123456  4711 loader.cc:33] Check failed: n > 0 (0 vs. 0) \n*** Check failure stack trace: ***\n",
    "smashed": "*** stack smashing detected ***: terminated\n",
    "heap": "free(): double free detected in tcache 2\n",
    "abseil": "*** SIGSEGV received at time=1762945999 on cpu 6 ***\n",
    "python": "Fatal Python error: Segmentation fault\n",
    "killed": "Killed\n",
    "local-class": traceback("app.main.<locals>.Failed: shard 12"),
    "zsh": "zsh: killed     python train.py\n",
    "bash-trap": "run.sh: line 3:  4711 Trace/breakpoint trap   (core dumped) ./train\n",
    "bash-size": "run.sh: line 3:  4711 File size limit exceeded(core dumped) ./train\n",
    "musl": "Assertion failed: x == 1 (main.c: main: 7)\n",
    "no-exception": "terminate called without an active exception\n",
    "glog-date": "F20260314 09:26:53.123456  4711 loader.cc:33] Check failed: n > 0\n",
    "tensorflow": "2026-03-14 09:26:53.123456: F external/xla.cc:33] Check failed: s.ok()\n",
    "sanitizer": "==4711==ERROR: AddressSanitizer: heap-buffer-overflow on address 0x602\n",
    "julia": "ERROR: LoadError: BoundsError: attempt to access 3-element Vector\n",
    "fortran": "forrtl: severe (174): SIGSEGV, segmentation fault occurred\n",
}  # fmt: skip
DEATHS = {**REPORTS, **RANKS}
# What a program, a shell or a person prints. None of it is a sign of a new attempt.
WORDS = {
    "exit-code": "exit code: 0\n",
    "exit-status": "Exit Status: 0\n",
    "seff": "Job ID: 4711\nState: COMPLETED (exit code 0)\n",
    "sacct": "4711              train        gpu    project        512  COMPLETED      0:0 \n",
    "flux-end": "1773480413.123456 finish status=0\n",
    "transformers": "{'train_runtime': 1680.12, 'train_samples_per_second': 71.1, 'train_loss': 2.31, 'epoch': 1.0}\n",
    "nccl-tests": "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 178.532 \n#\n",
    "lightning": "`Trainer.fit` stopped: `max_steps=240` reached.\n",
    "megatron": "[after training is done] datetime: 2026-03-14 09:28:00 \n",
    "mlperf": ':::MLLOG {"namespace": "", "time_ms": 1773480413000, "event_type": "INTERVAL_END", "key": "run_stop", "value": null, "metadata": {"file": "train.py", "lineno": 41, "samples_count": 7168, "status": "success"}}\n',
    "completed": "Training completed!\n",
    "finished": "Training finished\n",
    "triumph": "All done, everything is fine.\n",
    "deepspeed": "[2026-03-14 09:29:53,123] [INFO] [launch.py:351:main] Process 4711 exits successfully.\n",
    "wandb": "wandb:    train/global_step 12\nwandb:    train/epoch 3\nwandb:    train/loss 2.1\n",
    "wandb-end": "wandb: Synced 5 W&B file(s), 0 media file(s)\n",
    "step": "step 21 loss 2.9\n",
    "step-of-script": "Step 2/3: copy results\n",
    "epoch": "Epoch 3 done\n",
    "step-and-end": "step 21 loss 1\nexit code: 0\n",
    "step-and-runtime": "step 22 loss 1\n{'train_runtime': 1680.12, 'train_loss': 2.31, 'epoch': 1.0}\n",
    "checkpoint": "Saving model checkpoint to ./out/checkpoint-500\n",
    "megatron-checkpoint": "  successfully saved checkpoint from iteration    1000 to /scratch/run [ t 1/1, p 1/1 ]\n",
    "bar": BAR,
    "bar-and-end": f"{BAR}\n",
    "bar-100": "100%|██████████| 20/20 [00:04<00:00,  5.00it/s]\n",
    "bar-wiped": f"\r{BAR}\r{' ' * 60}\r",
    "bars": "".join(f"\r {n * 5}%|{'█' * n}   | {n}/20 [00:01<00:02,  5.00it/s]" for n in range(8)),
    "bar-without-total": "7it [00:01,  5.00it/s]",
    "fence": "```\n",
    "fence-of-language": "```python\n",
    "fence-with-end": "```\nsome text\n```\n",
    "fence-of-tildes": "~~~\n",
    "markup": "<pre>\n",
    "mail": "> 2026-03-14 all good\n",
    "json": '{"status": "success", "step": 100}\n',
    "warning": "UserWarning: torch.cpu.amp.autocast(args...) is deprecated.\n",
    "xtrace": "+ echo finished\n",
    "colours": "\x1b[32mSUCCESS\x1b[0m\n",
    "epilogue": "".join(f"epilogue line {chr(97 + n % 26)}\n" for n in range(30)),
    "nccl": GOOD.splitlines()[-1] + "\n",
}  # fmt: skip
PLACES = {
    "after": lambda death, words: GOOD + steps(0, 20) + death + words,
    "before": lambda death, words: GOOD + steps(0, 20) + words + death,
    "around": lambda death, words: GOOD + steps(0, 20) + words + death + words,
    "first": lambda death, words: death + words + GOOD + steps(0, 20),
    "not-last": lambda death, words: GOOD + words + death + steps(20, 22) + words,
}


@tries(250)
@given(st.sampled_from([*product(DEATHS, WORDS, PLACES)]))
def test_no_words_excuse_a_death(case: tuple[str, str, str]) -> None:
    death, words, place = case
    report = check(PLACES[place](DEATHS[death], WORDS[words]))
    assert report.verdict != "ok", report.summary
    assert report.next.action != "done", report.next.reason
    # Only a fence can make a quote of a launcher's message.
    if death in REPORTS and not words.startswith(("fence", "markup")):
        assert report.verdict == "broken", report.summary


@pytest.mark.parametrize("death", DEATHS)
def test_each_death_breaks_a_job(death: str) -> None:
    assert check(GOOD + steps(0, 20) + DEATHS[death]).verdict == "broken"


# Forms in which a healthy job prints the lines of a death.
QUOTES = {
    "fence": lambda text: f"```\n{text}```\n",
    "fence-of-language": lambda text: f"```text\n{text}```\n",
    "tildes": lambda text: f"~~~\n{text}~~~\n",
    "markup": lambda text: f"<pre>\n{text}</pre>\n",
    "mail": lambda text: "".join(f"> {line}\n" for line in text.splitlines()),
    "xtrace": lambda text: "".join(f"++ echo '{line}'\n" for line in text.splitlines()),
    "sentence": lambda text: "".join(f"docs: {line}\n" for line in text.splitlines()),
    "comment": lambda text: "".join(f"# {line}\n" for line in text.splitlines()),
    "repr": lambda text: f"{text!r}\n",
    "sample": lambda text: f'{{"text": {text!r}, "label": 1}}\n',
    "numbered": lambda text: "".join(f"   12\t{line}\n" for line in text.splitlines()),
    "grep": lambda text: "".join(f"slurm-6.out:{line}\n" for line in text.splitlines()),
    "logging": lambda text: "".join(
        f"INFO:root:{line}\n" for line in text.splitlines()
    ),
}
QUIET = [
    *"fence-with-end warning wandb-end mail json xtrace colours checkpoint".split()
]


@tries(120)
@given(
    st.sampled_from([*product(DEATHS, QUOTES)]),
    st.sampled_from(QUIET),
    st.sampled_from(["", "exit code: 0\n", "Training finished\n"]),
)
def test_a_quoted_death_does_not_break_a_job_that_goes_on(
    case: tuple[str, str], words: str, end: str
) -> None:
    death, quote = case
    quoted = QUOTES[quote](DEATHS[death])
    report = check(f"{GOOD}{steps(0, 20)}{WORDS[words]}{quoted}{steps(20, 220)}{end}")
    assert report.verdict in ("ok", "inconclusive"), report.summary


@pytest.mark.parametrize("quote", ["xtrace", "sentence", "fence", "grep"])
def test_a_doubtful_message_of_a_launcher_is_shown(quote: str) -> None:
    message = QUOTES[quote](REPORTS["srun-killed"])
    report = check(f"{GOOD}{steps(0, 20)}{message}{steps(20, 220)}")
    assert report.verdict == "inconclusive"
    assert "task 3: Killed" in report.summary


# Progress bars and other text without the end of its line.
OPEN_LINES = (
    BAR,
    "Training ━━━━━━━━━━━━━━━━━━━━  35% 0:00:02",
    " 7/20 [=========>....................] - ETA: 2s - loss: 0.1234",
    "model.bin            35%[=====>              ]   1.75G   160MB/s    eta 20s",
    "Receiving objects:  35% (7/20), 1.00 MiB | 5.00 MiB/s",
    "Step 7... ",
)


@pytest.mark.parametrize("front", OPEN_LINES)
@pytest.mark.parametrize(
    "death",
    [
        traceback("Exception: bad shard"),
        traceback("_queue.Empty"),
        traceback("triton.runtime.errors.OutOfResources: shared memory"),
        RANKS["killed"],
        RANKS["smashed"],
        RANKS["heap"],
        REPORTS["srun-killed"],
        REPORTS["horovodrun"],
    ],
)
def test_text_without_a_line_end_hides_no_death(front: str, death: str) -> None:
    for log in (front + death, f"\r{front}" * 9 + death):
        assert check(GOOD + steps(0, 20) + log).verdict in ("broken", "inconclusive")


@pytest.mark.parametrize(
    "end",
    [
        traceback("bad_shard: shard 12"),
        traceback("my-app.Failed: shard 12"),
        traceback("ValueError: x").rpartition("ValueError")[0],
        "srun: error: nid001002: task 3: Terminated\n",
    ],
)
def test_an_end_without_a_known_cause_leaves_a_doubt(end: str) -> None:
    assert check(GOOD + steps(0, 20) + end).verdict == "inconclusive"
    assert check(GOOD + steps(0, 20) + end + steps(20, 400)).verdict in (
        "ok",
        "inconclusive",
    )


@pytest.mark.parametrize("front", ["x", "rank3_", "31m", "日", "out"])
def test_text_in_front_of_a_host_must_not_contradict(front: str) -> None:
    process = max(re.findall(r"(?m)^nid\d+:\d+:", GOOD))
    lines = (
        front + re.sub(r"via NET/\S+|(?<=network )\w+", _to_socket, line)
        for line in GOOD.splitlines()
        if line.startswith(process) and "Using network" in line
    )
    assert check(GOOD + "\n".join(lines) + "\n").verdict == "inconclusive"


@pytest.mark.parametrize("fence", ["```", "```python", "~~~", "<pre>"])
def test_a_fence_without_an_end_quotes_nothing(fence: str) -> None:
    fallen = text(Job(dialect="nccl-2.24", ranks_per_node=2, fallen=frozenset({1})))
    assert check(f"{GOOD}{fence}\n{REPORTS['srun-killed']}").verdict == "broken"
    assert check(f"{fence}\n{fallen}").verdict == "degraded"
    assert check(f"{fence}\n{GOOD}{steps(0, 20)}").verdict == "ok"
    assert "lines-quoted" not in rules_of(check(f"{fence}\n{GOOD}"))


@pytest.mark.parametrize("front", ["nid001002: ", "[3] ", "worker 3 | ", "x: y: "])
@pytest.mark.parametrize("death", ["killed", "heap", "smashed", "glog", "torchrun"])
def test_a_death_behind_unknown_text_leaves_a_doubt(front: str, death: str) -> None:
    line = front + DEATHS[death].splitlines()[0].strip()
    assert check(f"{GOOD}{steps(0, 20)}{line}\n").verdict in ("broken", "inconclusive")


@pytest.mark.parametrize(
    "front",
    [
        "  ",
        "oldhost: ",
        "I0314 09:26:53.123456  47 x.cc:33] ",
        "     17 ",
        "\xa0",
        "<",
        "trainer | ",
        "[worker] ",
    ],
)
@pytest.mark.parametrize("what", ["via NET", "Using network"])
def test_lines_behind_unknown_text_must_not_contradict(front: str, what: str) -> None:
    process = max(re.findall(r"(?m)^nid\d+:\d+:", GOOD))
    lines = [
        front + re.sub(r"via NET/\S+|(?<=network )\w+", _to_socket, line)
        if line.startswith(process) and what in line
        else line
        for line in GOOD.splitlines()
    ]
    report = check("\n".join([*GOOD.splitlines(), *lines, ""]))
    assert report.verdict == "inconclusive", report.summary


def _to_socket(match: re.Match[str]) -> str:
    return "via NET/Socket/0" if "NET" in match[0] else "Socket"


@pytest.mark.parametrize("without", ["", "Using network|via NET|NET/|Selected"])
def test_a_rank_without_lines_in_a_second_start_leaves_a_doubt(without: str) -> None:
    job = Job(dialect="nccl-2.24", ranks_per_node=2)
    said = [
        line.text
        for line in lines_of(job)
        if line.rank != 3 or (without and not re.search(without, line.text))
    ]
    again = "\n".join(said) + "\n"
    assert check(f"{GOOD}{steps(0, 20)}{again}").verdict == "inconclusive"
    if without:  # the first start can also be the incomplete one
        assert check(f"{again}{steps(0, 20)}{GOOD}").verdict == "inconclusive"
    assert check(f"{GOOD}{steps(0, 20)}{GOOD}").verdict == "ok"


@pytest.mark.parametrize(
    "line",
    [
        "[c10d] The hostname of the client socket cannot be retrieved. err=-3\n" * 8,
        "train.py:7: UserWarning: an error of x is unknown\n",
        "logging.cc:474:     @     0x7f4a  (unknown)  (unknown)\n",
        "slurmstepd: error: Setting TMPDIR to /tmp\n",
    ],
)
def test_a_harmless_line_is_no_cause_of_an_exit_code(line: str) -> None:
    end = "srun: error: nid001001: task 5: Exited with exit code 7\n"
    report = check(line + end)
    assert report.summary == "broken: rank 5 (nid001001) ended with exit code 7"


@pytest.mark.parametrize("padding", [0, 4, 1024])
def test_joined_and_padded_parts_of_xz_are_read(tmp_path: Path, padding: int) -> None:
    parts = (GOOD, steps(0, 20) + REPORTS["srun-killed"])
    packed = [lzma.compress(part.encode()) for part in parts]
    (tmp_path / "a.log.xz").write_bytes((b"\0" * padding).join(packed))
    assert envcfg("check-log", str(tmp_path / "a.log.xz")).code == 1
    (tmp_path / "b.log.xz").write_bytes(b"".join(packed)[:-9])
    assert envcfg("check-log", str(tmp_path / "b.log.xz")).code == 4
