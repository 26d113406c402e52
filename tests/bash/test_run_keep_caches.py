"""Compile caches that outlive a job: used by the next one, never wrong, never in the way."""

from __future__ import annotations

import io
import os
import re
import shutil
import subprocess
import tarfile
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from envcfg.job.script.modules import module
from support import Wrap, bash, require

pytestmark = pytest.mark.usefixtures("fakes")
Job = Callable[..., subprocess.CompletedProcess[bytes]]
_SHOW = 'cd "$TORCHINDUCTOR_CACHE_DIR" 2>/dev/null && find . -type f | sort || true'
_ADD = 'mkdir -p "$TORCHINDUCTOR_CACHE_DIR/ab" && echo kernel >"$TORCHINDUCTOR_CACHE_DIR/ab/$0"'


@pytest.fixture
def disk() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        yield Path(folder)


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    return tmp_path / "kept"


@pytest.fixture
def packages(tmp_path: Path) -> Path:
    """The packages of a virtual environment."""
    folder = tmp_path / "venv/lib/python3.11/site-packages"
    (folder / "torch-2.7.0.dist-info").mkdir(parents=True)
    return folder


@pytest.fixture
def text(wrap: Wrap, tmp_path: Path, disk: Path, kept: Path) -> Callable[..., str]:
    """Make the script of a job that keeps its caches."""

    def make(*words: str, container: str = "none", launcher: str = "local") -> str:
        (tmp_path / "p.yaml").write_text(
            "name: p\nlaunch: {launchers: [srun, local]}\ncontainer: {runtimes: [apptainer]}\n"
            f"scratch: {{root: {disk}, why: for tests, source: none, date: 2026-01-01}}\n"
        )
        options = ("--profile", "./p.yaml", "--launcher", launcher, "--no-inspect")
        got = wrap(
            *(*options, "--container", container, "--keep-caches", str(kept)), *words
        )
        assert got.code == 0, got.err
        return f"set -euo pipefail\n{got.text}"

    return make


@pytest.fixture
def job(text: Callable[..., str], packages: Path) -> Job:
    """Run a job whose program is a command of sh."""

    def run(
        command: str,
        name: str = "x",
        *options: str,
        env: dict[str, str] | None = None,
        **words: str,
    ) -> subprocess.CompletedProcess[bytes]:
        script = text(*options, "--", "sh", "-c", command, name, **words)
        active = {"VIRTUAL_ENV": str(packages.parents[2]), "PYTHONPATH": ""}
        return bash(script, **{**active, **(env or {})})

    return run


def archive_of(kept: Path) -> Path:
    (path,) = kept.glob("*/inductor-*.tar*")
    return path


@pytest.mark.parametrize("setting", ["unset -v PATH", "unset -v PATH\nset -a"])
def test_a_shell_without_path_leaves_no_folder(
    text: Callable[..., str], packages: Path, disk: Path, kept: Path, setting: str
) -> None:
    command = _ADD.replace("mkdir", "/bin/mkdir") + "; /usr/bin/env"
    script = f"{setting}\n{text('--', '/bin/sh', '-c', command, 'one')}"
    done = bash(script, VIRTUAL_ENV=str(packages.parents[2]), PYTHONPATH="")
    assert done.returncode == 0, done.stderr
    assert b"\nPATH=" not in done.stdout
    assert b"not found" not in done.stderr + done.stdout
    assert b"could not" not in done.stderr
    assert not list(disk.iterdir())
    assert archive_of(kept)


