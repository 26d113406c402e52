"""Local ranks leave nothing: not what they have started, not when their starter is killed.

Signals at random moments: tests/fuzz/test_signals.py.
"""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from support import LOCAL, Wrap, require, wait_until

# What a rank starts, which says that it runs by a file. The rank waits for it, or for ever.
CHILDREN = {
    "child": "sh ./waits child.$RANK; :",
    "deaf child": "sh -c \"trap '' TERM HUP INT; sh ./waits deaf.$RANK\" & wait; :",
    "grandchild": "sh -c 'sh ./waits grand.$RANK; :'; :",
    "orphan": "(sh ./waits orphan.$RANK &); sleep 600; :",
    "deaf orphan": "(trap '' TERM HUP INT; sh ./waits orphan.$RANK &); sleep 600; :",
}
WAITS = 'echo "$$" >"$1"; while :; do sleep 0.2; done'
FORMS = {
    "file": "exec bash ./command.sh",
    "sourced": "source ./command.sh",
    "strict": "set -euo pipefail; source ./command.sh",
    "step": "source ./steps.sh; envcfg_run true; envcfg_run bash ./program",
    "job control": "set -m; source ./command.sh",
    "in the background": "source ./steps.sh; envcfg_run bash ./program & wait",
}
# One whose ranks an agent starts in sessions of their own, as torchrun does.
AGENT = """#!/bin/bash
trap 'kill -TERM -- $workers' TERM
while [[ $1 != /bin/sh ]]; do shift; done
for RANK in 0 1; do
  RANK=$RANK LOCAL_RANK=$RANK WORLD_SIZE=2 GROUP_RANK=0 setsid "$@" &
  workers+=" -$!"
done
for _ in 1 2 3; do wait; done
"""
PROFILE = "name: agents\nlaunch: {launchers: [local, torchrun]}\n"
GRACE = "envcfg_grace_ms=10000"  # from TERM to KILL; a second will do here
SETTLES_SECONDS = 60  # on a loaded machine


def scripts(wrap: Wrap, folder: Path, program: str, *options: str) -> None:
    """Write the scripts of FORMS for *program*, a text for bash."""
    (folder / "program").write_text(program)
    (folder / "waits").write_text(WAITS)
    for name, words in {"command": ("--", "bash", "./program"), "steps": ()}.items():
        text = wrap(*LOCAL, *options, *words).text
        assert GRACE in text
        (folder / f"{name}.sh").write_text(text.replace(GRACE, "envcfg_grace_ms=1000"))


def start(folder: Path, script: str) -> subprocess.Popen[bytes]:
    """Start it with a mark in the environment of all that it starts."""
    return subprocess.Popen(
        ["bash", "-c", script],
        cwd=folder,
        env={**os.environ, "GROUPS_TEST": str(folder)},
        stdin=subprocess.DEVNULL,
        start_new_session=True,
    )


def running(folder: Path) -> list[str]:
    """Return the command lines of those that bear the mark of ``start``."""
    mark, found = f"GROUPS_TEST={folder}\0".encode(), []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            if mark in (path / "environ").read_bytes():
                found.append((path / "cmdline").read_bytes().replace(b"\0", b" "))
        except OSError:
            continue  # it has ended meanwhile
    return [words.decode() for words in found if words]


def left(folder: Path, besides: str = "nothing") -> list[str]:
    """Return what runs on after the time that a program has to end, but for what is named."""
    end = time.monotonic() + SETTLES_SECONDS
    while found := [words for words in running(folder) if besides not in words]:
        if time.monotonic() >= end:
            break
        time.sleep(0.05)
    return found


def ready(folder: Path, ranks: int) -> None:
    wait_until("ranks have started", lambda: len([*folder.glob("*.[0-9]*")]) == ranks)


@pytest.mark.parametrize(
    ("children", "sent"),
    [
        *((children, "TERM") for children in CHILDREN),
        *((children, "KILL") for children in CHILDREN),
        ("grandchild", "HUP"),
        ("orphan", "HUP"),
        ("grandchild", "INT"),
        ("orphan", "INT"),
    ],
)
def test_a_signal_to_the_script_ends_all_that_ranks_have_started(
    wrap: Wrap, tmp_path: Path, children: str, sent: str
) -> None:
    scripts(wrap, tmp_path, CHILDREN[children], "--ranks", "2")
    job = start(tmp_path, FORMS["file"])
    ready(tmp_path, 2)
    job.send_signal(getattr(signal, f"SIG{sent}"))
    job.wait(timeout=60)
    assert left(tmp_path) == []


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("sent", ["TERM", "KILL"])
def test_whatever_form_the_job_has_nothing_is_left(
    wrap: Wrap, tmp_path: Path, form: str, sent: str
) -> None:
    scripts(wrap, tmp_path, CHILDREN["orphan"], "--ranks", "2")
    job = start(tmp_path, FORMS[form])
    ready(tmp_path, 2)
    job.send_signal(getattr(signal, f"SIG{sent}"))
    job.wait(timeout=60)
    assert left(tmp_path) == []


