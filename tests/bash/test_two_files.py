"""A script of ``-o`` and the file that it needs: written together, checked when run."""

from __future__ import annotations

import os
import shlex
import shutil
import stat
import subprocess
from pathlib import Path

import pytest

from asking import asking
from support import LOCAL, Wrap, bash, envcfg, require_root

STEP = ("--", "sh", "-c", "echo rank $RANK")


@pytest.fixture
def job(wrap: Wrap, tmp_path: Path) -> Path:
    """A script in a folder of its own; the current folder is another one."""
    (tmp_path / "made").mkdir()
    done = wrap(*LOCAL, "-o", "made/job.sh", *STEP)
    assert done.code == 0, done.err
    return tmp_path / "made/job.sh"


def machinery(script: Path) -> Path:
    (file,) = (script.parent / ".envcfg").iterdir()
    return file


def run(script: Path, **env: str) -> tuple[int, str, str]:
    done = bash(f"exec bash '{script}'", **env)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def test_the_script_is_short_and_runs_with_its_file(job: Path, wrap: Wrap) -> None:
    assert len(job.read_text().splitlines()) < 150
    assert run(job) == (0, "rank 0\n", "")
    done = wrap(*LOCAL, "-o", "made/job.sh", *STEP)
    assert f"made/job.sh needs the file {machinery(job)}: keep both" in done.err
    assert "--inline writes a single file" in done.err


def test_standard_output_and_inline_are_a_single_text(
    wrap: Wrap, tmp_path: Path
) -> None:
    text = wrap(*LOCAL, *STEP).text
    assert bash(text).stdout == b"rank 0\n"
    assert wrap(*LOCAL, "--inline", "-o", "job.sh", *STEP).code == 0
    assert wrap(*LOCAL, "-o", "-", *STEP).code == 0
    assert wrap(*LOCAL, "-o", "/dev/stdout", *STEP).code == 0
    assert not (tmp_path / ".envcfg").exists()
    assert run(tmp_path / "job.sh") == (0, "rank 0\n", "")


def test_scripts_with_the_same_modules_share_a_file(job: Path, wrap: Wrap) -> None:
    before = machinery(job).stat()
    assert wrap(*LOCAL, "-o", "made/other.sh", "--", "true").code == 0
    after = machinery(job).stat()
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)
    assert wrap(*LOCAL, "-o", "made/steps.sh").code == 0  # which has other modules
    assert len(list((job.parent / ".envcfg").iterdir())) == 2
    assert run(job) == (0, "rank 0\n", "")


def test_a_changed_file_is_written_again(job: Path, wrap: Wrap) -> None:
    text = machinery(job).read_text()
    machinery(job).write_text("touch canary\n")
    assert wrap(*LOCAL, "-o", "made/job.sh", *STEP).code == 0
    assert machinery(job).read_text() == text


def test_both_files_may_be_read_by_whom_the_umask_allows(
    wrap: Wrap, tmp_path: Path
) -> None:
    old = os.umask(0o027)
    try:
        assert wrap(*LOCAL, "-o", "job.sh", "--set", "A=b", *STEP).code == 0
    finally:
        os.umask(old)
    assert stat.S_IMODE((tmp_path / ".envcfg").stat().st_mode) == 0o750
    assert stat.S_IMODE(machinery(tmp_path / "job.sh").stat().st_mode) == 0o640
    assert stat.S_IMODE((tmp_path / "job.sh").stat().st_mode) == 0o700  # --set


@pytest.mark.parametrize("way", ["run", "sourced", "evaluated"])
@pytest.mark.parametrize("fault", ["missing", "changed", "cut", "longer", "a folder"])
def test_without_the_right_file_nothing_runs(job: Path, fault: str, way: str) -> None:
    file = machinery(job)
    text = file.read_text()
    file.unlink()
    if fault == "a folder":
        file.mkdir()
    elif fault != "missing":
        changed = {"cut": text[:-1], "longer": f"{text}\n", "changed": "touch canary\n"}
        file.write_text(changed[fault])
    begin = {"run": "bash", "sourced": ".", "evaluated": "eval"}[way]
    word = f'"$(cat {job})"' if way == "evaluated" else str(job)
    done = bash(
        f"{begin} {word}; code=$?; [ {way} != run ] || exit $code; echo goes on"
    )
    assert (done.returncode, done.stdout) == (4, b""), done.stderr
    lines = done.stderr.decode().splitlines()
    assert lines[0].startswith(f"envcfg: error: {file} is missing or changed, as ")
    again = f"cd {Path.cwd()} && envcfg wrap --profile workstation --container none"
    assert (
        lines[1]
        == f"  hint: write both files again: {again} -o made/job.sh -- {_SHOWN}"
    )
    assert not Path("canary").exists()


_SHOWN = "sh -c 'echo rank $RANK'"


def test_the_command_of_the_hint_writes_the_file_again(job: Path) -> None:
    file = machinery(job)
    file.unlink()
    words = run(job)[2].partition(" && envcfg ")[2]
    assert envcfg(*shlex.split(words)).code == 0
    assert file.exists()
    assert run(job)[0] == 0


def test_the_hint_does_not_show_values_of_set(wrap: Wrap, tmp_path: Path) -> None:
    assert wrap(*LOCAL, "-o", "job.sh", "--set", "KEY=hidden", *STEP).code == 0
    machinery(tmp_path / "job.sh").unlink()
    code, _, err = run(tmp_path / "job.sh")
    assert code == 4
    assert "hidden" not in err
    assert f"in the line 'made by' of {tmp_path}/job.sh" in err


