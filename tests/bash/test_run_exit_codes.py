"""The exit code of a step: that of the rank that failed first, under every starter."""

from __future__ import annotations

import os
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from support import Wrap, bash

SLURM = ("--profile", "lumi-g", "--container", "none", "--no-modules")
OWN = "envcfg: note: exit code {} is that of {}, and may be of a rank that was ended"
ENDED = "srun: error: nid1: tasks 0-1,3: Terminated\n"
FAILED = "srun: error: nid1: task 2: Exited with exit code 7\n"
TERMINATING = "srun: launch/slurm: _step_signal: Terminating StepId=7.0\n"

pytestmark = pytest.mark.usefixtures("fakes")

Start = Callable[..., "subprocess.CompletedProcess[bytes]"]


@pytest.fixture
def srun(tmp_path: Path, wrap: Wrap) -> Start:
    """Return what runs a step whose srun is the given bash."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (tmp_path / "job.sh").write_bytes(wrap(*SLURM, "--", "true").out)

    def start(text: str, *, command: str = "source ./job.sh") -> object:
        removes = "if [[ $1 == --overlap ]]; then exit; fi"  # the caches
        (folder / "srun").write_text(f"#!/bin/bash\n{removes}\n{text}\n")
        (folder / "srun").chmod(0o755)
        path = f"{folder}:{os.environ['PATH']}"
        return bash(f"cd {tmp_path}; {command}", PATH=path, SLURM_NNODES="2")

    return start  # type: ignore[return-value]


def tells(lines: str, code: int) -> str:
    return f"cat >&2 <<'E'\n{lines}E\nexit {code}"


@pytest.mark.parametrize(
    ("told", "code", "expected"),
    [
        ("Exited with exit code 1", 143, 1),
        ("Exited with exit code 7", 143, 7),
        ("Exited with exit code 255", 255, 255),
        ("Segmentation fault", 143, 139),
        ("Segmentation fault (core dumped)", 143, 139),
        ("Aborted", 143, 134),
        ("Bus error", 143, 135),
        ("Killed", 143, 137),
        ("Terminated", 143, 143),
        ("User defined signal 2", 143, 140),
        ("CPU time limit exceeded", 152, 152),
        ("Real-time signal 6", 168, 168),
        ("Out Of Memory", 1, 137),
    ],
)
def test_the_first_task_that_srun_names_gives_the_code(
    srun: Start, told: str, code: int, expected: int
) -> None:
    for host, tasks in (("nid001001", "task 2"), ("nid[01-02]", "tasks [2,4-5]")):
        lines = f"srun: error: {host}: {tasks}: {told}\n{TERMINATING}{ENDED}"
        done = srun(tells(lines, code))
        assert done.returncode == expected, done.stderr.decode()
        assert done.stderr.decode().endswith(lines)


@pytest.mark.parametrize(
    ("lines", "is_ended"),
    [
        ("", False),
        (f"srun: error: nid1: task 3: What is this?\n{ENDED}", False),
        ("bash: line 1: srun: error: nid1: task 3: Exited with exit code 3\n", False),
        ("srun: error: Unable to create step for job 7: More processors requested\n", False),
        (f"srun: Job step aborted: Waiting up to 32 seconds.\n{ENDED}", True),
        (f"srun: error: Node failure on nid2\n{ENDED}", True),
        (f"srun: error: Task launch for StepId=7.0 failed on node nid2: x\n{ENDED}", True),
        (f"srun: forcing job termination\n{ENDED}", True),
    ],
)  # fmt: skip
def test_where_srun_names_none_the_code_is_its_own_and_a_note_says_so(
    srun: Start, lines: str, is_ended: bool
) -> None:
    done = srun(tells(lines, 143))
    assert done.returncode == 143
    told = done.stderr.decode()
    assert lines in told
    own = "envcfg: note: exit code 143 is that of srun, and the step was ended before"
    note = own if is_ended else OWN.format(143, "srun")
    assert told.splitlines()[-1].startswith(note)


def test_a_step_that_succeeds_has_0_and_no_note(srun: Start) -> None:
    done = srun(tells("srun: warning: x\n", 0))
    assert done.returncode == 0
    assert done.stderr.decode().endswith("srun: warning: x\n")


def test_what_srun_leaves_running_holds_up_nothing(srun: Start) -> None:
    done = srun(
        f"sleep 600 >/dev/null & echo $! >left\nprintf '{FAILED}no end' >&2; exit 143",
        command='source ./job.sh 2>>err || echo "$?" >>err; kill $(<left); cat err',
    )
    assert done.stdout.decode().endswith(f"\n{FAILED}no end7\n")


@pytest.mark.nightly
def test_a_reader_that_is_gone_or_stopped_leaves_srun_s_code(srun: Start) -> None:
    for name in ("KILL", "STOP"):
        # It is the shell next to srun with the same parent.
        done = srun(
            f"for pid in $(pgrep -P $PPID); do [[ $pid == $$ ]] || kill -{name} $pid; done\n"
            + tells(FAILED, 143)
        )
        assert done.returncode == 143
        assert OWN.format(143, "srun") in done.stderr.decode()


PROGRAM = """
[[ $RANK == 0 ]] && exit 0
if [[ $RANK == 1 ]]; then
  printf 'srun: error: node1: task 0: Exited with exit code 9\\n' >&2
  exit 7