@pytest.mark.parametrize("launcher", ["local", "srun"])
def test_the_next_job_begins_with_what_was_compiled(
    job: Job, kept: Path, disk: Path, launcher: str
) -> None:
    first = job(f"{_ADD}; exit 3", "one", launcher=launcher)
    assert first.returncode == 3
    empty = rb"nothing is kept for this image and hardware, key (\w+)\n"
    (key,) = re.findall(empty, first.stderr)
    second = job(
        f"{_SHOW}; {_ADD}", "two", launcher=launcher, env={"SLURM_JOB_ID": "77"}
    )
    assert second.returncode == 0, second.stderr
    # The first has failed: what was written in its last seconds may be half a file.
    assert second.stdout == b""
    third = job(_SHOW, launcher=launcher)
    assert third.stdout == b"./ab/two\n", third.stderr
    copied = rb"compile caches copied to each node .* MiB, key (\w+)\n"
    assert re.findall(copied, third.stderr) == [key]
    assert [*kept.glob(f"{key.decode()}*")]
    assert kept.stat().st_mode & 0o777 == 0o700
    assert not list(disk.iterdir())
    assert not list(kept.glob("*/new/*"))


def test_entries_older_than_seconds_are_kept_of_a_job_that_fails(job: Job) -> None:
    older = 'touch -d "1 minute ago" "$ENVCFG_CACHE/.kept"; touch -d "30 seconds ago" "$TORCHINDUCTOR_CACHE_DIR/ab/$0"'
    assert job(f"{_ADD}; {older}; kill -9 $$", "one").returncode == 137
    assert job(_SHOW).stdout == b"./ab/one\n"


def test_nothing_is_kept_of_locks_links_and_files_that_are_not_complete(
    job: Job,
) -> None:
    odd = 'cd "$TORCHINDUCTOR_CACHE_DIR"; touch a.lock b.tmp; mkdir tmp.1; touch tmp.1/x; ln -s /etc/passwd link'
    assert job(f"{_ADD}; {odd}", "one").returncode == 0
    assert job(_SHOW).stdout == b"./ab/one\n"


def _image(path: Path, identity: bytes) -> str:
    head = b"#!/usr/bin/env run-singularity\n\0SIF_MAGIC\x0001\x0000\0"
    path.write_bytes(head + identity + bytes(16) + path.name.encode())
    return str(path)


@pytest.mark.parametrize(
    ("first", "second", "is_same"),
    [
        (b"0123456789abcdef", b"0123456789abcdef", True),  # a copy of the image
        (b"0123456789abcdef", b"0123456789abcdeF", False),
        (bytes(16), bytes(16), False),  # made without an ID: then the path counts
    ],
)
def test_an_image_is_known_by_its_own_id(
    job: Job, tmp_path: Path, first: bytes, second: bytes, is_same: bool
) -> None:
    one, two = _image(tmp_path / "a.sif", first), _image(tmp_path / "b.sif", second)
    assert job(_ADD, "one", container=one).returncode == 0
    shown = job(_SHOW, container=two).stdout
    assert shown == (b"./ab/one\n" if is_same else b"")
    assert job(_SHOW, container=one).stdout == b"./ab/one\n"


def _other_package(packages: Path, **_: Path) -> dict[str, str]:
    (packages / "triton-3.4.0.dist-info").mkdir()
    return {}


def _newer_package(packages: Path, **_: Path) -> dict[str, str]:
    (packages / "torch-2.7.0.dist-info").rename(packages / "torch-2.8.0.dist-info")
    return {}


def _python_path(tmp_path: Path, **_: Path) -> dict[str, str]:
    (tmp_path / "more/jax-1.0.dist-info").mkdir(parents=True)
    return {"PYTHONPATH": f"/nowhere:{tmp_path}/more"}


@pytest.mark.parametrize("change", [_other_package, _newer_package, _python_path, None])
def test_other_packages_are_another_key(
    job: Job,
    packages: Path,
    tmp_path: Path,
    change: Callable[..., dict[str, str]] | None,
) -> None:
    assert job(_ADD, "one").returncode == 0
    env = change(packages=packages, tmp_path=tmp_path) if change else {}
    assert job(_SHOW, env=env).stdout == (b"" if change else b"./ab/one\n")


