"""No line of a report is wider than the terminal, except words that stay whole."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from envcfg.common.characters import fold, text_width
from support import ROOT, envcfg

LOG = str(ROOT / "examples" / "slow-job.out")
SCRIPT = str(ROOT / "examples" / "old-job.sh")
STEP = ("--profile", "lumi-g", "--container", "none", "--ranks", "16")
JOB = (*STEP, "-N2", "--account", "project_465000001", "--time", "4:00")
REPORTS = {
    "check-log": ("check-log", LOG),
    "check-log of several jobs": ("check-log", "two"),
    "jobs": ("jobs", "two"),
    "jobs by cause": ("jobs", "--by", "cause", "two"),
    "jobs by node": ("jobs", "--by", "node", "two"),
    "lint": ("lint", "--profile", "lumi-g", SCRIPT),
    "explain a rule": ("explain", "socket-fallback"),
    "explain a variable": ("explain", "NCCL_NET_GDR_LEVEL"),
    "explain words": ("explain", "timeout"),
    "explain everything": ("explain",),
    "doctor": ("doctor",),
    "wrap": ("wrap", *STEP, "--verbose", "-o", "w.sh", "--", "python", "train.py"),
    "plan": ("wrap", *STEP, "--print", "plan", "--", "python", "train.py"),
    "job": ("job", *JOB, "--verbose", "-o", "j.sh", "--", "python", "train.py"),
    "job that is refused": ("job", *JOB, "-G", "9", "--", "python", "train.py"),
    "submit": ("submit", "train.py", "--dry-run"),
    "preflight": ("preflight", *STEP, "--nodes-only"),
    "inspect": ("inspect", "no.sif"),
    "profiles list": ("profiles", "list"),
    "profiles show": ("profiles", "show", "lumi-g"),
    "profiles detect": ("profiles", "detect"),
    "a wrong option": ("job", *JOB, "--ntasks-per-node", "8"),
}


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text("print(1)\n")
    (tmp_path / "two").mkdir()
    text = Path(LOG).read_text()
    for number in (11, 12):
        name = f"a-long-name-of-a-job-{'x' * 90}-{number}.out"
        (tmp_path / "two" / name).write_text(text)
    died = "ValueError: " + "the shard of the data set is not what it was " * 5
    trace = f'Traceback (most recent call last):\n  File "t.py", line 3\n{died}\n'
    (tmp_path / "two" / "slurm-13.out").write_text(trace)


@pytest.mark.parametrize("width", [60, 80, 120])
@pytest.mark.parametrize("name", REPORTS)
def test_only_words_that_stay_whole_are_wider_than_the_terminal(
    name: str, width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    text_width.cache_clear()
    done = envcfg(*REPORTS[name])
    text_width.cache_clear()
    assert done.text or done.err
    text = "" if done.text.startswith("#!") else done.text
    for line in (text + done.err).splitlines():
        # A line of one word, or of one command to copy, is as long as that.
        assert len(line) <= width or len(fold(line.strip(), 1)) == 1, line


def test_a_pipe_gets_each_message_as_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    text_width.cache_clear()
    err = envcfg(*REPORTS["job"]).err
    assert "hint: if it starts the ranks of its node itself: " in err
    assert all(re.match(r"envcfg: |  hint: ", line) for line in err.splitlines())


def test_a_command_to_copy_stays_on_one_line() -> None:
    command = "envcfg submit --container IMAGE -N 2 -- python train.py --lr 1"
    lines = fold(f"  hint: as a program of ranks: {command}", 40)
    assert lines == ["  hint: as a program of ranks:", f"    {command}"]
