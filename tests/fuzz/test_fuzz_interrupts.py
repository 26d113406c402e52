"""A signal at any moment: no traceback, the right code, and never a part of a script."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

import fuzzing
from asking import asking
from support import bash

pytestmark = pytest.mark.nightly

HELD = 6  # signals for each command and kind of signal
GUARDED = 14  # signals for each kind, from the start of Python on
SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]
LOCAL = ("--container", "none", "--launcher", "local")
COMMANDS = {
    "wrap": ["wrap", "--profile", "lumi-g", *LOCAL, "--", "echo", "step"],
    "sbatch": ["sbatch", *asking("lumi-g"), "--container", "none", "--", "true"],
    "check-log": ["check-log", "--json", "--profile", "lumi-g", "job.log"],
    "profiles list": ["profiles", "list"],
}
LINE = "nid001001:101:201 [0] NCCL INFO Bootstrap: Using hsn0:10.0.0.1<0>\n"


class Run(NamedTuple):
    """What a process left, and when it began to listen and ended, in seconds."""

    code: int
    out: bytes
    err: bytes
    listened: float
    ended: float


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "job.log").write_text(LINE * 5_000)
    return tmp_path


def _is_listening(pid: int) -> bool:
    """Tell whether the process has a handler for SIGUSR1, which Python alone has not."""
    with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as file:
        caught = next(line for line in file if line.startswith("SigCgt:"))
    return bool(int(caught.split()[1], 16) >> (signal.SIGUSR1 - 1) & 1)


def _run(command: str, number: int | None = None, delay: float = 0.0) -> Run:
    """Run *command*; send it a signal *delay* seconds after it began to listen."""
    began = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, "-m", "envcfg", *COMMANDS[command]],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    while not _is_listening(process.pid) and process.poll() is None:
        time.sleep(0.0005)
    listened = time.monotonic() - began
    if number is not None:
        time.sleep(delay)
        process.send_signal(number)  # does nothing to one that has ended
    out, err = process.communicate(timeout=60)
    return Run(process.returncode, out, err, listened, time.monotonic() - began)


@cache
def _alone(command: str) -> Run:
    """Return how *command* runs when nobody disturbs it; the slower of two."""
    return max((_run(command) for _ in range(2)), key=lambda run: run.ended)


def _says_nothing_odd(run: Run) -> bool:
    return b"Traceback" not in run.err and b"Exception ignored" not in run.err


@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.parametrize("command", COMMANDS)
def test_a_signal_ends_a_command_in_one_of_two_ways(
    command: str, number: signal.Signals
) -> None:
    chance, whole = fuzzing.chance(), _alone(command)
    length = whole.ended - whole.listened
    ends = {"interrupted": 0, "whole": 0}
    for _ in range(HELD * fuzzing.times):
        run = _run(command, number, chance.uniform(0, 1.1 * length))
        assert _says_nothing_odd(run), run
        if run.code == whole.code:
            ends["whole"] += 1
            assert run.out == whole.out
            continue
        ends["interrupted"] += 1
        assert run.code == 128 + number, run
        if command == "wrap":
            by = "" if number == signal.SIGINT else f" by signal {int(number)}"
            said = f"envcfg: interrupted{by}\n".encode()
            assert run.err.endswith(said)
            for way in (run.out, b"set +e\nsource /dev/stdin\necho goes on"):
                ended = bash(way, stdin=run.out)
                assert (ended.returncode, ended.stdout) == (128 + number, b""), run
                assert ended.stderr == said
        elif command == "sbatch":
            assert run.out == b""
    print(command, number.name, ends)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_a_job_with_a_guard_does_not_go_on_without_its_step(
    number: signal.Signals,
) -> None:
    """From the first moment on, that of Python's own start too."""
    chance, whole = fuzzing.chance(), _alone("wrap")
    words = " ".join(COMMANDS["wrap"])
    ends = {"ended": 0, "whole": 0}
    for _ in range(GUARDED * fuzzing.times):
        reader, writer = os.pipe()
        envcfg = f"exec {sys.executable} -m envcfg {words}"
        source = f"source <(bash -c 'echo $$ >&{writer}; {envcfg}' || echo exit $?)"
        job = subprocess.Popen(
            ["bash", "-c", f"{source}; echo goes on"],
            pass_fds=[writer],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        os.close(writer)
        with open(reader, encoding="ascii") as file:
            process = os.pidfd_open(int(file.readline()))
        # Half of them fall where Python starts.
        most = chance.choice([whole.listened, whole.ended])
        time.sleep(chance.uniform(0, 1.1 * most))
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(process, number)
        os.close(process)
        out, err = job.communicate(timeout=60)
        assert b"Traceback" not in err
        if b"goes on" in out:
            ends["whole"] += 1
            assert (job.returncode, out) == (0, b"step\ngoes on\n"), err
        else:
            ends["ended"] += 1
            assert job.returncode == 128 + number, err
            # Killed when the script was written already, the step has run before the end.
            assert out == b"" or (number, out) == (signal.SIGKILL, b"step\n"), err
    print(number.name, ends)