@pytest.mark.parametrize(
    ("options", "env", "reason"),
    [
        ((), {"VIRTUAL_ENV": ""}, b"nothing tells which software compiles"),
        (
            ("--setup", ". /opt/env.sh"),
            {},
            b"the environment that --setup gives is not known",
        ),
        (("--setup", "export PATH=/opt/bin:$PATH"), {}, b"is not known"),
    ],
)
def test_unknown_software_keeps_nothing(
    job: Job, kept: Path, options: tuple[str, ...], env: dict[str, str], reason: bytes
) -> None:
    done = job("exit 5" if not options else "true", "one", *options, env=env)
    assert done.returncode == (
        0 if options and "export" in options[1] else 5 if not options else 4
    )
    assert reason in done.stderr
    assert done.stderr.count(b"envcfg: note: no compile cache is kept") == 1
    assert not list(kept.glob("*"))


@pytest.mark.parametrize("change", ["cut", "flip", "gone", "empty", "foreign"])
def test_a_damaged_archive_is_not_used_and_is_replaced(
    job: Job, kept: Path, change: str
) -> None:
    job(_ADD, "one")
    path = archive_of(kept)
    data = path.read_bytes()
    match change:
        case "cut":
            path.write_bytes(data[:-7])
        case "flip":
            path.write_bytes(data[:40] + bytes([data[40] ^ 1]) + data[41:])
        case "gone":
            path.unlink()
        case "empty":
            path.with_name("inductor.manifest").write_bytes(b"")
        case _:
            path.with_name("inductor.manifest").write_text(
                f"../{path.name} 0 1 1 now\n"
            )
    second = job(f"{_SHOW}; {_ADD}", "two")
    assert (second.returncode, second.stdout) == (0, b""), second.stderr
    assert job(_SHOW).stdout == b"./ab/two\n"


def _repack(kept: Path, member: tarfile.TarInfo, data: bytes = b"") -> None:
    """Put *member* into the archive, with a manifest that agrees."""
    import hashlib

    path = archive_of(kept)
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        good = tarfile.TarInfo("./ab/good")
        archive.addfile(good)
        member.size = len(data)
        archive.addfile(member, io.BytesIO(data))
    path.unlink()
    new = path.with_name("inductor-0.tar")
    new.write_bytes(out.getvalue())
    digest = hashlib.sha256(out.getvalue()).hexdigest()
    path.with_name("inductor.manifest").write_text(f"{new.name} {digest} 2 2 now\n")


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("../out", tarfile.REGTYPE),
        ("./ab/../../../out", tarfile.REGTYPE),
        ("/tmp/envcfg-out", tarfile.REGTYPE),
        ("./link", tarfile.SYMTYPE),
        ("./hard", tarfile.LNKTYPE),
        ("./fifo", tarfile.FIFOTYPE),
        ("./device", tarfile.CHRTYPE),
        ("./new\nline", tarfile.REGTYPE),
    ],
)
def test_an_archive_with_anything_but_files_is_refused_as_a_whole(
    job: Job, kept: Path, disk: Path, name: str, kind: bytes
) -> None:
    job(_ADD, "one")
    member = tarfile.TarInfo(name)
    member.type = kind
    member.linkname = "/etc/passwd" if kind == tarfile.SYMTYPE else "./ab/good"
    _repack(kept, member)
    done = job(_SHOW)
    assert (done.returncode, done.stdout) == (0, b"")
    assert b"is not used" in done.stderr
    assert not list(disk.iterdir())
    assert not Path("/tmp/envcfg-out").exists()


@pytest.mark.parametrize("mode", [0o2700, 0o1700])
def test_a_private_folder_with_a_special_bit_is_used(
    job: Job, kept: Path, mode: int
) -> None:
    """New folders inherit the set-group-ID bit, which folders of projects have."""
    kept.mkdir()
    kept.chmod(mode)
    job(_ADD, "one")
    assert job(_SHOW).stdout == b"./ab/one\n"


@pytest.mark.parametrize("mode", [0o755, 0o770, 0o2750])
def test_a_folder_that_others_may_enter_is_not_used(
    job: Job, kept: Path, mode: int
) -> None:
    kept.mkdir()
    kept.chmod(mode)
    done = job(_ADD, "one")
    assert done.returncode == 0
    assert b"chmod 700" in done.stderr
    assert not list(kept.iterdir())


