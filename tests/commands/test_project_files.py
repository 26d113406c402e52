"""The files of a project: they count if only the user and root can write them."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from envcfg import api
from envcfg.common.errors import ProfileError
from support import ROOT, bash, envcfg, require_root

REASON = "why: w, source: s, date: 2026-01-01"
STEP = ("--container", "none", "--launcher", "local", "--ranks", "1")
RUN = (*STEP, "--profile", "workstation", "--", "true")
# The log of this file has no traffic over InfiniBand.
EXPECTS = f"expect: {{networks: [IB], {REASON}}}\n"


@pytest.fixture
def clone(no_layers: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:  # noqa: ARG001
    """A project that the user has cloned, and no other layers."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    folder = tmp_path / "clone"
    (folder / ".envcfg/profiles").mkdir(parents=True)
    (folder / "sub").mkdir()
    monkeypatch.chdir(folder)
    write(folder, "job.sh", "#!/bin/bash\n#SBATCH -N 2\nsrun true\n")
    write(folder, "log", (ROOT / "examples/slow-job.out").read_text())
    return folder


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text)
    return path


def open_link(path: Path) -> None:
    """Replace the file by a link to a folder that a group may write."""
    shared = path.parent / "shared"
    shared.mkdir()
    path.rename(shared / path.name)
    path.symlink_to(shared / path.name)
    shared.chmod(0o775)


# The file, and the words of a step that uses it.
FILES: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "defaults": ("envcfg.toml", "smoke-test = true\n", ("--profile", "workstation")),
    "a profile": (".envcfg/profiles/x.yaml", "name: x\n", ("--profile", "x")),
    "the path of a profile": ("x.yaml", "name: x\n", ("--profile", "./x.yaml")),
    "a file to source": ("setup.sh", "true\n", ("--profile", "workstation", "--setup", "setup.sh")),
}  # fmt: skip
OPEN: dict[str, tuple[Callable[[Path], None], str]] = {
    "its group": (lambda path: path.chmod(0o664), "may write it"),
    "the group of its folder": (lambda path: path.parent.chmod(0o2775), "may write /"),
    "everybody": (lambda path: path.chmod(0o646), "everybody may write it"),
    "a link into a group's folder": (open_link, "/shared"),
}


@pytest.mark.parametrize("way", OPEN)
@pytest.mark.parametrize("name", FILES)
def test_a_file_that_others_may_write_ends_a_step(
    clone: Path, name: str, way: str
) -> None:
    file, text, words = FILES[name]
    path = write(clone, file, text)
    step = (*STEP, *words, "--", "true")
    plan = envcfg("wrap", "--print", "plan", *step)
    assert plan.code == 0, plan.err
    (line,) = [line for line in plan.text.splitlines() if line.startswith("project ")]
    assert path.name in line
    change, reason = OPEN[way]
    change(path)
    done = envcfg("wrap", *step)
    assert done.code == 2
    assert reason in done.err
    assert f"{path.name}:1:1: " in done.err
    assert "hint: chmod " in done.err
    sourced = bash(b"source /dev/stdin\necho goes on", stdin=done.out)
    assert (sourced.returncode, sourced.stdout) == (2, b"")
    accepted = envcfg("wrap", "--allow-writable", *step)
    assert accepted.code == (2 if way == "everybody" else 0), accepted.err


@pytest.mark.parametrize(
    "words",
    [
        ("wrap", *RUN),
        ("job", *RUN),
        ("submit", *RUN),
        ("submit", "job.sh"),
        ("preflight", *RUN[:-2]),
        ("profiles", "probe", *RUN[:-2]),
    ],
)
def test_commands_that_make_or_submit_a_job_refuse(
    clone: Path, words: tuple[str, ...]
) -> None:
    write(clone, "envcfg.toml", 'account = "a"\n').chmod(0o664)
    done = envcfg(*words)
    assert (done.code, "envcfg.toml:1:1: group " in done.err) == (2, True), done.err


@pytest.mark.parametrize(
    "words", [("lint", "job.sh"), ("check-log", "log"), ("explain", "NCCL_NET")]
)
def test_commands_that_read_go_on_without_the_file(
    clone: Path, words: tuple[str, ...]
) -> None:
    expected = envcfg(*words)
    write(clone, "envcfg.toml", 'profile = "mahti"\n').chmod(0o664)
    done = envcfg(*words)
    assert (done.code, done.text) == (expected.code, expected.text)
    assert f"note: {clone}/envcfg.toml: group " in done.err
    assert "; the file is left out\n" in done.err


def test_lint_goes_on_without_a_profile_of_others(clone: Path) -> None:
    path = write(clone, ".envcfg/profiles/x.yaml", "name: x\n")
    write(clone, "envcfg.toml", 'profile = "x"\n')
    expected = envcfg("lint", "job.sh")
    path.chmod(0o664)
    done = envcfg("lint", "job.sh")
    assert (done.code, done.text) == (expected.code, expected.text)
    assert f"{path}: group " in done.err
    assert envcfg("lint", "--profile", "x", "job.sh").code == 2
    given = envcfg("lint", "--allow-writable", "--profile", "x", "job.sh")
    assert given.code == expected.code


