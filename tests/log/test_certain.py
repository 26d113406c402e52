"""Whose line is it? A program's own words are not NCCL's, and only proof stops a job."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from checking import check, rulebook
from jobs import Job, text

from envcfg.log.expectations import Expectations
from envcfg.log.follow import is_safe
from envcfg.log.judge.job_judge import judge
from envcfg.log.read.process_facts import Spot
from envcfg.log.read.rulebook import LogRule, load_rules
from envcfg.log.state.job_state import JobLog as State
from envcfg.log.state.reader import Reader
from envcfg.log.verdict import Coverage

GOOD = text(Job(dialect="nccl-2.24", ranks_per_node=2))
HALF = "".join(
    f"{line}\n" for line in GOOD.splitlines() if not line.startswith("nid001002")
)
EVIDENCE = [
    rule
    for rule in load_rules()
    if rule.event and rule.samples and not (rule.severity or rule.anywhere)
]


@pytest.mark.parametrize(
    "line",
    [
        "INFO Using network resnet50",
        "Using network resnet50",
        "Using network interface eth0",
        "Using network Socket for the dashboard",
        "INFO train: Using network Socket",
        "12: worker Using network Socket",
        "model: Using internal Network Socket",
        "docs say: NET/Socket : Using [0]eth0:10.9.8.7<0>",
        "see NET/OFI Selected Provider is tcp (found 1 nics)",
        "net: Channel 00/0 : 0[0] -> 1[0] [send] via NET/Socket/0",
        "warn: NET/OFI aws-ofi-nccl initialization failed",
    ],
)
def test_what_a_program_says_of_its_own_network_is_nothing(line: str) -> None:
    for log in (GOOD, HALF):
        plain = check(log)
        for said in (f"{line}\n{log}", f"{log}{line}\n"):
            report = check(said)
            assert (report.verdict, report.summary) == (plain.verdict, plain.summary)
            assert report.job == plain.job


@pytest.mark.parametrize(
    ("line", "of", "what"),
    [
        ("Using network Libfabric", "network", "Libfabric"),
        ("Using network IBext_v8", "network", "IBext_v8"),
        ("3: Using network AWS Libfabric", "network", "AWS Libfabric"),
        (
            "NET/OFI Selected provider is cxi, fabric is cxi (found 4 nics)",
            "provider",
            "cxi",
        ),
        ("NCCL INFO Using network Socket", "network", "Socket"),
    ],
)
def test_a_line_whose_prefix_was_taken_off_still_tells(
    line: str, of: str, what: str
) -> None:
    report = check(f"{line}\nnothing more\n")
    assert report.verdict == "inconclusive"
    assert getattr(report.job, of) == what


@pytest.mark.parametrize("rule", EVIDENCE, ids=lambda rule: rule.id)
def test_evidence_that_stands_in_a_sentence_is_none(rule: LogRule) -> None:
    for sample in rule.samples:
        said = re.sub(r".*?NCCL (?:INFO|WARN) ", "", sample)
        state = State(rulebook())
        reader = Reader(state)
        block = f"INFO train: {said}\n".encode()
        reader.take(block, Spot(reader.begin("a", plain=False), 0, 0), 0)
        assert not any(process.seen for process in state.everyone), said


PLUGIN_LOST = """\
{at}:71:71 [0] NCCL INFO NET/Plugin: Plugin name set by env to ofi
{at}:71:71 [0] NCCL INFO NET/Plugin: Could not find: ofi libnccl-net-ofi.so. Using internal network plugin.
{at}:71:71 [0] nccl_net_ofi_init:149 NCCL WARN NET/OFI Initializing plugin failed
"""
LOST = "".join(PLUGIN_LOST.format(at=f"nid{number}") for number in (1, 2))
INFINIBAND = "".join(f"nid{n}:71:71 [0] NCCL INFO Using network IB\n" for n in (1, 2))
SOCKETS = INFINIBAND.replace("IB", "Socket")
PREFIX = re.compile(r"(?m)^\S+:\d+:\d+ ")
FALLEN = text(Job(dialect="nccl-2.24", ranks_per_node=2, fallen=frozenset({1})))


@pytest.mark.parametrize(
    ("log", "safe"),
    [
        (FALLEN, True),
        (text(Job(dialect="nccl-2.24", ranks_per_node=2, fallen=frozenset({1})), "srun"), True),
        (PREFIX.sub("", FALLEN), False),
        ("".join(f"  slurm-6.out:{n}: {line}\n" for n, line in enumerate(FALLEN.splitlines())), False),
        ("".join(f"slurm-6.out:{line}\n" for line in FALLEN.splitlines()), False),
        ("".join(f"'{line}',\n" for line in FALLEN.splitlines()), False),
        ("INFO Using network resnet50\n" * 2, False),
        (LOST, False),
        (LOST + INFINIBAND, False),
        (LOST + SOCKETS, True),
        ("slurmstepd: error: *** JOB 1 ON n1 CANCELLED AT 3 DUE TO NODE FAILURE, SEE\n", True),
        ("they said srun: error: Node failure on nid001234\n", False),
        ("RuntimeError: NCCL Error 2: unhandled system error\n", False),
    ],
    ids=[
        "whole", "labelled", "stripped", "report", "grep", "quoted", "program", "plugin-lost",
        "other-network", "sockets", "slurm", "sentence", "python",
    ],
)  # fmt: skip
def test_only_lines_that_are_certain_make_a_bad_verdict_safe(
    log: str, safe: bool
) -> None:
    whole, certain = State(rulebook()), State(rulebook(), certain=True)
    reader = Reader(whole, certain)
    reader.take(log.encode(), Spot(reader.begin("a", plain=False), 0, 0), 0)
    reports = [
        judge(job, Expectations(), reader.locate, Coverage(1, len(log)))
        for job in (whole, certain)
    ]
    assert is_safe(*reports, certain) == safe


def followed(log: str, folder: Path) -> tuple[int, str, str, bool]:
    """Follow a log for a second; return code, answer, stderr, and whether it was acted."""
    (folder / "slurm-7.out").write_text(log)
    done = subprocess.run(
        [sys.executable, "-m", "envcfg", "check-log", "--follow", "--timeout", "1",
         "--on-bad", "touch acted", "slurm-7.out"],
        capture_output=True, text=True, check=False, cwd=folder,
    )  # fmt: skip
    return done.returncode, done.stdout, done.stderr, (folder / "acted").exists()


def test_a_healthy_job_is_not_stopped_for_what_its_program_says(tmp_path: Path) -> None:
    said = "INFO Using network resnet50\nUsing network interface eth0\n"
    assert followed(said + HALF, tmp_path)[::3] == (3, False)
    assert followed(said + GOOD, tmp_path)[::3] == (0, False)


def test_a_verdict_without_proof_is_given_and_not_acted_on(tmp_path: Path) -> None:
    code, answer, err, acted = followed(PREFIX.sub("", FALLEN), tmp_path)
    assert (code, answer.partition(":")[0], acted) == (1, "degraded", False)
    assert err == "envcfg: note: --on-bad: not run: no certain line shows it\n"


def test_a_task_that_ended_ends_the_answer_and_stops_nothing(tmp_path: Path) -> None:
    """Another step of the job may run on."""
    ended = "srun: error: nid001: task 3: Exited with exit code 1\n"
    code, answer, err, acted = followed(ended + HALF, tmp_path)
    assert (code, answer.partition(":")[0], acted) == (1, "broken", False)
    assert err == (
        "envcfg: note: --on-bad: not run: its program ended, and no certain line shows "
        "that its network is bad\n"
    )
    assert followed(ended + FALLEN, tmp_path)[3]


def test_one_job_is_followed_and_no_other(tmp_path: Path) -> None:
    (tmp_path / "slurm-6.out").write_text(FALLEN)
    (tmp_path / "slurm-7.out").write_text(GOOD)
    done = subprocess.run(
        [sys.executable, "-m", "envcfg", "check-log", "--follow", "."],
        capture_output=True, text=True, check=False, cwd=tmp_path,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (2, "")
    assert "--follow follows one job, and these are of several: 6, 7" in done.stderr