fi
kill -TERM $$
"""


@pytest.mark.parametrize(
    ("redirection", "expected"),
    [
        ("", 7),
        ("2>/dev/null", 7),
        ("2>&1 | cat; exit ${PIPESTATUS[0]}", 7),
        ("2> >(cat)", 7),
        ("2>>err", 7),
        (">>out 2>&1", 7),
        (">>out 2>>out", 7),
        # read again afterwards: what a rank says there cannot be told from srun
        ("2>err", 9),
        (">out 2>&1", 9),
        ("2>&-", 7),
    ],
)
@pytest.mark.parametrize("before", ["", "set -euo pipefail; "])
def test_wherever_stderr_goes(
    wrap: Wrap, tmp_path: Path, redirection: str, expected: int, before: str
) -> None:
    (tmp_path / "steps.sh").write_bytes(wrap(*SLURM).out)
    (tmp_path / "program").write_text(PROGRAM)
    for name in ("err", "out"):  # of a step before
        (tmp_path / name).write_text(
            "srun: error: x: task 0: Exited with exit code 5\n"
        )
    done = bash(
        f"cd {tmp_path}; {before}source ./steps.sh; envcfg_run bash program {redirection}",
        FAKE_TASKS="3",
    )
    assert done.returncode == expected, done.stderr


def test_a_socket_cannot_be_opened_again_and_a_note_says_so(wrap: Wrap) -> None:
    script = wrap(*SLURM, "--", "bash", "-c", PROGRAM).out
    ours, theirs = socket.socketpair()
    with ours, theirs:
        done = subprocess.run(
            ["bash", "-c", script],
            stderr=theirs,
            env={**os.environ, "FAKE_TASKS": "3"},
            check=False,
        )
        told = ours.recv(1 << 16).decode()
    assert done.returncode == 143
    assert told.splitlines()[-1].startswith(OWN.format(143, "srun"))


@pytest.mark.parametrize(
    ("option", "is_given"),
    [
        ("--output=x.log", False), ("-e", False), ("-ox.log", False), ("-lo", False),
        ("--pty", False), ("--overcommit", True), ("--open-mode=append", True), ("-l", True),
    ],
)  # fmt: skip
def test_the_user_s_own_files_stay_theirs(
    wrap: Wrap, srun: Start, tmp_path: Path, option: str, is_given: bool
) -> None:
    (tmp_path / "job.sh").write_bytes(
        wrap(*SLURM, f"--srun-arg={option}", "--", "true").out
    )
    done = srun('printf "%s\\n" "$@" >words')
    assert done.returncode == 0, done.stderr
    words = (tmp_path / "words").read_text().split()
    assert any(word.startswith("--error=/dev/fd/") for word in words) == is_given


def test_what_ranks_write_passes_at_once_and_as_it_is(
    wrap: Wrap, tmp_path: Path
) -> None:
    said = bytes(range(256)) * 3 + b"\r 50 %"  # no newline at the end
    (tmp_path / "said").write_bytes(said)
    (tmp_path / "job.sh").write_bytes(
        wrap(
            *SLURM,
            "--",
            "sh",
            "-c",
            "cat said >&2; echo on; until [ -e go ]; do sleep 0.1; done",
        ).out
    )
    for redirection in ("", " 2> >(cat >&2)", " 2>err"):
        with subprocess.Popen(
            ["bash", "-c", f"source ./job.sh{redirection}"],
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        ) as step:
            assert step.stdout is not None
            assert step.stderr is not None
            assert step.stdout.readline() == b"on\n"
            if redirection == " 2>err":
                told = (tmp_path / "err").read_bytes()
            else:
                told = b""
                while not told.endswith(said):
                    told += os.read(step.stderr.fileno(), 1 << 16)
            assert told.endswith(said)
            assert step.poll() is None
            (tmp_path / "go").touch()
            assert step.wait(60) == 0
            (tmp_path / "go").unlink()
