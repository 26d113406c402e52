"""Completion as users have it: real shells, which are typed at through a terminal."""

from __future__ import annotations

import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from envcfg.cli import build_parser
from envcfg.commands.completion.completion_script import (
    MEANT,
    SHELLS_FOLDER,
    taking_values,
)
from envcfg.commands.completion.completion_values import KINDS, values
from suites import mark_sample
from support import envcfg, lint_shell, require

BIN = Path(sys.executable).parent
MARK = "typed"
# Beginnings, and what a TAB makes of them; the first is the line's, the rest its words.
LINES: dict[str, list[str]] = {
    "envcfg wra": ["envcfg", "wrap"],
    "envcfg check-l": ["envcfg", "check-log"],
    "envcfg wrap --no-insp": ["envcfg", "wrap", "--no-inspect"],
    "envcfg wrap --profile lum": ["envcfg", "wrap", "--profile", "lumi-g"],
    "envcfg wrap --profile own-c": ["envcfg", "wrap", "--profile", "own-cluster"],
    "envcfg wrap --profile builtin:lum": ["envcfg", "wrap", "--profile", "builtin:lumi-g"],
    "envcfg wrap --profile user:own-c": ["envcfg", "wrap", "--profile", "user:own-cluster"],
    "envcfg wrap --profile=builtin:lum": ["envcfg", "wrap", "--profile=builtin:lumi-g"],
    "envcfg job --profile builtin:lumi-g --partition standard-": ["envcfg", "job", "--profile", "builtin:lumi-g", "--partition", "standard-g"],
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
    "envcfg job --profile lumi-g -p small-": ["envcfg", "job", "--profile", "lumi-g", "-p", "small-g"],
    "envcfg wrap --container x.sif -- cat my": ["envcfg", "wrap", "--container", "x.sif", "--", "cat", "my image.sif"],
    "envcfg completion zs": ["envcfg", "completion", "zsh"],
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
}


class Typist:
    """A shell at a terminal of its own, wide enough for any line."""

    def __init__(self, argv: list[str], folder: Path, env: dict[str, str]) -> None:
        self.seen = ""
        self.pid, self.end = pty.fork()
        if self.pid == 0:
            os.chdir(folder)
            os.execvpe(argv[0], argv, env)  # noqa: S606  # by its own name, on PATH

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
    for name in (
        "$(touch pwned)",
        "`touch pwned`",
        "lum; touch pwned",
        "lum' x",
        'lum"',
    ):
        (profiles / f"{name}.yaml").write_text("name: x\n")
    for name in ("slurm-42.out", "my image.sif", "x.sif"):
        (folder / name).touch()
    program = folder / MARK
    program.write_text(
        "#!/bin/sh\nprintf '[['\nprintf '%s\\037' \"$@\"\nprintf ']]\\n'\n"
    )
    program.chmod(0o755)
    for shell in ("bash", "zsh"):
        (folder / f"script.{shell}").write_bytes(envcfg("completion", shell).out)
    (folder / "zfunc").mkdir()
    (folder / "zfunc/_envcfg").symlink_to("../script.zsh")
    return folder


