"""If no rule explains an end, the first line quotes the last words of the program."""

from __future__ import annotations

import pytest
from checking import check, rules_of
from jobs import Job, text

TRACEBACK = """\
Traceback (most recent call last):
  File "/u/train.py", line 33, in <module>
    main()
ValueError: corrupt shard 1234
"""
MLPERF = ':::MLLOG {{"namespace": "", "time_ms": 1773480413000, "key": "{}", "metadata": {}}}\n'


@pytest.mark.parametrize(
    ("log", "words"),
    [
        (
            "start\n[rank3]: cannot map 0x123 in hook xyz\nbye\n",
            "last words of rank 3: cannot map 0x123 in hook xyz",
        ),
        (
            "nid001: lustre: open /scratch/x: permission denied\n",
            "last words of the job: nid001: lustre: open /scratch/x: permission denied",
        ),
        ("step 1 error 0.1\nstep 2 error 0.1\n", ""),
        ("error: cannot read cache\nstep 1 loss 2\nstep 2 loss 1\n", ""),
        ("0 errors, 3 warnings\n", ""),
        (TRACEBACK + "".join(f"step {n} loss 0.1\n" for n in range(9)), ""),
    ],
)
def test_the_first_line_quotes_the_last_words(log: str, words: str) -> None:
    report = check(log)
    no_lines = "the log has no line of NCCL or RCCL"
    assert report.summary == f"inconclusive: {words or no_lines}"


@pytest.mark.parametrize(
    "after",
    [
        "step 3 loss 0.1\n",
        "one more line\n" * 30,
        "wandb:    train/global_step 12\n",
        "Step 2/3: copy results\n",
    ],
)
def test_lines_after_an_uncaught_exception_are_no_steps(after: str) -> None:
    report = check(TRACEBACK + after)
    words = "broken: the job ended: ValueError: corrupt shard 1234 (train.py:33)"
    assert report.summary == words


def test_steps_do_not_erase_an_exception() -> None:
    steps = "".join(f"step {number} loss 0.1\n" for number in range(400))
    good = text(Job(ranks_per_node=2))
    for log in (TRACEBACK + steps, good + TRACEBACK + steps):
        assert "exception-survived" in rules_of(check(log))


@pytest.mark.parametrize(
    "line",
    [
        "envcfg: note: not verified: /x/nccl-7: No such file or directory",
        "3: envcfg: first cause: rank 3 ended: ValueError",
        "job.sh: line 9: 123 Killed                  coproc ENVCFG_WATCH { envcfg_watch; }",
    ],
)
def test_lines_of_envcfg_are_no_evidence(line: str) -> None:
    good = text(Job(ranks_per_node=2))
    assert check(f"{good}{line}\n").verdict == "ok"
    assert check(f"{line}\n").summary.endswith("the log has no line of NCCL or RCCL")


def test_a_known_good_end_is_final() -> None:
    end = MLPERF.format("run_stop", '{"status": "success", "samples_count": 7168}')
    end += MLPERF.format("epoch_stop", '{"epoch_num": 7}')
    steps = "".join(
        MLPERF.format("train_loss", f'{{"samples_count": {n}}}') for n in range(9)
    )
    closing = "nid001001:9:9 [0] misc/socket.cc:1 NCCL WARN [Service thread] Accept failed Success\n"
    good = text(Job(ranks_per_node=2))
    assert check(good + steps + end + closing).verdict != "broken"


@pytest.mark.parametrize("front", ["> ", "    ", "| ", "# "])
def test_quoted_lines_of_nccl_are_no_last_words(front: str) -> None:
    log = text(Job(dialect="nccl-2.24", ranks_per_node=2, network="socket"))
    report = check("".join(f"{front}{line}\n" for line in log.splitlines()))
    assert "last words" not in report.summary
    assert report.summary.startswith("degraded: 4 of 4 processes use TCP sockets")


STALL = "[1,0]<stderr>:HorovodBroadcast_conv2d_1_kernel_0 [missing ranks: 1]"


@pytest.mark.parametrize(
    "line",
    [
        STALL,
        "INFO 05-01 10:00:00 [shm_broadcast.py:466] No available shared memory broadcast block found in 60 seconds.",
        "E xla/service/rendezvous.cc:38] This thread has been waiting for `participant 3` for 10 seconds and may be stuck.",
        "nid001: NVRM: Xid (PCI:0019:01:00): 145, RLW_RXPIPE Nonfatal XC0 i0 Link 13 (0x0409a0c2)",
        "pyxis:     tar: Removing leading `/' from member names",
    ],
)
def test_a_line_that_programs_survive_changes_nothing(line: str) -> None:
    good = text(Job(ranks_per_node=2))
    steps = "".join(f"step {number} loss 0.1\n" for number in range(400))
    for log in (f"{line}\n{good}{steps}", f"{good}{steps}{line}\n"):
        assert check(log).verdict == "ok"
    assert check(f"{line}\n").verdict == "inconclusive"


@pytest.mark.parametrize(
    ("lines", "quote"),
    [
        (["3: no tokenizer in /scratch/tok"], ", after: no tokenizer in /scratch/tok"),
        (["no tokenizer in /scratch/tok"], ", after: no tokenizer in /scratch/tok"),
        (["3: the last word", "4: no tokenizer"], ", after: the last word"),
        (["3: error: no tokenizer", "3: goodbye"], ": error: no tokenizer"),
        (["3: RuntimeError: versions differ:", "3:     Ray: 2.9.0"], ": RuntimeError: versions differ: Ray: 2.9.0"),
        (["4: no tokenizer"], ""),
        (["3: the first word", "3: step 12 loss 0.1"], ""),
        (["no tokenizer"] * 8, ""),
        (["nid001:1:2 [0] NCCL INFO Bootstrap : Using hsn0:10.1.1.1<0>"], ""),
    ],
)  # fmt: skip
def test_the_last_output_before_an_exit_code_is_quoted(
    lines: list[str], quote: str
) -> None:
    exit_code = "srun: error: nid001: task 3: Exited with exit code 2\n"
    report = check("".join(f"{line}\n" for line in lines) + exit_code)
    first, *_ = report.summary.split("; ")
    assert first == f"broken: rank 3 (nid001) ended with exit code 2{quote}"