@pytest.mark.parametrize("sent", ["TERM", "HUP", "KILL"])
def test_a_child_with_a_session_of_its_own_ends_with_its_rank(
    wrap: Wrap, tmp_path: Path, sent: str
) -> None:
    require("setsid")
    scripts(
        wrap, tmp_path, "setsid sh ./waits session.$RANK & sleep 600; :", "--ranks", "2"
    )
    job = start(tmp_path, FORMS["file"])
    ready(tmp_path, 2)
    job.send_signal(getattr(signal, f"SIG{sent}"))
    job.wait(timeout=60)
    assert left(tmp_path) == []


def test_nothing_is_left_where_a_subshell_of_the_job_is_killed_and_the_job_goes_on(
    wrap: Wrap, tmp_path: Path
) -> None:
    scripts(wrap, tmp_path, CHILDREN["orphan"], "--ranks", "2")
    step = "source ./steps.sh; envcfg_run bash ./program"
    job = start(tmp_path, f'({step}; :) & echo "$!" >shell; wait; exec -c sleep 600')
    ready(tmp_path, 2)
    os.kill(int((tmp_path / "shell").read_text()), signal.SIGKILL)
    assert left(tmp_path) == []
    job.kill()
    job.wait()


@pytest.mark.parametrize("sent", ["TERM", "KILL"])
def test_nothing_is_left_where_the_whole_group_of_the_script_is_signalled(
    wrap: Wrap, tmp_path: Path, sent: str
) -> None:
    scripts(wrap, tmp_path, CHILDREN["orphan"], "--ranks", "2")
    job = start(tmp_path, FORMS["file"])
    ready(tmp_path, 2)
    os.killpg(job.pid, getattr(signal, f"SIG{sent}"))
    job.wait(timeout=60)
    assert left(tmp_path) == []


def test_sixty_four_ranks_with_children_leave_nothing(
    wrap: Wrap, tmp_path: Path
) -> None:
    scripts(wrap, tmp_path, CHILDREN["orphan"], "--ranks", "64")
    job = start(tmp_path, FORMS["file"])
    ready(tmp_path, 64)
    job.kill()
    job.wait()
    assert left(tmp_path) == []


@pytest.mark.parametrize("sent", ["TERM", "KILL"])
def test_the_workers_of_an_agent_do_not_outlive_it(
    wrap: Wrap, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sent: str
) -> None:
    require("setsid")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/torchrun").write_text(AGENT)
    (tmp_path / "bin/torchrun").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")
    (tmp_path / "agents.yaml").write_text(PROFILE)
    options = ("--profile", f"{tmp_path}/agents.yaml", "--launcher", "torchrun")
    # Workers that do not end by TERM: at last agent and workers are killed.
    deaf = "trap '' TERM; sh ./waits deaf.$RANK; :"
    scripts(wrap, tmp_path, deaf, *options, "--ranks", "2")
    job = start(tmp_path, FORMS["file"])
    ready(tmp_path, 2)
    job.send_signal(getattr(signal, f"SIG{sent}"))
    if sent == "TERM":  # an agent may take its time, as any program
        time.sleep(1)
        job.kill()
    job.wait(timeout=60)
    assert left(tmp_path) == []


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("last", "code"), [("exit 0", 0), ("exit 3", 3)], ids=["well", "badly"]
)
@pytest.mark.parametrize("deaf", ["", "trap '' TERM; "], ids=["", "deaf"])
def test_what_a_rank_has_left_running_ends_with_the_step(
    wrap: Wrap, tmp_path: Path, last: str, code: int, deaf: str
) -> None:
    """As at the end of a step of Slurm."""
    program = f"({deaf}sh ./waits left.$RANK &)\n"
    program += f"until [ -s left.$RANK ]; do sleep 0.05; done; {last}"
    scripts(wrap, tmp_path, program, "--ranks", "2")
    job = start(tmp_path, f"source ./command.sh; echo $? >code; {FORMS['file']}")
    assert job.wait(timeout=60) == code
    assert (tmp_path / "code").read_text() == f"{code}\n"
    assert running(tmp_path) == []


def test_each_rank_has_a_group_and_a_signal_to_it_stays_there(
    wrap: Wrap, tmp_path: Path
) -> None:
    program = "trap 'echo heard >heard.$RANK; exit 0' USR1\n"
    program += (
        "[ $RANK = 1 ] && kill -USR1 0; touch on.$RANK; sleep 1 & wait $!; exit 0"
    )
    scripts(wrap, tmp_path, program, "--ranks", "3")
    job = start(tmp_path, FORMS["file"])
    assert job.wait(timeout=60) == 0
    assert [path.name for path in tmp_path.glob("heard.*")] == ["heard.1"]