def environment(home: Path) -> dict[str, str]:
    return {
        "PATH": f"{BIN}:{home}:{os.environ['PATH']}",
        "HOME": str(home),
        "TERM": "vt100",
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


@pytest.mark.parametrize("line", mark_sample(LINES, every=3))
def test_a_tab_completes_in_a_shell_at_a_terminal(
    typist: Typist, home: Path, line: str
) -> None:
    assert typist.completed(line) == LINES[line]
    assert not (home / "pwned").exists()


HOSTILE = ["lum$(touch pwned)", "lum`touch pwned`", "lum;touch pwned", "lum'", 'lum"']


@pytest.fixture
def liar(tmp_path: Path, home: Path) -> str:
    """A PATH on which envcfg says what would break out, were it evaluated."""
    for each in home.iterdir():
        if each.is_file():
            (tmp_path / each.name).write_bytes(each.read_bytes())
    (tmp_path / "said").write_text("".join(f"{each}\n" for each in HOSTILE))
    (tmp_path / "envcfg").write_text(f"#!/bin/sh\ncat {tmp_path}/said\n")
    for name in ("envcfg", MARK):
        (tmp_path / name).chmod(0o755)
    return f"{tmp_path}:{os.environ['PATH']}"


@pytest.mark.parametrize("shell", SHELLS)
def test_what_is_offered_is_never_run(shell: str, liar: str, tmp_path: Path) -> None:
    argv, set_up = SHELLS[shell]
    require(argv[0])
    env = {**environment(tmp_path), "PATH": liar}
    typist = Typist(argv, tmp_path, env)
    typist.type(f"stty cols 400; {set_up}; {MARK} ready\r")
    typist.wait(r"\[\[ready")
    typist.type("envcfg wrap --profile lum\t\t\t")
    time.sleep(1)
    typist.close()
    assert not (tmp_path / "pwned").exists()


def test_the_script_of_bash_is_clean() -> None:
    own = SHELLS_FOLDER / "completion.bash"
    assert lint_shell(own.read_bytes(), "bash") == ""


# Values


def offered(kind: str, *words: str) -> list[str]:
    done = envcfg("completion", "--values", kind, "--", *words)
    assert (done.code, done.err) == (0, "")
    return done.text.split()


def test_values_are_those_that_the_word_may_become(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.delenv("ENVCFG_PROFILE", raising=False)
    assert offered("profiles", "wrap", "--profile", "lumi") == ["lumi-g"]
    assert offered("profiles", "wrap", "--profile=lumi") == ["lumi-g"]
    assert "mahti" in offered("profiles", "profiles", "show", "")
    named = ("job", "--profile", "mahti", "--partition", "gpu")
    assert offered("partitions", *named)[:2] == ["gpumedium", "gpusmall"]
    assert offered("rules", "lint", "--select", "EC101,EC41")[0].startswith(
        "EC101,EC41"
    )
    assert offered("subjects", "explain", "NCCL_NET_GDR_L") == ["NCCL_NET_GDR_LEVEL"]
    monkeypatch.setenv("ENVCFG_PROFILE", "mahti")
    assert "gputest" in offered("partitions", "job", "--partition", "")


def test_what_the_files_of_others_are_called_is_offered_if_it_is_plain(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    named = ["a b", "$(id)", "`id`", "a;b", "-x", "a\nb", "é", "plain-1.2", "*"]
    monkeypatch.setitem(KINDS, "profiles", lambda _: named)
    assert list(values("profiles", [""])) == ["plain-1.2"]


def test_every_value_of_an_option_says_what_it_is() -> None:
    # A new metavar is either completed, or said to be a text that nobody can guess.
    unknown = {
        str(action.metavar)
        for action in taking_values(build_parser())
        if action.choices is None and action.metavar not in MEANT
    }
    assert unknown <= {"KIND"}


def test_no_shell_given_is_said_with_those_that_there_are() -> None:
    done = envcfg("completion")
    assert done.code == 2
    assert "envcfg completion bash|zsh" in done.err
    assert "did you mean 'zsh'?" in envcfg("completion", "zhs").err


def test_names_of_profiles_are_asked_for_without_reading_one() -> None:
    code = (
        "import sys, envcfg.cli\n"
        "envcfg.cli.main(['completion', '--values', 'profiles', '--', ''])\n"
        "print(*sys.modules, file=sys.stderr)"
    )
    argv = [sys.executable, "-c", code]
    done = subprocess.run(argv, capture_output=True, check=True, text=True)
    assert "lumi-g" in done.stdout
    heavy = {
        "yaml",
        "shtab",
        "json",
        "subprocess",
        "envcfg.profile.detect",
        "envcfg.lint",
    }
    assert not heavy & set(done.stderr.split())
