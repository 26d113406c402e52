"""Jobs that share one folder of ``--keep-caches``, killed at any moment, on full disks.

``pytest --fuzz 84`` runs a thousand jobs. A full disk is a limit on the size of a file: it
fails a write in the middle of an archive, as a quota does, and needs no root. With
``--basetemp`` on a small tmpfs, the disk itself is filled up and cleared, too.
"""

from __future__ import annotations

import hashlib
import io
import os
import re
import shutil
import signal
import subprocess
import tarfile
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import NamedTuple

import pytest

import fuzzing
from support import Wrap, require

pytestmark = [pytest.mark.usefixtures("fakes"), pytest.mark.nightly]
JOBS = 12
AT_ONCE = 6
LONGEST = 300  # seconds of one job, on a machine that has other work, too
SMALL = 64 << 20  # bytes of a disk that is filled up
_KEPT = r"compile caches kept in \S+ in \d+ s: inductor"
# Each entry ends with the same word. Numba's index names the job that its data are of.
PROGRAM = (
    'cd "$ENVCFG_CACHE"; mkdir -p inductor/ab numba; '
    '{ head -c 600 /dev/urandom; echo whole; } >"inductor/ab/$JOB"; '
    'echo "$JOB whole" >numba/index; echo "$JOB whole" >"numba/data"; sleep 0.1'
)


class Job(NamedTuple):
    """A running job; it is killed by *signal* at the time *end*, if there is one."""

    name: str
    process: subprocess.Popen[str]
    begin: float
    end: float | None
    signal: int


class Manifest(NamedTuple):
    """The line of a manifest."""

    archive: str
    digest: str
    files: int
    size: int
    date: str


@pytest.fixture
def disk() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        yield Path(folder)


@pytest.fixture
def script(wrap: Wrap, tmp_path: Path, disk: Path) -> Path:
    (tmp_path / "p.yaml").write_text(
        "name: p\nlaunch: {launchers: [local]}\ncontainer: {runtimes: [apptainer]}\n"
        f"scratch: {{root: {disk}, why: for tests, source: none, date: 2026-01-01}}\n"
    )
    (tmp_path / "venv/lib/python3.11/site-packages/torch-2.7.dist-info").mkdir(
        parents=True
    )
    words = ("--profile", "./p.yaml", "--launcher", "local", "--no-inspect")
    kept = ("--container", "none", "--keep-caches", str(tmp_path / "kept"))
    made = wrap(*words, *kept, "--", "sh", "-c", PROGRAM)
    assert made.code == 0, made.err
    path = disk / "job.sh"
    path.write_text(made.text)
    return path


def _start(script: Path, venv: Path, name: str, chance: Random) -> Job:
    limit = ""
    if chance.random() < 0.25:  # in KiB; the signal at this limit would be a kill
        limit = f"trap '' XFSZ; ulimit -f {chance.randint(1, 6)}; "
    process = subprocess.Popen(
        ["bash", "-c", f"{limit}. {script}"],
        env={**os.environ, "VIRTUAL_ENV": str(venv), "PYTHONPATH": "", "JOB": name},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    is_killed = chance.random() < 0.5
    end = time.monotonic() + chance.expovariate(1.2) if is_killed else None
    return Job(
        name,
        process,
        time.monotonic(),
        end,
        chance.choice([signal.SIGTERM, signal.SIGKILL]),
    )


def _manifests(kept: Path) -> dict[Path, Manifest]:
    manifests = {}
    for path in kept.glob("*/*.manifest"):
        archive, digest, files, size, date = path.read_text().split()
        manifests[path] = Manifest(archive, digest, int(files), int(size), date)
    return manifests


def _is_not_older(before: dict[Path, Manifest], after: dict[Path, Manifest]) -> bool:
    return all(
        path in after
        and after[path].files >= manifest.files
        and after[path].date >= manifest.date
        for path, manifest in before.items()
    )


def _pass_ten_minutes(kept: Path) -> None:
    """Make locks of killed jobs as old as they are for jobs ten minutes later."""
    for lock in kept.glob("*/lock"):
        with suppress(OSError):
            words = (lock / "owner").read_text().split()
            if words and not Path(f"/proc/{words[1]}").exists():
                os.utime(lock, (1, 1))


def _entries(path: Path, manifest: Manifest) -> dict[str, bytes]:
    """Return the entries of an archive, which must be as its manifest says."""
    data = path.with_name(manifest.archive).read_bytes()
    assert hashlib.sha256(data).hexdigest() == manifest.digest
    if manifest.archive.endswith(".zst"):
        command = ["zstd", "-dcq"]
        data = subprocess.run(command, input=data, capture_output=True, check=True)
        data = data.stdout
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        members = [member for member in archive if member.isfile()]
        files = {member.name: archive.extractfile(member) for member in members}
        entries = {name: file.read() for name, file in files.items() if file}
    assert len(entries) == manifest.files
    assert all(entry.endswith(b"whole\n") for entry in entries.values())
    return entries


def test_whatever_ends_jobs_every_archive_opens_and_none_is_older(
    script: Path, tmp_path: Path
) -> None:
    require("zstd")
    chance, kept = fuzzing.chance(), tmp_path / "kept"
    total, started = JOBS * fuzzing.times, 0
    before: dict[Path, Manifest] = {}
    running: list[Job] = []
    is_small = shutil.disk_usage(tmp_path).total < SMALL
    codes: dict[int, int] = {}
    stored: set[str] = set()
    while started < total or running:
        if len(running) < AT_ONCE and started < total:
            started += 1
            running.append(_start(script, tmp_path / "venv", f"j{started}", chance))
        time.sleep(0.02)
        if is_small and chance.random() < 0.02:
            (tmp_path / "filler").unlink(missing_ok=True)
        elif is_small and chance.random() < 0.02:
            with (tmp_path / "filler").open("wb") as file:
                subprocess.run(["cat", "/dev/zero"], stdout=file, check=False)
        _pass_ten_minutes(kept)
        after = _manifests(kept)
        assert _is_not_older(before, after)
        before = after
        for job in list(running):
            code = job.process.poll()
            if code is not None:
                running.remove(job)
                codes[code] = codes.get(code, 0) + 1
                notes = job.process.communicate()[1]
                assert code == 0 or job.end is not None, notes
                # A job that fails leaves out its last seconds, and one whose own part
                # could not be written merges those of others.
                is_stored = code == 0 and "envcfg: note: cannot " not in notes
                if is_stored and re.search(_KEPT, notes):
                    stored.add(job.name)
            elif job.end is not None and time.monotonic() > job.end:
                os.killpg(job.process.pid, job.signal)
                running[running.index(job)] = job._replace(end=float("inf"))
            assert time.monotonic() < job.begin + LONGEST, f"{job} does not end"
    print(started, "jobs, exit codes", codes, "stored", len(stored))
    manifests = _manifests(kept)
    assert len(manifests) == 2
    for path, manifest in manifests.items():
        entries = _entries(path, manifest)
        print(path.name, manifest.files, "files")
        if path.name == "numba.manifest":
            assert entries["./index"] == entries["./data"]
        else:
            assert stored <= {Path(name).name for name in entries}