def test_a_warning_goes_to_the_rank_and_not_to_its_children(
    wrap: Wrap, tmp_path: Path
) -> None:
    """A child that knows nothing of it would die of it."""
    program = "trap 'echo warned' USR1; sh -c 'echo >on.0; sleep 2' & child=$!\n"
    program += "until wait $child; do :; done; exit 0"
    scripts(wrap, tmp_path, program)
    job = start(tmp_path, FORMS["file"])
    ready(tmp_path, 1)
    job.send_signal(signal.SIGUSR1)
    assert job.wait(timeout=60) == 0


# At a terminal: what is typed, what is printed, and keys.
class Terminal:
    """A shell at a terminal of its own."""

    def __init__(self, folder: Path, *words: str) -> None:
        self.said = b""
        self.pid, self.file = pty.fork()
        if self.pid == 0:
            os.chdir(folder)
            os.environ.update({"GROUPS_TEST": str(folder), "PS1": "prompt> "})
            os.execvp(words[0], words)  # noqa: S606

    def until(self, text: str) -> None:
        """Read until *text* is there, since the last that was waited for."""
        end = time.monotonic() + 60
        while text.encode() not in self.said:
            assert time.monotonic() < end, self.said
            if select.select([self.file], [], [], 1)[0]:
                self.said += os.read(self.file, 4096)
        self.said = self.said.partition(text.encode())[2]

    @property
    def in_front(self) -> int:
        """The process group that has the terminal."""
        return os.tcgetpgrp(self.file)

    def type(self, text: str) -> None:
        os.write(self.file, text.encode())

    def continue_step(self) -> None:
        """Bring the stopped step to the front by ``fg``.

        The key that stopped it makes the kernel discard what is typed next to it: on a
        loaded machine that may be this ``fg``, which is then typed again. If it only came
        late, the step reads the second one, so its program skips such a line.
        """
        for _ in range(3):
            self.type("fg\n")
            end = time.monotonic() + 20
            while time.monotonic() < end:
                if self.in_front != self.pid:
                    return
                time.sleep(0.05)
        raise AssertionError(f"the step is not in front: {self.said!r}")

    def end(self) -> int:
        """Return how it ends."""
        try:
            while os.read(self.file, 4096):
                pass
        except OSError:
            pass  # so Linux says that the other side is closed
        os.close(self.file)
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


READS: Mapping[str, str] = {
    "input": "echo ask; read -r line; echo got $line",
    "the terminal itself": "exec 0</dev/null; echo ask; read -r line </dev/tty; echo got $line",
}


@pytest.mark.parametrize("reads", READS)
@pytest.mark.parametrize(
    ("form", "ranks"),
    [("file", "1"), ("sourced", "1"), ("job control", "1"), ("strict", "2")],
)
def test_a_program_at_a_terminal_reads_what_is_typed(
    wrap: Wrap, tmp_path: Path, reads: str, form: str, ranks: str
) -> None:
    program = f'if [ "$RANK" = 0 ]; then {READS[reads]}; fi'
    scripts(wrap, tmp_path, program, "--ranks", ranks)
    terminal = Terminal(tmp_path, "bash", "-c", FORMS[form])
    terminal.until("ask")
    terminal.type("this\n")
    terminal.until("got this")
    assert terminal.end() == 0
    assert running(tmp_path) == []


def test_the_keys_of_a_shell_work_on_a_step(wrap: Wrap, tmp_path: Path) -> None:
    """Stopped by a key and continued, it goes on to read; interrupted, it ends."""
    reads = 'line=fg; until [ "$line" != fg ]; do read -r line; done; echo got= $line'
    scripts(wrap, tmp_path, f"echo ask; {reads}; sleep 600; :")
    terminal = Terminal(tmp_path, "bash", "--norc", "--noediting", "-i")
    for script in ("bash ./command.sh", "source ./command.sh"):
        terminal.until("prompt> ")
        terminal.type(f"{script}\n")
        terminal.until("ask")
        terminal.type("\x1a")
        terminal.until("prompt> ")
        wait_until("the shell is in front", lambda: terminal.in_front == terminal.pid)
        terminal.continue_step()
        terminal.type("this\n")
        terminal.until("got= this")
        terminal.type("\x03")
    terminal.until("prompt> ")
    terminal.type("exit 5\n")
    assert terminal.end() == 5
    assert left(tmp_path) == []


@pytest.mark.parametrize(
    ("children", "sent"),
    [
        ("grandchild", "TERM"),
        ("orphan", "TERM"),
        ("deaf child", "HUP"),
        ("child", "KILL"),
        ("orphan", "KILL"),
    ],
)
def test_at_a_terminal_too_nothing_is_left(
    wrap: Wrap, tmp_path: Path, children: str, sent: str
) -> None:
    scripts(wrap, tmp_path, CHILDREN[children], "--ranks", "2")
    terminal = Terminal(tmp_path, "bash", "--norc", "--noediting", "-i")
    terminal.until("prompt> ")
    terminal.type("bash ./command.sh &\n")
    ready(tmp_path, 2)
    terminal.type(f"kill -{sent} $!; wait; echo 'do''ne'\n")
    terminal.until("done")
    assert left(tmp_path, besides="bash --norc") == []
    terminal.type("exit 5\n")
    assert terminal.end() == 5