def test_a_line_of_envcfg_is_refused_in_a_script_as_in_the_job(clone: Path) -> None:
    write(clone, "envcfg.toml", 'profile = "mahti"\n').chmod(0o664)
    write(clone, "job.sh", "#!/bin/bash\n#SBATCH -N 2\nenvcfg wrap -- true\n")
    done = envcfg("lint", "job.sh")
    assert "envcfg refuses this: group " in done.text


def test_a_clone_of_the_user_counts_at_once(clone: Path) -> None:
    write(clone, "setup.sh", "true\n")
    write(clone, "envcfg.toml", 'setup = "setup.sh"\nprofile = "x"\n')
    write(clone, ".envcfg/profiles/x.yaml", "name: x\n")
    done = envcfg("wrap", *STEP, "--print", "plan", "--", "true")
    (line,) = [line for line in done.text.splitlines() if line.startswith("project ")]
    names = (f"{clone}/envcfg.toml", f"{clone}/.envcfg/profiles/x.yaml", "setup.sh")
    assert line.split()[1:] == [*names]
    document = json.loads(envcfg("wrap", *STEP, "--json", "--", "true").text)
    assert document["project_files"] == [*names]


def test_a_path_is_the_one_next_to_the_file_that_names_it(
    clone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(clone, "envcfg.toml", 'profile = "x.yaml"\nsetup = "s.sh"\n')
    write(clone, "sub/x.yaml", "name: x\n")
    write(clone, "sub/s.sh", "evil\n")
    monkeypatch.chdir(clone / "sub")
    done = envcfg("wrap", *STEP, "--", "true")
    assert (done.code, f"{clone}/x.yaml: no such file" in done.err) == (2, True)
    write(clone, "x.yaml", "name: x\n")
    assert f"{clone}/s.sh" in envcfg("wrap", *STEP, "--", "true").text


def test_a_step_in_the_job_is_checked_again(clone: Path) -> None:
    path = write(clone, "s.sh", "true\n")
    step = ("wrap", "--preflight", "--allow-writable", *RUN)
    assert "--allow-writable" in envcfg(*step).text.partition("envcfg preflight ")[2]
    path.chmod(0o664)
    done = envcfg("wrap", *RUN[:-2], "--setup", "s.sh", "--", "true")
    assert (done.code, f"chmod g-w {clone}/s.sh" in done.err) == (2, True)


def test_programs_may_accept_a_group_too(clone: Path) -> None:
    write(clone, "sub/file", "")
    path = write(clone, "x.yaml", "name: x\n")
    path.chmod(0o664)
    calls: list[Callable[..., object]] = [
        lambda **more: api.make_plan(["true"], container=None, profile=str(path), **more),
        lambda **more: api.load_profile(path, **more),
        lambda **more: api.check_log("log", profile=path, **more),
        lambda **more: api.lint("job.sh", profile=path, **more),
        lambda **more: api.inspect("sub", profile=path, **more),
    ]  # fmt: skip
    for call in calls:
        with pytest.raises(ProfileError, match="may write it"):
            call()
        call(allow_writable=True)


# The requirements on a log


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("x", ".envcfg/profiles/x.yaml"),
        ("project:x", ".envcfg/profiles/x.yaml"),
        ("x.yaml", "x.yaml"),
    ],
)
def test_a_projects_profile_requires_something_of_a_log_only_if_it_is_named(
    clone: Path, name: str, file: str
) -> None:
    write(clone, file, f"name: x\n{EXPECTS}")
    bare = envcfg("check-log", "log").text
    write(clone, "envcfg.toml", f'profile = "{name}"\n')
    done = envcfg("check-log", "log")
    assert done.text == bare
    assert "x.yaml: is left out, because it comes with the project" in done.err
    assert f"hint: if it may decide: --profile {name}" in done.err
    named = envcfg("check-log", "--profile", name, "log")
    assert "is left out" not in named.err
    assert named.text != bare


def test_a_project_does_not_change_what_a_system_requires_of_a_log(
    clone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = envcfg("check-log", "--profile", "workstation", "log").text
    text = f"name: workstation\n{EXPECTS}"
    write(clone, ".envcfg/profiles/workstation.yaml", text)
    assert envcfg("check-log", "--profile", "workstation", "log").text != own
    for source in ("file", "environment"):
        if source == "file":
            write(clone, "envcfg.toml", 'profile = "workstation"\n')
        else:
            (clone / "envcfg.toml").unlink()
            monkeypatch.setenv("ENVCFG_PROFILE", "workstation")
        done = envcfg("check-log", "log")
        assert done.text == own
        assert "workstation.yaml: is left out" in done.err


def test_a_path_in_the_environment_is_the_users_own_decision(
    clone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(clone, "x.yaml", f"name: x\n{EXPECTS}")
    named = envcfg("check-log", "--profile", str(path), "log").text
    monkeypatch.setenv("ENVCFG_PROFILE", str(path))
    assert envcfg("check-log", "log").text == named


def test_a_file_of_a_stranger_ends_nothing(clone: Path) -> None:
    require_root()
    path = write(clone, "envcfg.toml", "wrong\n")
    os.chown(path, 12345, 12345)
    done = envcfg("wrap", *RUN)
    assert (done.code, f"{path} is ignored" in done.err) == (0, True)