def test_a_folder_that_is_a_link_or_a_file_is_not_used(
    job: Job, kept: Path, tmp_path: Path
) -> None:
    kept.symlink_to(tmp_path)
    assert b"is not a folder of yours" in job(_ADD, "one").stderr
    kept.unlink()
    kept.write_text("")
    done = job("exit 6")
    assert done.returncode == 6
    assert b"is not a folder of yours" in done.stderr


def test_jobs_that_end_at_once_lose_nothing(
    text: Callable[..., str], packages: Path, job: Job
) -> None:
    script = text("--", "sh", "-c", f"set -- $$; {_ADD.replace('$0', '$1')}")
    env = {**os.environ, "VIRTUAL_ENV": str(packages.parents[2]), "PYTHONPATH": ""}
    running = [
        subprocess.Popen(["bash", "-c", script], env=env, stderr=subprocess.DEVNULL)
        for _ in range(6)
    ]
    assert [each.wait(60) for each in running] == [0] * 6
    job("true")  # takes what a busy lock may have left
    assert len(job(_SHOW).stdout.splitlines()) == 6


def test_a_lock_of_a_killed_job_is_old_after_ten_minutes(job: Job, kept: Path) -> None:
    job(_ADD, "one")
    lock = archive_of(kept).with_name("lock")
    lock.mkdir()
    os.utime(lock, (1, 1))
    assert job(_ADD, "two").returncode == 0
    assert job(_SHOW).stdout == b"./ab/one\n./ab/two\n"
    assert not lock.exists()


def test_several_steps_add_to_each_other(
    text: Callable[..., str], packages: Path, job: Job
) -> None:
    script = text() + "".join(
        f"envcfg_run sh -c '{_ADD}' {name}\n" for name in ("one", "two")
    )
    done = bash(script, VIRTUAL_ENV=str(packages.parents[2]), PYTHONPATH="")
    assert done.returncode == 0, done.stderr
    assert job(_SHOW).stdout == b"./ab/one\n./ab/two\n"


def test_a_full_cache_does_not_grow(
    text: Callable[..., str], packages: Path, job: Job
) -> None:
    job(_ADD, "one")
    script = text("--", "sh", "-c", f"{_SHOW}; {_ADD}", "two")
    small = re.sub(r"inductor:inductor:\d+", "inductor:inductor:0", script)
    done = bash(small, VIRTUAL_ENV=str(packages.parents[2]), PYTHONPATH="")
    assert (done.returncode, done.stdout) == (0, b"./ab/one\n")
    assert b"has reached its limit" in done.stderr
    assert job(_SHOW).stdout == b"./ab/one\n"


@pytest.mark.parametrize("program", ["tar", "sync", "sha256sum", "timeout"])
def test_a_program_that_fails_or_is_missing_harms_no_job_and_no_archive(
    job: Job, kept: Path, tmp_path: Path, program: str
) -> None:
    job(_ADD, "one")
    before = archive_of(kept).read_bytes()
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / program).write_text("#!/bin/sh\nexit 1\n")
    (tmp_path / "bin" / program).chmod(0o755)
    path = f"{tmp_path}/bin:{os.environ['PATH']}"
    assert job(f"{_ADD}; exit 0", "two", env={"PATH": path}).returncode == 0
    assert archive_of(kept).read_bytes() == before
    assert job(_SHOW).stdout.startswith(b"./ab/one\n")


