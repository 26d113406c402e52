"""Copies on the disks of nodes: made before any rank starts, used by all, gone afterwards."""

from __future__ import annotations

import os
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from support import Wrap, Wrapped, bash, zero_separated

pytestmark = pytest.mark.usefixtures("fakes")
Step = Callable[..., subprocess.CompletedProcess[bytes]]
_SHOW = """tool=$(command -v tool) && read -r line <"$tool"
echo "$VIRTUAL_ENV|$line|$tool"; tool "$@"
"""


@pytest.fixture
def disk() -> Iterator[Path]:
    """The disk of the node, by a short path: the first line of a script has 127 bytes."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        yield Path(folder)


@pytest.fixture
def made(wrap: Wrap, tmp_path: Path, disk: Path) -> Callable[..., Wrapped]:
    """What makes a step on a system of one's own."""

    def make(*words: str, scratch: str = "", launcher: str = "srun") -> Wrapped:
        reason = "why: for tests, source: none, date: 2026-01-01"
        scratch = scratch or f"root: {disk}, {reason}"
        (tmp_path / "p.yaml").write_text(
            f"name: p\nlaunch: {{launchers: [srun, local]}}\nscratch: {{{scratch}}}\n"
        )
        return wrap("--profile", "./p.yaml", "--launcher", launcher, *words)

    return make


@pytest.fixture
def run(made: Callable[..., Wrapped]) -> Step:
    """Run such a step."""

    def step(
        options: Sequence[str],
        command: Sequence[str],
        *,
        launcher: str = "srun",
        **env: str,
    ) -> subprocess.CompletedProcess[bytes]:
        got = made(*options, "--no-inspect", "--", *command, launcher=launcher)
        assert got.code == 0, got.err
        return bash(f"set -euo pipefail\n{got.text}", **env)

    return step


@pytest.fixture
def image(tmp_path: Path) -> Path:
    path = tmp_path / "the image.sif"
    path.write_bytes(b"image" * 1000)
    return path


@pytest.fixture
def environment(tmp_path: Path) -> Path:
    """A virtual environment, with a program that shows its words and its own folder."""
    folder = tmp_path / "venv"
    (folder / "bin").mkdir(parents=True)
    (folder / "pyvenv.cfg").write_text("home = /usr/bin\n")
    (folder / "bin/sh").symlink_to("/bin/sh")
    tool = folder / "bin/tool"
    tool.write_text(f'#!{folder}/bin/sh\nprintf "%s\\n" "$0" "$@"\n')
    tool.chmod(0o755)
    return folder


def test_the_image_is_copied_by_sbcast_entered_there_and_removed(
    run: Step, image: Path, disk: Path, fakes: Path
) -> None:
    words = ["a b", "*", "$HOME", "", "--", "ü\n"]
    options = ("--container", str(image), "--stage", "image")
    done = run(
        options, ["sh", "-c", 'printf "%s\\0" "$@"; ls -A "$0"', str(disk), *words]
    )
    assert done.returncode == 0, done.stderr.decode()
    said = done.stdout.split(b"\0")
    assert said[:-1] == [os.fsencode(each) for each in words]
    assert b"-staged-" in said[-1]
    option, source, copy = zero_separated(fakes / "sbcast")
    assert (option, source) == (b"-pf", os.fsencode(image))
    assert copy.startswith(os.fsencode(disk))
    assert copy in zero_separated(fakes / "runtime")
    assert os.fsencode(image) not in zero_separated(fakes / "runtime")
    assert b"staged: image" in done.stderr
    assert not list(disk.iterdir())


def test_the_size_of_each_original_is_asked_once_and_is_its_own(
    run: Step, image: Path, environment: Path, tmp_path: Path
) -> None:
    archive = tmp_path / "env.tar"
    with tarfile.open(archive, "w") as packed:
        packed.add(environment, ".")
    (tmp_path / "bin").mkdir()
    stat = tmp_path / "bin/stat"
    stat.write_text(
        f'#!/bin/sh\necho "$*" >>{tmp_path}/asked\nexec {shutil.which("stat")} "$@"\n'
    )
    stat.chmod(0o755)
    options = (
        "--container",
        str(image),
        "--stage",
        "image",
        "--stage",
        f"env={archive}",
    )
    path = f"{stat.parent}:{os.environ['PATH']}"
    done = run(options, ["true"], PATH=path)
    assert b"has " not in done.stderr, done.stderr.decode()
    assert b"staged: image" in done.stderr
    asked = (tmp_path / "asked").read_text().splitlines()
    assert sum(each == f"-L -c %s -- {image}" for each in asked) == 1


@pytest.mark.parametrize("way", ["fails", "cuts"])
def test_no_rank_starts_where_sbcast_fails_or_leaves_a_part(
    run: Step, image: Path, disk: Path, way: str
) -> None:
    options = ("--container", str(image), "--stage", "image")
    done = run(options, ["echo", "started"], FAKE_SBCAST=way)
    assert (done.returncode, done.stdout) == (4, b"")
    assert b"no rank was started" in done.stderr
    assert (
        b"did not copy" if way == "fails" else b"has 3 of 5000 bytes"
    ) in done.stderr
    assert not list(disk.iterdir())


def test_a_disk_that_nodes_share_is_refused(run: Step, image: Path, disk: Path) -> None:
    options = ("--container", str(image), "--stage", "image")
    done = run(options, ["echo", "started"], SLURM_NNODES="2", FAKE_NODES="2")
    assert (done.returncode, done.stdout) == (4, b"")
    assert b"one folder of all nodes?" in done.stderr
    assert not list(disk.iterdir())


