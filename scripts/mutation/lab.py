"""A copy of the tree with an environment of its own, in which tests run changed code.

The working tree is never written to: whoever is killed half-way leaves a folder among
the temporary ones behind, nothing else.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import sysconfig
import time
import venv
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock
from typing import NamedTuple

from scripts.mutation.places import Place, change

_HERE = Path(__file__).parent
# What a started program must not take from here: it would find the tree unchanged.
_NOT_PASSED_ON = ("PYTEST_", "PYTHON", "ENVCFG_", "HYPOTHESIS_")
_OPTIONS = (
    *("-q", "-p", "no:cacheprovider", "-p", "scripts.mutation.plugin"),
    "--hypothesis-profile=ci",  # the same each time, however busy the machine is
)


class Project(NamedTuple):
    """What is changed and what looks at it; all paths are below *root*.

    Attributes:
        root: the top of a git checkout.
        package: the folder that Python imports.
        folders: what is changed of it.
        edges: modules in there that are not.
        tests: the folder of tests.
        left_out: tests that need too much, and what no other test looks at.
    """

    root: Path
    package: str
    folders: tuple[str, ...]
    edges: frozenset[str] = frozenset()
    tests: str = "tests"
    left_out: tuple[str, ...] = ()


class Ran(NamedTuple):
    """What a test took: seconds, and the functions called, as ``path:line``."""

    seconds: float
    calls: tuple[str, ...]


class Outcome(NamedTuple):
    """What came of a run.

    Attributes:
        code: pytest's; negative for a signal.
        before: functions called before the first test.
        tests: those that ran, by name.
        failed: names of tests and files, the first first.
        said: what pytest wrote.
    """

    code: int
    before: tuple[str, ...]
    tests: dict[str, Ran]
    failed: tuple[str, ...]
    said: str

    @property
    def is_green(self) -> bool:
        """Nothing failed; nothing to run (5) is no failure."""
        return self.code in {0, 5} and not self.failed


class Lab:
    """One copy; runs one pytest at a time."""

    def __init__(self, project: Project, folder: Path, number: int) -> None:
        """Make the copy *number* in *folder*, which must not be there yet."""
        self._folder = folder
        self._tree = folder / "tree"
        self._number = number
        self._written = 0
        self._lock = Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._is_over = False
        for name in list_files(project.root):
            copy = self._tree / name
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(project.root / name, copy, follow_symlinks=False)
        _make_environment(folder, project.package)

    @contextmanager
    def changed(self, source: bytes, place: Place) -> Iterator[None]:
        """Have the module of *place* changed meanwhile."""
        self._write(place.path, change(source, place))
        try:
            yield
        finally:
            self._write(place.path, source)

    def run(
        self,
        files: Sequence[str],
        *,
        order: Sequence[str] | None = None,
        limits: Mapping[str, float] | None = None,
        timeout: float | None = None,
        ends_early: bool = False,
        is_traced: bool = False,
    ) -> Outcome:
        """Run tests of *files*.

        Args:
            files: below the root of the tree.
            order: the names of the tests to run; all by default.
            limits: seconds by name, after which a test has failed.
            timeout: seconds, after which all has.
            ends_early: end at the first failure.
            is_traced: note which functions each test calls.
        """
        calls, result = self._folder / "calls", self._folder / "result.json"
        shutil.rmtree(calls, ignore_errors=True)
        result.unlink(missing_ok=True)
        if is_traced:
            calls.mkdir()
        plan = {"order": order, "limits": dict(limits or {})}
        (self._folder / "plan.json").write_text(json.dumps(plan))
        code, said = self._pytest(
            [*_OPTIONS, *(["-x"] if ends_early else []), *files], timeout
        )
        try:
            found = json.loads(result.read_text())
        except (OSError, ValueError):  # pytest did not come to its end
            return Outcome(code or -1, (), {}, (), said)
        tests = {
            name: Ran(seconds, tuple(called))
            for name, (seconds, called) in found["tests"].items()
        }
        failed = tuple(dict.fromkeys(found["failed"]))
        return Outcome(code, tuple(found["before"]), tests, failed, said)

    def stop(self) -> None:
        """End what runs, and all that would still begin; for another thread."""
        self._is_over = True
        with self._lock:
            if self._process is not None:
                _kill(self._process)

    def _write(self, path: str, text: bytes) -> None:
        """Write a source, each time with another time, which compiled files go by."""
        file = self._tree / path
        file.write_bytes(text)
        self._written += 1
        os.utime(file, (self._written, 10**9 + self._written))

    def _pytest(
        self, arguments: Sequence[str], timeout: float | None
    ) -> tuple[int, str]:
        written = self._folder / "said.txt"
        with written.open("w") as said, self._lock:
            if self._is_over:
                return -signal.SIGTERM, ""
            process = subprocess.Popen(
                [
                    self._folder / "venv/bin/python",
                    *("-m", "pytest", f"--basetemp={self._folder / 'tmp'}"),
                    *arguments,
                ],
                cwd=self._tree,
                env=self._environment(),
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            self._process = process
        in_time = _await_end(process, timeout)
        with self._lock:
            _kill(process)
            process.wait()
            self._process = None
        self._kill_left()
        if not in_time:
            return -signal.SIGKILL, f"took more than {timeout:.0f} s"
        return process.returncode, written.read_text(errors="replace")

    def _kill_left(self) -> None:
        """Kill what tests left running in sessions of their own."""
        mark = f"MUTATION_LAB={self._folder}\0".encode()
        for name in filter(str.isdecimal, os.listdir("/proc")):
            with suppress(OSError):  # gone by now, or somebody else's
                process = os.pidfd_open(int(name))
                try:
                    if mark in Path(f"/proc/{name}/environ").read_bytes():
                        signal.pidfd_send_signal(process, signal.SIGKILL)
                finally:
                    os.close(process)

    def _environment(self) -> dict[str, str]:
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(_NOT_PASSED_ON)
        }
        return kept | {
            "MUTATION_LAB": str(self._folder),
            "PATH": f"{self._folder / 'venv/bin'}:{os.environ.get('PATH', os.defpath)}",
            "VIRTUAL_ENV": str(self._folder / "venv"),
            # Folders outside of the copy bear the worker's number.
            "PYTEST_XDIST_WORKER": f"gw{self._number}",
        }


def list_files(root: Path) -> list[str]:
    """Return the files below *root* that git has or would take, sorted."""
    done = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=root,
        check=True,
        capture_output=True,
        text=True,
    )
    names = sorted(set(done.stdout.split("\0")) - {""})
    return [name for name in names if os.path.lexists(root / name)]


def _make_environment(folder: Path, package: str) -> None:
    """Make an environment that has all of ours, but *package* of the copy."""
    venv.create(folder / "venv", symlinks=True)
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    modules = folder / "venv/lib" / version / "site-packages"
    shutil.copytree(_HERE, modules / "scripts/mutation")
    ours = dict.fromkeys(sysconfig.get_path(name) for name in ("purelib", "platlib"))
    begin = f"witness.watch({str(folder)!r}, {package!r})"
    lines = [
        str(folder / "tree"),
        *ours,
        f"import scripts.mutation.witness as witness; {begin}",
    ]
    (modules / "lab.pth").write_text("\n".join(lines) + "\n")
    _take_programs(Path(sysconfig.get_path("scripts")), folder / "venv/bin")


def _take_programs(ours: Path, theirs: Path) -> None:
    """Have our environment's programs there too; those in Python run by that Python.

    A test that ran ours, which are on PATH or not, would look at the tree unchanged.
    """
    python = f"{ours}/python".encode()
    for program in ours.iterdir():
        copy = theirs / program.name
        if not program.is_file() or copy.exists():
            continue
        text = program.read_bytes()
        if text.startswith(b"#!") and python in text:
            copy.write_bytes(text.replace(python, f"{theirs}/python".encode()))
            shutil.copymode(program, copy)
        else:
            copy.symlink_to(program)


def _await_end(process: subprocess.Popen[bytes], timeout: float | None) -> bool:
    """Tell whether *process* ends in time; its number stays its own until wait."""
    latest = time.monotonic() + (timeout or float("inf"))
    how = os.WEXITED | os.WNOWAIT | os.WNOHANG
    while os.waitid(os.P_PID, process.pid, how) is None:
        if time.monotonic() > latest:
            return False
        time.sleep(0.02)
    return True


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill a process that has not been waited for, and its group, which it leads."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