def test_without_zstd_archives_are_plain(job: Job, kept: Path, tmp_path: Path) -> None:
    require("zstd")
    (tmp_path / "bin").mkdir()
    for folder in os.environ["PATH"].split(":"):
        for program in Path(folder).glob("*"):
            link = tmp_path / "bin" / program.name
            if program.name != "zstd" and not link.is_symlink():
                link.symlink_to(program)
    path = str(tmp_path / "bin")
    job(_ADD, "one", env={"PATH": path})
    assert archive_of(kept).name.endswith(".tar")
    assert job(f"{_SHOW}; {_ADD}", "two").stdout == b"./ab/one\n"
    assert archive_of(kept).name.endswith(".tar.zst")
    done = job(_SHOW, env={"PATH": path})
    assert (done.returncode, done.stdout) == (0, b"")
    assert b"is not used" in done.stderr


def test_a_system_without_a_node_local_folder_refuses(wrap: Wrap) -> None:
    got = wrap(
        "--profile", "workstation", "--container", "none", "--keep-caches", "--", "true"
    )
    assert got.code == 2
    assert "has no node-local folder" in got.err


@pytest.mark.parametrize(
    ("profile", "options", "is_recommended"),
    [
        ("lumi-g", (), True),
        ("lumi-g", ("--keep-caches",), False),
        ("workstation", (), False),  # it sets no compile cache
    ],
)
def test_the_plan_recommends_the_option_for_caches_of_the_profile(
    wrap: Wrap, profile: str, options: tuple[str, ...], is_recommended: bool
) -> None:
    words = ("--profile", profile, "--container", "none", "--print", "plan")
    plan = wrap(*words, *options, "--", "true").text
    line = "\ncaches     inductor, triton, torch_extensions: they end with the job; --keep-caches DIR"
    assert (line in plan) == is_recommended


def _hardware(tmp_path: Path, **env: str) -> subprocess.CompletedProcess[bytes]:
    """Run the question for the hardware with folders of a test in place of the node's."""
    text = module("keep_caches").text.split("<<'ENVCFG_TEXT' || builtin :\n")[1]
    text = text.split('\n"$task" "$@"')[0]
    for name in ("/dev/", "/sys/", "/proc/driver/"):
        text = text.replace(f"{name}", f"{tmp_path}{name}")
    text = text.replace(f"{tmp_path}/dev/null", "/dev/null")
    return bash(f"envcfg_host=n\nset -- a b c d e\n{text}\nhardware", **env)


def _gcd(tmp_path: Path, number: int, target: int, simds: int) -> None:
    folder = tmp_path / f"sys/class/kfd/kfd/topology/nodes/{number}"
    folder.mkdir(parents=True)
    (folder / "properties").write_text(
        f"cpu_cores_count 0\nsimd_count {simds}\nsimd_per_cu 4\ngfx_target_version {target}\n"
        f"device_id 29704\ncapability 746000000\nunique_id {number}\nlocation_id {number}\n"
    )


def test_gpus_of_amd_are_known_by_files_alone(tmp_path: Path) -> None:
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev/kfd").touch()
    assert b"GPU model of" in _hardware(tmp_path).stdout
    assert _hardware(tmp_path).returncode == 1
    _gcd(tmp_path, 0, 0, 0)  # a CPU
    assert _hardware(tmp_path).returncode == 1
    _gcd(tmp_path, 1, 90010, 440)
    one = _hardware(tmp_path)
    assert one.returncode == 0
    assert b"gfx_target_version=90010" in one.stdout
    assert b"simd_count=440" in one.stdout
    _gcd(tmp_path, 2, 90010, 440)  # the same once more
    assert _hardware(tmp_path).stdout == one.stdout
    _gcd(tmp_path, 3, 90010, 416)
    assert _hardware(tmp_path).stdout != one.stdout


def test_gpus_of_nvidia_are_known_by_their_model(tmp_path: Path) -> None:
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev/nvidia0").touch()
    assert _hardware(tmp_path).returncode == 1
    folder = tmp_path / "proc/driver/nvidia/gpus/0000:1b:00.0"
    folder.mkdir(parents=True)
    (folder / "information").write_text("Model: \t\t NVIDIA H100 80GB HBM3\nIRQ: 5\n")
    done = _hardware(tmp_path)
    assert done.returncode == 0
    assert b"GPU NVIDIA H100 80GB HBM3\n" in done.stdout
    assert b"IRQ" not in done.stdout
    (tmp_path / "proc/driver/nvidia/capabilities/gpu0/mig/gi1").mkdir(parents=True)
    assert _hardware(tmp_path).returncode == 1


