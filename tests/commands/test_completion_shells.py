"""Completion as users have it: real shells, which are typed at through a terminal."""

from __future__ import annotations

import os
import pty
import re
import select
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from support import envcfg, require

BIN = Path(sys.executable).parent
MARK = "typed"
# Beginnings, and what a TAB makes of them; the first is the line's, the rest its words.
LINES: dict[str, list[str]] = {
    "envcfg wra": ["envcfg", "wrap"],
    "envcfg check-l": ["envcfg", "check-log"],
    "envcfg wrap --no-insp": ["envcfg", "wrap", "--no-inspect"],
    "envcfg wrap --profile lum": ["envcfg", "wrap", "--profile", "lumi-g"],
    "envcfg wrap --profile own-c": ["envcfg", "wrap", "--profile", "own-cluster"],
    "envcfg wrap --profile=lum": ["envcfg", "wrap", "--profile=lumi-g"],
    "envcfg wrap --runtime app": ["envcfg", "wrap", "--runtime", "apptainer"],
    "envcfg wrap --launcher torc": ["envcfg", "wrap", "--launcher", "torchrun"],
    "envcfg job --profile lumi-g --partition standard-": ["envcfg", "job", "--profile", "lumi-g", "--partition", "standard-g"],
    "envcfg job --profile=lumi-g --partition=small-": ["envcfg", "job", "--profile=lumi-g", "--partition=small-g"],
    "envcfg explain socket-fallb": ["envcfg", "explain", "socket-fallback"],
    "envcfg explain NCCL_NET_GDR_L": ["envcfg", "explain", "NCCL_NET_GDR_LEVEL"],
    "envcfg lint --select EC101,dead-v": ["envcfg", "lint", "--select", "EC101,dead-variable"],
    "envcfg check-log slurm-4": ["envcfg", "check-log", "slurm-42.out"],
    "envcfg wrap --container my": ["envcfg", "wrap", "--container", "my image.sif"],
    "envcfg profiles sho": ["envcfg", "profiles", "show"],
    "envcfg profiles show mah": ["envcfg", "profiles", "show", "mahti"],
    "envcfg profiles new x --extends own-c": ["envcfg", "profiles", "new", "x", "--extends", "own-cluster"],
    "envcfg completion fis": ["envcfg", "completion", "fish"],
    # what stands on the line already is not run
    "envcfg wrap --set 'A=`touch pwned`' --profile lum": ["envcfg", "wrap", "--set", "A=`touch pwned`", "--profile", "lumi-g"],
    "envcfg wrap --set 'A=$(touch pwned)' --profile lum": ["envcfg", "wrap", "--set", "A=$(touch pwned)", "--profile", "lumi-g"],
}  # fmt: skip
BASH = ["bash", "--noprofile", "--norc", "-i"]
ZSH = ["zsh", "-f", "-i"]
ZSH_SET_UP = "PROMPT=; unset zle_bracketed_paste; autoload -Uz compinit; compinit -u -D"
# By its name: what starts a shell, and what it is told first.
SHELLS: dict[str, tuple[list[str], str]] = {
    "bash": (BASH, "PS1=; bind 'set enable-bracketed-paste off'; source script.bash"),
    "zsh": (ZSH, f"{ZSH_SET_UP}; source script.zsh"),
    "zsh-fpath": (ZSH, f"fpath=(~/zfunc $fpath); {ZSH_SET_UP}"),
    "tcsh": (["tcsh", "-f"], 'set prompt=""; source script.tcsh'),
}


class Typist:
    """A shell at a terminal of its own, wide enough for any line."""

    def __init__(self, argv: list[str], folder: Path, env: dict[str, str]) -> None:
        self.seen = ""
        self.pid, self.end = pty.fork()
        if self.pid == 0:
            os.chdir(folder)
            os.execvpe(argv[0], argv, env)

    def type(self, text: str) -> None:
        os.write(self.end, text.encode())

    def wait(self, pattern: str, seconds: float = 30) -> re.Match[str]:
        until = time.monotonic() + seconds
        while not (match := re.search(pattern, self.seen)):
            left = until - time.monotonic()
            if left <= 0 or not select.select([self.end], [], [], left)[0]:
                pytest.fail(f"no {pattern!r} in {self.seen!r}")
            self.seen += os.read(self.end, 65536).decode(errors="replace")
        return match

    def completed(self, line: str) -> list[str]:
        """Type *line* and a TAB, and let the shell say which words it has then."""
        self.seen = ""
        self.type(f"{line}\t")
        time.sleep(0.1)
        # ^A goes to the start of the line: what was completed becomes arguments.
        self.type(f"\x01{MARK} \r")
        found = self.wait(r"(?s)\[\[(.*?)\]\]\r?\n")[1]
        return [each.strip("\r\n") for each in found.split("\x1f")[:-1]]

    def close(self) -> None:
        os.close(self.end)
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with profiles of its own, some of them hostile, and the scripts."""
    folder = tmp_path_factory.mktemp("home")
    profiles = folder / ".config/envcfg/profiles"
    profiles.mkdir(parents=True)
    (profiles / "own-cluster.yaml").write_text("name: own-cluster\n")
    for name in ("$(touch pwned)", "`touch pwned`", "lum; touch pwned", "lum' x", 'lum"'):
        (profiles / f"{name}.yaml").write_text("name: x\n")
    for name in ("slurm-42.out", "my image.sif", "x.sif"):
        (folder / name).touch()
    program = folder / MARK
    program.write_text("#!/bin/sh\nprintf '[['\nprintf '%s\\037' \"$@\"\nprintf ']]\\n'\n")
    program.chmod(0o755)
    for shell in ("bash", "zsh", "fish", "tcsh"):
        (folder / f"script.{shell}").write_bytes(envcfg("completion", shell).out)
    (folder / "zfunc").mkdir()
    (folder / "zfunc/_envcfg").symlink_to("../script.zsh")
    return folder


def environment(home: Path) -> dict[str, str]:
    return {
        "PATH": f"{BIN}:{home}:{os.environ['PATH']}",
        "HOME": str(home),
        "TERM": "dumb",
        "COLUMNS": "300",
        "LC_ALL": "C.UTF-8",
    }


@pytest.fixture(scope="module", params=SHELLS)
def typist(request: pytest.FixtureRequest, home: Path) -> Iterator[Typist]:
    argv, set_up = SHELLS[request.param]
    require(argv[0])
    made = Typist(argv, home, environment(home))
    made.type(f"stty cols 400; {set_up}; {MARK} ready\r")
    made.wait(r"\[\[ready")
    yield made
    made.close()


@pytest.mark.parametrize("line", LINES)
def test_a_tab_completes_in_a_shell_at_a_terminal(
    typist: Typist, home: Path, line: str
) -> None:
    assert typist.completed(line) == LINES[line]
    assert not (home / "pwned").exists()
