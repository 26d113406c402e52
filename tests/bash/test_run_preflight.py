"""Scripts that look at their nodes first: what runs, and what does not, by its exit code."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from support import LOCAL, Wrapped, bash, lint_shell

COMMAND = ("--", "echo", "program runs")


@pytest.fixture
def made(
    wrap: Callable[..., Wrapped], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Wrapped:
    """A script with a preflight, and a folder of programs on PATH."""
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:/usr/bin:/bin")
    return wrap(
        *(*LOCAL, "--preflight", "--require", "fast", "--ranks", "2"),
        *("--set", "A=it's $$5", "--nccl-debug", *COMMAND),
    )


def stand_in(folder: Path, body: str) -> None:
    path = folder / "bin/envcfg"
    path.write_text(f"#!/bin/bash\n{body}\n")
    path.chmod(0o755)


def test_it_is_called_with_the_options_of_the_step(
    made: Wrapped, tmp_path: Path
) -> None:
    assert lint_shell(made.out, "bash") == ""
    stand_in(tmp_path, 'printf "%s\\n" "$@" >words')
    done = bash(f"set -euo pipefail\n{made.text}")
    assert done.returncode == 0, done.stderr
    assert done.stdout == b"program runs\nprogram runs\n"
    words = (tmp_path / "words").read_text().splitlines()
    assert words[:3] == ["preflight", "--no-default", "all"]
    assert words[words.index("--profile") + 1] == "workstation"
    assert "--nccl-debug" not in words
    assert "--preflight" not in words
    assert "--set=A=it's $$5" in words
    assert words[words.index("--ranks") + 1] == "2"
    assert words[words.index("--require") + 1] == "fast"


@pytest.mark.parametrize(("code", "runs"), [(0, True), (3, True), (1, False), (2, False), (4, False)])  # fmt: skip
def test_the_program_runs_where_nothing_is_known_to_be_bad(
    made: Wrapped, tmp_path: Path, code: int, runs: bool
) -> None:
    stand_in(tmp_path, f"echo table; exit {code}")
    done = bash(f"set -euo pipefail\n{made.text}")
    assert done.returncode == (0 if runs else code)
    assert done.stderr.startswith(b"table\n")
    assert b"table" not in done.stdout  # which is the program's
    assert (b"program runs" in done.stdout) is runs
    if not runs:
        assert f"ended with code {code}, and no rank".encode() in done.stderr


def test_where_there_is_no_envcfg_the_program_does_not_run(made: Wrapped) -> None:
    done = bash(f"set -u\n{made.text}")
    assert (done.returncode, done.stdout) == (4, b"")
    assert b"--preflight needs envcfg on" in done.stderr


def test_a_signal_ends_the_preflight_and_the_step(
    made: Wrapped, tmp_path: Path
) -> None:
    stand_in(tmp_path, "touch began; trap 'touch ended; exit 143' TERM; while :; do sleep 0.1; done")  # fmt: skip
    (tmp_path / "job.sh").write_bytes(made.out)
    job = subprocess.Popen(
        ["bash", "job.sh"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    while not (tmp_path / "began").exists():
        time.sleep(0.02)
    os.kill(job.pid, signal.SIGTERM)
    out, _ = job.communicate(timeout=20)
    assert (job.returncode, out) == (143, b"")
    assert (tmp_path / "ended").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--require", "fast", *COMMAND), "--require goes with --preflight"),
        (("--preflight",), "--preflight goes with a command"),
        (("--preflight", "--require", "slow", *COMMAND), "slow"),
    ],
)
def test_what_does_not_go_together_is_said(
    wrap: Callable[..., Wrapped], words: tuple[str, ...], said: str
) -> None:
    done = wrap(*LOCAL, *words)
    assert (done.code, said in done.err) == (2, True), done.err


def test_the_launcher_that_a_command_names_is_the_preflight_s(
    wrap: Callable[..., Wrapped],
) -> None:
    done = wrap(
        *("--profile", "lumi-g", "--container", "none", "--preflight"),
        *("--", "torchrun", "--nproc-per-node", "8", "train.py"),
    )
    assert " --launcher torchrun --ranks 8\n" in done.text


def test_what_the_job_s_shell_has_not_exported_is_seen_as_the_ranks_see_it(
    wrap: Callable[..., Wrapped], made: Wrapped, tmp_path: Path
) -> None:
    assert made.code == 0
    made = wrap(
        *("--profile", "lumi-g", "--container", "none", "--launcher", "local"),
        *("--preflight", "--set", "MPICH_X=${NAMED}", "--", "true"),
    )
    stand_in(tmp_path, 'echo "$NCCL_SOCKET_IFNAME $NAMED" >seen')
    mine = "NCCL_SOCKET_IFNAME=nmn0\nNAMED='a b'\n"
    done = bash(f"set -euo pipefail\n{mine}{made.text}")
    assert (done.returncode, done.stdout) == (0, b""), done.stderr
    assert (tmp_path / "seen").read_text() == "nmn0 a b\n"