def test_a_node_without_gpus_is_known_by_its_cpu(tmp_path: Path) -> None:
    done = _hardware(tmp_path)
    assert done.returncode == 0
    assert b"GPU" not in done.stdout
    assert done.stdout


_NUMBA = 'mkdir -p "$NUMBA_CACHE_DIR"; cd "$NUMBA_CACHE_DIR"; '


def test_files_that_belong_together_are_those_of_one_job(job: Job, kept: Path) -> None:
    """An index of one job with the data of another would be a wrong kernel."""
    job(f"{_NUMBA} echo 1 >index; echo one >data.1; echo one >data.2", "x")
    job(f"{_NUMBA} echo 2 >index; echo two >data.1; echo two >data.3", "x")
    shown = job(f"{_NUMBA} cat index data.1 data.2 data.3", "x").stdout
    assert shown == b"2\ntwo\none\ntwo\n"
    job(f"{_NUMBA} rm *; echo 3 >index", "x")  # it has less
    assert job(f"{_NUMBA} cat index", "x").stdout == b"2\n"
    assert not list(kept.glob("*/new/*"))


@pytest.mark.nightly
def test_a_signal_while_copies_are_made_leaves_none(
    text: Callable[..., str], packages: Path, job: Job, tmp_path: Path, disk: Path
) -> None:
    job(_ADD, "one")
    (tmp_path / "bin").mkdir()
    slow = tmp_path / "bin/sha256sum"  # the second one makes the key, before the folder
    slow.write_text(
        f'#!/bin/sh\n[ -e {tmp_path}/first ] && {{ kill -TERM "$PARENT"; sleep 1; }}\n'
        f'touch {tmp_path}/first\nexec /usr/bin/sha256sum "$@"\n'
    )
    slow.chmod(0o755)
    script = text("--", "sh", "-c", "echo started")
    done = bash(
        f"export PARENT=$$ PATH={slow.parent}:$PATH\n{script}",
        VIRTUAL_ENV=str(packages.parents[2]),
        PYTHONPATH="",
        timeout=30,
    )
    assert done.stdout == b""
    assert done.returncode in {143, -15}
    time.sleep(2)
    assert not list(disk.iterdir())


