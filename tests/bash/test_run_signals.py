"""Signals at the job's shell, in all its forms, and processes that are not ours.

Signals at random moments: tests/fuzz/test_signals.py.
"""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from envcfg.job.script.modules import render_module
from support import CACHED, LOCAL, Wrap, bash, require

# Says who it is and what it gets; WITH is the exit code that TERM, INT and HUP lead to.
PROGRAM = """
for name in HUP INT TERM; do trap "echo $RANK got $name; exit $WITH" "$name"; done
for name in USR1 USR2; do trap "echo $RANK got $name" "$name"; done
echo "ready $ENVCFG_CACHE"
while :; do sleep 0.05; done
"""
FORMS = {
    "sourced": "source ./command.sh",
    "evaluated": 'eval "$(cat command.sh)"',
    "a step": "source ./steps.sh; envcfg_run bash program",
}


@pytest.fixture
def scripts(wrap: Wrap, tmp_path: Path) -> Path:
    """A folder with the scripts of FORMS, of two ranks with caches."""
    options = (*CACHED, "--fact", "rocm=6.2", "--ranks", "2")
    (tmp_path / "program").write_text(PROGRAM)
    (tmp_path / "steps.sh").write_bytes(wrap(*options).out)
    (tmp_path / "command.sh").write_bytes(wrap(*options, "--", "bash", "program").out)
    return tmp_path