def test_a_disk_in_memory_is_refused(made: Callable[..., Wrapped], image: Path) -> None:
    if not os.access("/dev/shm", os.W_OK):
        pytest.skip("there is no /dev/shm")
    reason = "why: for tests, source: none, date: 2026-01-01"
    options = ("--container", str(image), "--stage", "image", "--no-inspect")
    got = made(*options, "--", "echo", "started", scratch=f"root: /dev/shm, {reason}")
    done = bash(got.text)
    assert (done.returncode, done.stdout) == (4, b"")
    assert b"/dev/shm is in memory" in done.stderr


def test_a_job_without_the_disk_that_it_must_ask_for_is_refused(
    made: Callable[..., Wrapped], image: Path, disk: Path
) -> None:
    scratch = (
        f"root: /tmp, in_memory: true, disk: {disk}/none, disk_request: {{--constraint: nvme}}, "
        "why: for tests, source: none, date: 2026-01-01"
    )
    options = ("--container", str(image), "--stage", "image", "--no-inspect")
    got = made(*options, "--", "echo", "started", scratch=scratch)
    done = bash(got.text)
    assert (done.returncode, done.stdout) == (4, b"")
    assert b"ask for the disk: --constraint=nvme" in done.stderr
    got = made(*options, "--", "echo", "started", scratch=scratch.replace("/none", ""))
    assert bash(got.text).stdout == b"started\n"


@pytest.mark.parametrize("launcher", ["srun", "local"])
@pytest.mark.parametrize("form", ["folder", "archive", "active"])
def test_the_environment_comes_first_on_the_path_of_ranks(
    run: Step, environment: Path, tmp_path: Path, disk: Path, launcher: str, form: str
) -> None:
    what = {
        "folder": f"env={environment}",
        "archive": "env=packed.tar.gz",
        "active": "env",
    }
    with tarfile.open(tmp_path / "packed.tar.gz", "w:gz") as archive:
        archive.add(environment, ".")
    options = ("--container", "none", "--stage", what[form], "--ranks", "1")
    words = ["a b", "$x", ""]
    env = {"VIRTUAL_ENV": str(environment)} if form == "active" else {"VIRTUAL_ENV": ""}
    done = run(options, ["sh", "-c", _SHOW, "sh", *words], launcher=launcher, **env)
    assert done.returncode == 0, done.stderr.decode()
    first, tool, *rest = done.stdout.decode().split("\n")
    active, line, found = first.split("|")
    assert active.startswith(str(disk))
    origin = environment if form == "archive" else active
    assert line == f"#!{origin}/bin/sh"
    assert found == tool == f"{active}/bin/tool"
    assert rest == [*words, ""]
    assert b"staged: environment" in done.stderr
    assert (b"saved: its" in done.stderr) == (form != "archive" and launcher == "srun")
    assert not list(disk.iterdir())


@pytest.mark.parametrize(
    ("what", "command", "said"),
    [
        ("env=nowhere", "tool", b"nowhere does not exist"),
        ("env=.", "tool", b"has no folder bin"),
        ("env=p.yaml", "tool", b"is it an archive that tar reads?"),
        ("env=venv", "venv", b"name it without its folder: tool"),
        ("env", "tool", b"no environment is active"),
    ],
)
def test_what_is_no_environment_starts_no_rank(
    run: Step, environment: Path, disk: Path, what: str, command: str, said: bytes
) -> None:
    word = str(environment / "bin/tool") if command == "venv" else command
    options = ("--container", "none", "--stage", what)
    done = run(options, [word], VIRTUAL_ENV="", CONDA_PREFIX="")
    assert (done.returncode, done.stdout) == (4, b"")
    assert said in done.stderr
    assert not list(disk.iterdir())


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--container", "docker://a/b:1", "--stage", "image"), "is not a file that"),
        (("--container", "none", "--stage", "image"), "needs a container"),
        (("--container", "a.sif", "--stage", "env", "--stage", "env=x"), "several"),
        (("--container", "a.sif", "--stage", "all"), "cannot be staged"),
    ],
)
def test_what_cannot_be_staged_is_refused(
    made: Callable[..., Wrapped], options: Sequence[str], said: str
) -> None:
    got = made(*options, "--", "true")
    assert got.code == 2
    assert said in got.err


@pytest.mark.parametrize("system", ["lumi-g", "trillium", "workstation"])
def test_a_system_without_disks_refuses(wrap: Wrap, system: str) -> None:
    got = wrap(
        "--profile", system, "--container", "a.sif", "--stage", "image", "--", "true"
    )
    assert got.code == 2
    assert f"{system} has no disk in its nodes" in got.err


def test_a_signal_while_copies_are_made_removes_them(
    made: Callable[..., Wrapped], image: Path, disk: Path, tmp_path: Path
) -> None:
    slow = tmp_path / "bin"
    slow.mkdir()
    (slow / "sbcast").write_text('#!/bin/sh\nkill -TERM "$PARENT"\nexec sleep 20\n')
    (slow / "sbcast").chmod(0o755)
    options = ("--container", str(image), "--stage", "image", "--no-inspect")
    got = made(*options, "--", "echo", "started")
    path = f"{slow}:{os.environ['PATH']}"
    done = bash(f"export PARENT=$$ PATH={path!r}\n{got.text}", timeout=15)
    assert done.stdout == b""
    assert done.returncode in {143, -15}
    assert b"--stage has failed" not in done.stderr
    assert not list(disk.iterdir())