@pytest.mark.parametrize("name", ["SLURM_SUBMIT_DIR", "PBS_O_WORKDIR", "PWD"])
def test_the_file_is_looked_for_where_the_job_was_submitted(
    job: Path, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    moved = tmp_path / "moved"
    job.parent.rename(moved)
    (tmp_path / "spool").mkdir()
    shutil.copy(moved / "job.sh", tmp_path / "spool/slurm_script")
    monkeypatch.chdir(moved if name == "PWD" else tmp_path / "spool")
    env = {} if name == "PWD" else {name: str(moved)}
    assert run(tmp_path / "spool/slurm_script", **env) == (0, "rank 0\n", "")


def test_a_changed_file_at_the_first_place_is_passed_over(
    job: Path, tmp_path: Path
) -> None:
    shutil.copytree(job.parent / ".envcfg", tmp_path / "submitted/.envcfg")
    machinery(job).write_text("touch canary\n")
    place = str(tmp_path / "submitted")
    assert run(job, SLURM_SUBMIT_DIR=place) == (0, "rank 0\n", "")
    assert not Path("canary").exists()


def test_without_sha256sum_nothing_runs_unchecked(job: Path, tmp_path: Path) -> None:
    path = tmp_path / "bin"
    path.mkdir()
    for name in ("bash", "sh", "cat", "env"):
        (path / name).symlink_to(str(shutil.which(name)))
    done = subprocess.run(
        ["bash", str(job)],
        env={"PATH": str(path)},
        capture_output=True,
        check=False,
        text=True,
    )
    assert (done.returncode, done.stdout) == (4, "")
    assert "sha256sum, which checks it, failed or is not on PATH" in done.stderr


@pytest.mark.parametrize(
    "shell",
    [
        "sha256sum() { echo wrong; }; eval() { :; }; command() { :; }; printf() { :; }",
        "shopt -s expand_aliases; alias eval=: builtin=: IFS=x",
        "set -euo pipefail",
        "IFS=0123456789abcdef",
        "LC_ALL=C",
        "set -k",
        "shopt -s nocasematch extglob nullglob failglob",
        "exec 0<&-",
    ],
)
def test_the_job_s_shell_does_not_change_the_check(job: Path, shell: str) -> None:
    done = bash(f"{shell}\n. {job}")
    assert (done.returncode, done.stdout) == (0, b"rank 0\n"), done.stderr


def test_another_s_folder_is_enough_to_read(job: Path) -> None:
    require_root()
    for path in (job, machinery(job), job.parent / ".envcfg", job.parent):
        path.chmod(0o755)
    for path in (job.parent.parent, *job.parent.parent.parents):
        if path.owner() == "root" and path != Path("/"):
            path.chmod(path.stat().st_mode | 0o055)
    done = subprocess.run(
        ["setpriv", "--reuid=nobody", "--clear-groups", "bash", str(job)],
        cwd="/",
        env={"PATH": "/usr/bin:/bin"},
        capture_output=True,
        check=False,
        text=True,
    )
    assert (done.returncode, done.stdout) == (0, "rank 0\n"), done.stderr


def test_a_folder_that_cannot_be_made_is_an_error_before_the_script(
    wrap: Wrap, tmp_path: Path
) -> None:
    (tmp_path / ".envcfg").write_text("a file\n")
    done = wrap(*LOCAL, "-o", "job.sh", *STEP)
    assert done.code == 4
    assert "cannot write" in done.err
    assert "--inline writes a single file" in done.err
    assert not (tmp_path / "job.sh").exists()


def test_a_job_script_needs_no_envcfg(wrap: Wrap, tmp_path: Path, fakes: Path) -> None:
    assert callable(wrap)
    assert fakes.is_dir()
    command = ("--container", "none", "-o", "job.sh", "--", "sh", "-c", "echo $RANK")
    done = envcfg("sbatch", *asking("mahti"), *command)
    assert done.code == 0, done.err
    text = (tmp_path / "job.sh").read_text()
    assert not [
        line
        for line in text.splitlines()
        if "envcfg " in line and not line.startswith(("#", "ENVCFG_", " "))
    ]
    code, out, err = run(tmp_path / "job.sh", FAKE_NODES="1", FAKE_TASKS="2")
    assert (code, sorted(out.splitlines())) == (0, ["0", "1"]), err


@pytest.mark.parametrize("fault", ["missing", "changed"])
@pytest.mark.parametrize("command", ["lint", "submit"])
def test_lint_and_submit_refuse_a_job_without_the_right_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: str, command: str
) -> None:
    (tmp_path / "sbatch").write_text("#!/bin/sh\ntouch submitted\n")
    (tmp_path / "sbatch").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    monkeypatch.chdir(tmp_path)
    asked = (*asking("lumi-g"), "--container", "none", "--split", "-o", "job.sh")
    assert envcfg("job", *asked, "--", "true").code == 0
    fine = envcfg("lint", "job.sh")
    assert fine.code == 0, fine.text
    file = machinery(tmp_path / "job.sh")
    if fault == "missing":
        file.unlink()
    else:
        file.write_text("true\n")
    done = envcfg(command, "job.sh")
    assert done.code != 0
    assert f"the job needs {file}, which is missing or changed" in (
        done.text + done.err
    )
    assert not Path("submitted").exists()


def test_lint_looks_where_the_job_looks_for_a_moved_file(
    job: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job.parent.rename(tmp_path / "moved")
    assert envcfg("lint", "moved/job.sh").code == 1
    monkeypatch.chdir(tmp_path / "moved")
    assert envcfg("lint", "job.sh").code == 0