class Job:
    """A shell with a step whose two ranks are up; read what it says to its end."""

    def __init__(self, folder: Path, script: str, *, exits: int = 7) -> None:
        self.shell = subprocess.Popen(
            ["bash", "-c", script],
            cwd=folder,
            env={**os.environ, "WITH": str(exits)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            start_new_session=True,
            text=True,
        )
        assert self.shell.stdout
        lines = [self.shell.stdout.readline().split() for _ in range(2)]
        assert [line[0] for line in lines] == ["ready"] * 2
        self.lines: list[str] = []
        self.cache = Path(lines[0][1])
        assert self.cache.is_dir()

    def send(self, name: str) -> None:
        """Send a signal to the job's shell alone."""
        self.shell.send_signal(getattr(signal, f"SIG{name}"))

    def expect(self, count: int) -> None:
        """Wait for *count* lines, and keep them for ``end``."""
        assert self.shell.stdout
        self.lines += [self.shell.stdout.readline() for _ in range(count)]

    def end(self) -> list[str]:
        """Return its lines after "ready", in order of their letters."""
        try:
            out, _ = self.shell.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            os.killpg(self.shell.pid, signal.SIGKILL)
            raise
        return sorted("".join([*self.lines, out]).splitlines())


def both(name: str) -> list[str]:
    return [f"{rank} got {name}" for rank in (0, 1)]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", ["TERM", "HUP"])
def test_a_shell_that_sources_cleans_up_and_dies_of_its_signal(
    scripts: Path, form: str, name: str
) -> None:
    job = Job(scripts, f"{FORMS[form]}; echo goes on")
    job.send(name)
    # The first rank that ends has the other ended, which may still be at it.
    assert sorted({line for line in job.end() if line.endswith(name)}) == both(name)
    assert job.shell.returncode == -getattr(signal, f"SIG{name}")
    assert not job.cache.exists()


@pytest.mark.parametrize("form", FORMS)
def test_a_warning_goes_to_the_ranks_and_the_step_goes_on(
    scripts: Path, form: str
) -> None:
    job = Job(scripts, f'{FORMS[form]}; echo "goes on $? $(trap -p)"', exits=0)
    for name in ("USR1", "USR2", "USR1"):
        job.send(name)
        job.expect(2)
    job.send("INT")  # which this program takes well
    said = job.end()
    assert [line for line in said if "got" in line] == sorted(
        [*both("USR1"), *both("USR1"), *both("USR2"), *both("INT")]
    )
    assert said[-1].startswith("goes on 0")
    assert "envcfg_relay" not in said[-1]
    assert not job.cache.exists()


def test_a_shell_dies_of_an_interrupt_if_the_program_does(scripts: Path) -> None:
    job = Job(scripts, "source ./command.sh; echo goes on", exits=130)
    job.send("INT")
    assert job.end() == both("INT")
    assert job.shell.returncode == -signal.SIGINT
    assert not job.cache.exists()


@pytest.mark.parametrize("form", FORMS)
def test_a_trap_of_the_shell_s_own_is_its_own_business(
    scripts: Path, form: str
) -> None:
    traps = (
        "trap 'echo mine' USR1; trap '' HUP; trap 'echo never' TERM; trap -p >before"
    )
    job = Job(scripts, f"{traps}; {FORMS[form]}; trap -p | grep -v EXIT >after; exit 3")
    job.send("HUP")
    job.send("USR1")
    job.expect(1)
    job.send("INT")
    assert job.end() == [*both("INT"), "mine"]
    assert job.shell.returncode == 3
    assert (scripts / "after").read_text() == (scripts / "before").read_text()


def test_what_the_shell_ignores_its_ranks_ignore(wrap: Wrap, tmp_path: Path) -> None:
    show = "grep SigIgn /proc/self/status"
    (tmp_path / "w.sh").write_bytes(wrap(*LOCAL, "--", "sh", "-c", show).out)
    found = []
    for trap in ("trap '' HUP USR1", ":"):
        done = subprocess.run(
            ["bash", "-c", f"{trap}; source ./w.sh"],
            capture_output=True,
            check=True,
            cwd=tmp_path,
        )
        found.append(int(done.stdout.split()[1], 16))
    ignored = (1 << signal.SIGHUP - 1) | (1 << signal.SIGUSR1 - 1)
    assert found[0] & ~found[1] == ignored
    assert not found[1] & (1 << signal.SIGINT - 1)


def test_an_interrupt_at_a_terminal_comes_once(scripts: Path) -> None:
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(scripts)
        os.environ["WITH"] = "130"
        os.execvp("bash", ["bash", "-c", "source ./command.sh; echo goes on"])  # noqa: S606
    said = b""
    while said.count(b"ready") < 2:
        said += os.read(terminal, 4096)
    time.sleep(0.2)
    os.write(terminal, b"\x03")
    try:
        while more := os.read(terminal, 4096):
            said += more
    except OSError:
        pass  # so Linux says that the other side is closed
    os.close(terminal)
    _, status = os.waitpid(pid, 0)
    assert os.WIFSIGNALED(status)
    assert os.WTERMSIG(status) == signal.SIGINT
    assert [said.count(f"{rank} got INT".encode()) for rank in (0, 1)] == [1, 1]
    assert b"goes on" not in said


def test_a_shell_that_is_killed_takes_its_ranks_and_caches_along(
    scripts: Path,
) -> None:
    for form in FORMS.values():
        job = Job(scripts, form)
        job.shell.kill()
        job.shell.wait()
        job.end()  # the pipe is closed by the last of them
        deadline = time.monotonic() + 60
        while job.cache.exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        assert not job.cache.exists()


# A rank ends, and another process gets its number: in a namespace of its own, where the
# next number can be chosen.
REUSED = """
bash ./job.sh & job=$!
until [[ -s first ]]; do sleep 0.05; done
read -r pid <first
while kill -0 "$pid" 2>/dev/null; do :; done
PAUSE
for ((i = 0; i < 100; i++)); do
  echo "$((pid - 1))" >/proc/sys/kernel/ns_last_pid
  LEADS
  sleep 600 &
  set +m
  if [[ $! == "$pid" ]]; then break; fi
done
[[ $! == "$pid" ]] || exit 99
END
wait "$job"
echo "code $?"
kill -0 "$pid" && echo untouched
"""


@pytest.mark.parametrize("leads", ["", "set -m"], ids=["a process", "a leader"])
@pytest.mark.parametrize(
    ("first", "pause", "end", "code"),
    [
        ("exit 0", "sleep 1", 'kill -TERM "$job"', 143),
        ("exit 0", "", 'sleep 1; kill -TERM "$job"', 143),
        ("exit 3", "", "", 3),
    ],
    ids=["later", "at once", "at once after a failure"],
)
def test_a_process_with_the_number_of_a_rank_that_has_ended_is_left_alone(
    wrap: Wrap, tmp_path: Path, first: str, pause: str, end: str, code: int, leads: str
) -> None:
    require("unshare")
    program = f'if [ "$RANK" = 0 ]; then echo "$$" >first; {first}; fi; exec sleep 600'
    made = wrap(*LOCAL, "--ranks", "2", "--", "sh", "-c", program)
    (tmp_path / "job.sh").write_bytes(made.out)
    reused = REUSED.replace("PAUSE", pause).replace("END", end)
    user = () if os.geteuid() == 0 else ("--user", "--map-root-user")
    done = subprocess.run(
        ["unshare", *user, "--pid", "--fork", "--mount-proc", "bash", "-c",
         reused.replace("LEADS", leads)],
        cwd=tmp_path,
        capture_output=True,
        check=False,
        text=True,
        timeout=60,
    )  # fmt: skip
    assert done.stdout.splitlines() == [f"code {code}", "untouched"], done.stderr


# A bash whose book is wrong: it lists each child as running, for ever.
STALE = """
jobs() { printf '%s\\n' "${all[@]}"; }
envcfg_step_of() {
  local ENVCFG_IGNORED='' ENVCFG_APART='' ENVCFG_WATCH_PID='' ENVCFG_LED=() all=()
  envcfg_listen
  envcfg_tie
  ENVCFG_TELL=envcfg_reach
  for code in "$@"; do
    envcfg_spawn sh -c "exit $code"
  done
  all=("${ENVCFG_PIDS[@]}")
  envcfg_watch $#
}
envcfg_step_of 0 0; echo "code $?"
envcfg_step_of 0 3; echo "code $?"
"""


def test_a_rank_that_has_ended_is_not_waited_for_even_if_bash_lists_it() -> None:
    texts = [render_module(name) for name in ("signals", "local/step")]
    done = bash("\n".join([*texts, STALE]), timeout=30)
    assert done.stdout.split(b"\n") == [b"code 0", b"code 3", b""], done.stderr


# Become a bash that has a child whose end it was never told of.
UNTOLD = """
import os, sys
child = os.fork()
if child == 0:
    os._exit(0)
os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
os.execvp("bash", ["bash", "-c", sys.argv[1], "bash", str(child)])
"""


def test_an_end_that_bash_was_not_told_of_is_read() -> None:
    """With few descriptors, bash 5.2 missed one in 2,500 and the step never ended."""
    # No process may end before the first look: bash would then read all ends.
    text = f"""{render_module("signals")}
envcfg_is_child "$1" && echo "not read yet"
envcfg_is_child "$1" || echo read
"""
    done = subprocess.run(
        [sys.executable, "-c", UNTOLD, text], capture_output=True, check=False
    )
    assert done.stdout == b"not read yet\nread\n", done.stderr


# A stand-in for srun that ends on the first signal: at once, after 1 ms, or late. It reads by
# a clock: bash runs no trap for a signal that comes between its last look and a read without one.
ENDING_SRUN = """#!/bin/bash
for name in HUP INT TERM USR1 USR2; do
  trap "$DELAY exit $((128 + $(kill -l "$name")))" "$name"
done
exec 3<> <(:)
echo ready
until read -r -t 0.1 -u 3; do :; done
"""


@pytest.mark.parametrize(
    "delay", ["", "read -r -t 0.001 -u 3;", "read -r -t 0.2 -u 3;"]
)
@pytest.mark.parametrize("name", ["TERM", "HUP", "USR1"])
def test_a_signal_to_the_group_ends_a_step_whenever_srun_ends(
    wrap: Wrap, tmp_path: Path, delay: str, name: str
) -> None:
    """Bash lost the end of srun if the shell passed the signal on a second time."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/srun").write_text(ENDING_SRUN)
    (tmp_path / "bin/srun").chmod(0o755)
    options = (
        "--profile",
        "lumi-g",
        "--container",
        "none",
        "--no-modules",
        "--ranks",
        "1",
    )
    (tmp_path / "job.sh").write_bytes(wrap(*options, "--", "true").out)
    node = {"SLURM_JOB_ID": "7", "SLURM_NNODES": "1", "SLURMD_NODENAME": "node1"}
    path = f"{tmp_path}/bin:{os.environ['PATH']}"
    number = getattr(signal, f"SIG{name}")
    for _ in range(6):
        job = subprocess.Popen(
            ["bash", "job.sh"],
            cwd=tmp_path,
            env={**os.environ, **node, "PATH": path, "DELAY": delay},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,  # bash then has a second child, which reads srun's lines
            start_new_session=True,
        )
        assert job.stdout
        assert job.stdout.readline() == b"ready\n"
        os.killpg(job.pid, number)
        try:
            _, said = job.communicate(timeout=30)
        except subprocess.TimeoutExpired:
            os.killpg(job.pid, signal.SIGKILL)
            raise
        assert job.returncode in (128 + number, -number), said
        assert b"unexpected EOF" not in said
