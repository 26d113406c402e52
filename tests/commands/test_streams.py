"""A program may call ``cli.main`` with anything in the place of stdout and stderr."""

from __future__ import annotations

import io
from collections.abc import Callable
from contextlib import closing, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import TextIO

import pytest

from envcfg import cli
from support import LOCAL

SCRIPT = "#!/bin/bash\n#SBATCH -N2\nexport NCCL_DEBUG=INFO\nsrun python train.py $X\n"
LOG = "n1:1:1 [0] NCCL INFO NET/Plugin: Failed to find ncclCollNetPlugin symbol.\n"
COMMANDS = {
    "wrap": ("wrap", *LOCAL, "--", "true"),
    "wrap -o -": ("wrap", *LOCAL, "-o", "-", "--", "true"),
    "wrap that fails": ("wrap", "--profile", "nobody", "--", "true"),
    "wrap --print plan": ("wrap", *LOCAL, "--print", "plan", "--", "true"),
    "wrap --json": ("wrap", *LOCAL, "--json", "--", "true"),
    "wrap --from": ("wrap", "--profile", "lumi-g", "--from", "job.sh"),
    "job": ("job", "--profile", "lumi-g", "--container", "none", "--account", "a",
            "--time", "10", "--", "true"),
    "lint": ("lint", "job.sh"),
    "lint --format": ("lint", "--format", "json", "job.sh"),
    "lint --diff": ("lint", "--diff", "job.sh"),
    "check-log": ("check-log", "log"),
    "check-log --json": ("check-log", "--json", "log"),
    "check-log --html": ("check-log", "--html", "-", "log"),
    "explain": ("explain", "NCCL_DEBUG"),
    "inspect": ("inspect", "image"),
    "profiles list": ("profiles", "list"),
    "profiles show": ("profiles", "show", "lumi-g"),
    "profiles new": ("profiles", "new", "x", "--blank", "--extends", "base", "-o", "-"),
    "completion": ("completion", "bash"),
    "--version": ("--version",),
    "--help": ("--help",),
}  # fmt: skip
STREAMS: dict[str, Callable[[], TextIO]] = {
    "text": io.StringIO,
    "bytes": lambda: io.TextIOWrapper(io.BytesIO(), "utf-8"),
    "file": lambda: open("stream", "w+", encoding="utf-8"),  # noqa: SIM115
}


def said_to(stream: TextIO) -> str:
    stream.seek(0)
    return stream.read()


@pytest.mark.parametrize("stream", STREAMS)
@pytest.mark.parametrize("command", COMMANDS)
def test_what_is_printed_goes_where_the_caller_wants_it(
    command: str,
    stream: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "job.sh").write_text(SCRIPT)
    (tmp_path / "log").write_text(LOG)
    (tmp_path / "image/etc").mkdir(parents=True)
    words = COMMANDS[command]
    wanted = cli.main(words)
    by_process = capfd.readouterr()
    err = io.StringIO()
    with closing(STREAMS[stream]()) as out:
        with redirect_stdout(out), redirect_stderr(err):
            code = cli.main(words)
        assert (code, said_to(out)) == (wanted, by_process.out), err.getvalue()
    assert err.getvalue() == by_process.err
    assert capfd.readouterr() == ("", "")