@pytest.mark.nightly
def test_a_key_may_be_removed_while_a_job_uses_it(
    text: Callable[..., str], packages: Path, job: Job, kept: Path, tmp_path: Path
) -> None:
    job(_ADD, "one")
    script = text(
        *("--", "sh", "-c"),
        f"{_SHOW}; touch {tmp_path}/began; until [ -e {tmp_path}/removed ]; do sleep 0.1; done; {_ADD}",
        "two",
    )
    env = {**os.environ, "VIRTUAL_ENV": str(packages.parents[2]), "PYTHONPATH": ""}
    running = subprocess.Popen(
        ["bash", "-c", script], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    while not (tmp_path / "began").exists():
        assert running.poll() is None
        time.sleep(0.05)
    subprocess.run(["rm", "-r", *kept.iterdir()], check=True)
    (tmp_path / "removed").touch()
    out, err = running.communicate(timeout=60)
    assert (running.returncode, out) == (0, b"./ab/one\n"), err
    assert b"./ab/two\n" in job(_SHOW).stdout


def test_a_folder_at_its_limit_loses_old_keys_and_no_foreign_folder(
    text: Callable[..., str], packages: Path, kept: Path
) -> None:
    """A user may keep caches in a folder that has other things."""
    for name in ("1" * 40, "data"):
        (kept / name).mkdir(parents=True)
        (kept / name / "about").write_text("")
        (kept / name / "large").write_bytes(bytes(2 << 20))
        os.utime(kept / name / "about", (1, 1))
    kept.chmod(0o700)
    script = text("--", "sh", "-c", _ADD, "one").replace("> 16384", "> 1")
    done = bash(script, VIRTUAL_ENV=str(packages.parents[2]), PYTHONPATH="")
    assert done.returncode == 0, done.stderr
    assert not (kept / ("1" * 40)).exists()
    assert (kept / "data/large").exists()
    assert archive_of(kept)


def test_caches_of_jax_are_without_their_path(job: Job) -> None:
    """With XLA's own caches the folder's path is a part of each entry's hash."""
    done = job(
        'echo "${JAX_COMPILATION_CACHE_DIR##*/} $JAX_PERSISTENT_CACHE_ENABLE_XLA_CACHES"'
    )
    assert done.stdout == b"jax none\n"


@pytest.mark.nightly
def test_a_file_that_a_full_disk_has_cut_gets_into_no_archive(
    job: Job, kept: Path, tmp_path: Path
) -> None:
    job(_ADD, "one")
    before = archive_of(kept).read_bytes()
    (tmp_path / "bin").mkdir()
    tar = tmp_path / "bin/tar"
    tar.write_text(
        '#!/bin/sh\ncase "$*" in *" -xf "*"/new/"*)\n'
        "  folder=$(printf '%s' \"$*\" | sed 's/.* -C \\([^ ]*\\).*/\\1/')\n"
        '  mkdir -p "$folder/ab"; printf ker >"$folder/ab/two"; exit 2\nesac\n'
        f'exec {shutil.which("tar")} "$@"\n'
    )
    tar.chmod(0o755)
    done = job(_ADD, "two", env={"PATH": f"{tar.parent}:{os.environ['PATH']}"})
    assert done.returncode == 0
    assert b"a later job tries again" in done.stderr
    assert archive_of(kept).read_bytes() == before
    assert job("true").returncode == 0
    assert job(_ADD, "three").returncode == 0
    done = job('cat "$TORCHINDUCTOR_CACHE_DIR/ab/two"')
    assert done.stdout == b"kernel\n"


@pytest.mark.nightly
def test_a_lock_that_a_full_disk_cannot_hold_blocks_no_later_job(
    job: Job, kept: Path, text: Callable[..., str], packages: Path
) -> None:
    job(_ADD, "one")
    script = text("--", "sh", "-c", _ADD, "two")
    full = script.replace('>"$1/owner"; then return', ">/dev/full; then return")
    assert full != script
    done = bash(full, VIRTUAL_ENV=str(packages.parents[2]), PYTHONPATH="")
    assert done.returncode == 0
    assert b"its disk is full" in done.stderr
    assert not list(kept.glob("*/lock"))
    assert job("true").returncode == 0
    assert job(_ADD, "three").returncode == 0
    assert job(_SHOW).stdout.split() == [b"./ab/one", b"./ab/three", b"./ab/two"]


@pytest.mark.nightly
def test_ninja_has_nothing_to_build_in_the_folder_of_the_next_job(
    job: Job, tmp_path: Path
) -> None:
    require("ninja")
    (tmp_path / "source").touch()
    os.utime(tmp_path / "source", (1e9, 1e9))  # archives have times in whole seconds
    rule = f"rule copy\n command = cp $in $out\nbuild lib: copy {tmp_path}/source\n"
    (tmp_path / "build.ninja").write_text(rule)
    # As torch.utils.cpp_extension does; the lock of a job that was killed would block the next one.
    command = (
        'mkdir -p "$TORCH_EXTENSIONS_DIR/x" && cd "$TORCH_EXTENSIONS_DIR/x" && ls && touch lock '
        f"&& {{ [ -e build.ninja ] || cp {tmp_path}/build.ninja .; }} && ninja"
    )
    first, second = job(command), job(command)
    assert first.stdout == b"[1/1] cp " + f"{tmp_path}/source lib\n".encode()
    assert second.stdout == b"build.ninja\nlib\nninja: no work to do.\n"
