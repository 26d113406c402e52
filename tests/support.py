"""Helpers of the tests: run envcfg as users do, run what it makes."""

from __future__ import annotations

import hashlib
import io
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from envcfg.cli import main
from envcfg.job.script.module_choice import render_lists
from envcfg.job.script.modules import module, render_module

ROOT = Path(__file__).parent.parent
# Slurm's number of the fake job. No other run on this machine, and no other worker of this
# run, has the same number, so the folders in /tmp with this number belong to this process.
JOB = str(10_000 + os.getpid())
# Options that run here: without, and with node-local caches.
LOCAL = ("--profile", "workstation", "--container", "none")
CACHED = ("--profile", "lumi-g", "--launcher", "local", "--container", "none")


@dataclass(frozen=True)
class Wrapped:
    """What a run of envcfg gave."""

    code: int
    out: bytes
    err: str

    @property
    def text(self) -> str:
        return self.out.decode("utf-8", "surrogateescape")


Wrap = Callable[..., Wrapped]


def wrap_text(*arguments: str | bytes) -> Wrapped:
    """Run ``envcfg wrap`` with *arguments*, as ``envcfg`` does."""
    return envcfg("wrap", *arguments)


def envcfg(*arguments: str | bytes, stdin: bytes = b"") -> Wrapped:
    """Run envcfg in this process, with streams of its own: a process takes 140 ms.

    All notes on a job are printed, unless ENVCFG_VERBOSE is set otherwise.
    """
    streams = {
        name: io.TextIOWrapper(io.BytesIO(data), "utf-8", newline="")
        for name, data in (("stdin", stdin), ("stdout", b""), ("stderr", b""))
    }
    streams["stderr"].reconfigure(write_through=True)
    with pytest.MonkeyPatch.context() as patch:
        for name, stream in streams.items():
            patch.setattr(sys, name, stream)
        patch.setenv("ENVCFG_VERBOSE", os.environ.get("ENVCFG_VERBOSE", "1"))
        code = main([os.fsdecode(each) for each in arguments])
    out, err = (streams[name].buffer.getvalue() for name in ("stdout", "stderr"))  # type: ignore[attr-defined]
    return Wrapped(code, out, err.decode(errors="replace"))


def process(*arguments: str | bytes) -> Wrapped:
    """Run envcfg in a process of its own, where that is what is looked at."""
    done = subprocess.run(
        [sys.executable, "-m", "envcfg", *arguments],
        capture_output=True,
        check=False,
        # Without what libraries put there, as readline does COLUMNS.
        env={"ENVCFG_VERBOSE": "1", **os.environ},
        timeout=60,
    )
    return Wrapped(done.returncode, done.stdout, done.stderr.decode(errors="replace"))


def bash(
    script: str | bytes, *, stdin: bytes = b"", timeout: float = 60, **env: str
) -> subprocess.CompletedProcess[bytes]:
    """Run *script* by ``bash -c``, with *env* on top of this process's environment."""
    return subprocess.run(
        ["bash", "-c", script],
        capture_output=True,
        check=False,
        env={**os.environ, **env},
        input=stdin,
        timeout=timeout,
    )


def zero_separated(path: Path) -> list[bytes]:
    """Return the entries of a file that ends each by a NUL."""
    return path.read_bytes().split(b"\0")[:-1] if path.exists() else []


def environment(path: Path) -> dict[bytes, bytes]:
    """Return what a rank's program found in its environment, as dump.py wrote it."""
    pairs = (entry.partition(b"=") for entry in zero_separated(path))
    return {name: value for name, _, value in pairs}


def require(*programs: str) -> None:
    """Skip if a program is absent; in CI no test may be skipped (conftest.py)."""
    for program in programs:
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed; scripts/test installs it as root")


def require_root() -> None:
    """Skip if files cannot be given to others; in CI no test may be skipped."""
    if os.geteuid() != 0:
        pytest.skip("only root can give files to others")


# What is right of a part of a script: others use what it sets, and set what it uses; data
# stand in quotes.
ACROSS = ("SC1003", "SC2016", "SC2030", "SC2031", "SC2034", "SC2153", "SC2154")


def lint_shell(text: bytes, dialect: str, *, exclude: Sequence[str] = ()) -> str:
    """Return what shellcheck and shfmt have against *text*; empty if nothing.

    What these versions of them had nothing against is known from then on: a script takes a
    second, and most are as they were.
    """
    require("shellcheck", "shfmt")
    options = [f"--exclude={','.join(exclude)}"] if exclude else []
    checks = [
        ["shellcheck", f"--shell={dialect}", *options, "-"],
        ["shfmt", *"-i 2 -ci -bn -d".split(), f"-ln={_LANGUAGES[dialect]}"],
    ]
    digest = hashlib.sha256(repr((_versions(), checks, text)).encode()).hexdigest()
    known = ROOT / ".pytest_cache/clean" / digest
    if known.exists():
        return ""
    done = [
        subprocess.run(
            check,
            check=False,
            input=text,
            stderr=subprocess.STDOUT,
            stdout=subprocess.PIPE,
        )
        for check in checks
    ]
    if all(each.returncode == 0 and not each.stdout for each in done):
        known.parent.mkdir(parents=True, exist_ok=True)
        known.touch()
    return b"".join(each.stdout for each in done).decode()


_LANGUAGES = {"bash": "bash", "sh": "posix"}


@cache
def _versions() -> list[bytes]:
    return [
        subprocess.run([each, "--version"], capture_output=True, check=True).stdout
        for each in ("shellcheck", "shfmt")
    ]


def lint_script(text: str) -> str:
    """Return what shellcheck and shfmt have against a script of ``wrap`` or ``sbatch``.

    Its modules are the same in many scripts: what stands around them is looked at by itself,
    and each list of modules once.
    """
    modules, job = [], text
    for name in re.findall(r"^# --- (\S+) \d+ \(sha256 \w+\): ", text, re.M):
        modules.append(render_module(name))
        assert f"\n{modules[-1]}" in job
        job = job.replace(f"\n{modules[-1]}", "")
    assert modules
    together = "#!/usr/bin/env bash\n" + "\n".join(modules)
    return lint_shell(job.encode(), "bash", exclude=ACROSS) + lint_shell(
        together.encode(), "bash", exclude=ACROSS
    )


def whole(part: str) -> str:
    """Return the script of which ``--print job`` has shown this *part*."""
    head, _, rest = part.partition("\n\n")
    job, _, rest = rest.partition("\n# modules: ")
    listed, _, last = rest.partition("\n")
    names = listed.split(", ")
    guard, begin, *modules = (render_module(name) for name in names)
    lists = render_lists(names)
    return "\n".join([f"{head}\n", f"{job}", guard, begin, lists, *modules, last])


def rank_part(*names: str) -> str:
    """Return what modules add to the rank part, as POSIX shell."""
    texts = "".join(f"{module(name).text}\n" for name in names)
    found = re.findall(r"<<'ENVCFG_TEXT'[^\n]*\n(.*?)^ENVCFG_TEXT$", texts, re.S | re.M)
    return "".join(found)


def function_of(name: str, function: str) -> str:
    """Return a function of a module, of its bash or of its rank part."""
    text = module(name).text
    return f"{function}() {{{text.partition(f'{function}() {{')[2].partition(chr(10) + '}' + chr(10))[0]}\n}}\n"


def wait_until(what: str, holds: Callable[[], object]) -> None:
    """Wait until *holds* is true, for as long as a busy machine may need."""
    end = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < end, f"not within a minute: {what}"
        time.sleep(0.05)
