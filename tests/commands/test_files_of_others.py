"""Files that other users may have written: refused, accepted, left out or shown."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from envcfg.profile import guard
from envcfg.profile.ownership import OwnedPath
from support import ROOT, bash, envcfg, require, require_root

NOBODY = 65534
OWNERS: dict[str, dict[str, int]] = {}
GROUP = 4321  # no group of anybody's own
REASON = "why: w, source: s, date: 2026-01-01"
# What the folder of a stranger did to root's job.
HOSTILE = f"""\
name: workstation
env:
  LD_PRELOAD: {{value: /evil.so, force: true, why: "fine\\e[2J\\n  TMPDIR=/tmp", source: s, date: 2026-01-01}}
container:
  binds:
    /evil:/opt: {{{REASON}}}
launch:
  srun:
    --task-prolog=/evil.sh: {{{REASON}}}
"""
NAMED = ("--profile", "workstation", "--container", "none")
DETECTED = ("--container", "none")


@pytest.fixture
def profile(no_layers: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:  # noqa: ARG001
    """The user's own ``workstation``, in a folder that a group may share."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "top/project"))
    path = tmp_path / "top/project/envcfg/profiles/workstation.yaml"
    path.parent.mkdir(parents=True)
    path.write_text(HOSTILE)
    (tmp_path / "top/project/src").mkdir()
    monkeypatch.chdir(tmp_path / "top/project/src")
    return path


@pytest.fixture(autouse=True)
def owners(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without root, files cannot be given away: then the guard sees other owners."""
    OWNERS.clear()
    entry = guard._entry

    def owned(path: str, status: os.stat_result) -> OwnedPath:
        return entry(path, status)._replace(**OWNERS.get(path, {}))

    if os.geteuid() != 0:
        monkeypatch.setattr(guard, "_entry", owned)


def give(path: Path, **ids: int) -> None:
    """Change the owner, as ``uid=`` or ``gid=``."""
    if os.geteuid() == 0:
        os.chown(path, ids.get("uid", -1), ids.get("gid", -1), follow_symlinks=False)
    OWNERS.setdefault(str(path), {}).update(ids)


def give_all(path: Path, uid: int) -> None:
    for each in (path.parents[3], *path.parents[3].rglob("*")):
        give(each, uid=uid)


def open_to_group(path: Path) -> None:
    give(path, gid=GROUP)
    path.chmod(stat.S_IMODE(path.stat().st_mode) | 0o020)


def put_link(path: Path, target: Path, uid: int) -> None:
    path.rename(target)
    path.symlink_to(target)
    give(path, uid=uid)


# What is done to the project, and how the refusal goes on.
WAYS: dict[str, tuple[Callable[[Path], None], str]] = {
    "all of it is another's": (lambda p: give_all(p, NOBODY), "it belongs to nobody, not to you"),
    "the file is another's": (lambda p: give(p, uid=NOBODY), "it belongs to nobody, not to you"),
    "a folder is another's": (lambda p: give(p.parents[3], uid=NOBODY), "top belongs to nobody, not to you"),
    "an owner without a name": (lambda p: give(p, uid=54321), "it belongs to 54321, not to you"),
    "a group may write the file": (open_to_group, f"group {GROUP} may write it"),
    "a group may write a folder": (lambda p: open_to_group(p.parents[2]), f"group {GROUP} may write /"),
    "another's link": (lambda p: put_link(p, p.parents[3] / "real", NOBODY), "workstation.yaml belongs to nobody"),
}  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
def test_a_profile_that_others_may_write_is_refused(profile: Path, way: str) -> None:
    assert b"/evil.so" in envcfg("wrap", *NAMED).out
    change, reason = WAYS[way]
    change(profile)
    for words in (NAMED, DETECTED):
        done = envcfg("wrap", *words, "--", "true")
        assert done.code == 2
        assert f"error: {profile}:1:1: " in done.err
        assert reason in done.err
        assert "only you and root may write it and the folders above it" in done.err
        assert b"evil" not in done.out
        sourced = bash(b"source /dev/stdin\necho goes on", stdin=done.out)
        assert (sourced.returncode, sourced.stdout) == (2, b"")
        assert b"only you and root" in sourced.stderr


@pytest.mark.parametrize("way", WAYS)
def test_allow_writable_accepts_members_of_the_users_groups(
    profile: Path, way: str
) -> None:
    WAYS[way][0](profile)
    assert "; --allow-writable accepts what" in envcfg("wrap", *NAMED).err
    assert b"/evil.so" in envcfg("wrap", "--allow-writable", *NAMED).out


def test_allow_writable_accepts_no_stranger(profile: Path) -> None:
    give(profile, uid=NOBODY, gid=GROUP)
    # A stranger's file in a layer is ignored; a path is the user's own decision.
    done = envcfg("wrap", "--allow-writable", *NAMED)
    assert (done.code, b"/evil.so" in done.out) == (0, False)
    words = ("--profile", str(profile), "--container", "none")
    for option in ((), ("--allow-writable",)):
        done = envcfg("wrap", *option, *words)
        assert (done.code, "it belongs to nobody" in done.err) == (2, True)
        assert "--allow-writable" not in done.err


def test_the_users_own_file_of_defaults_may_allow_it(profile: Path) -> None:
    config = profile.parents[1] / "config.toml"
    config.write_text("allow-writable = true\n")
    open_to_group(profile.parent)
    assert b"/evil.so" in envcfg("wrap", *NAMED).out
    open_to_group(config)  # a member of the group could have written that
    assert envcfg("wrap", *NAMED).code == 2


@pytest.mark.parametrize("at", [None, 0, 1, 2, 3])
def test_what_everybody_may_write_never_counts(profile: Path, at: int | None) -> None:
    path = profile if at is None else profile.parents[at]
    path.chmod(0o777)
    for words in (NAMED, DETECTED, ("--allow-writable", *NAMED)):
        done = envcfg("wrap", *words)
        assert done.code == 2
        assert f"error: {profile}:1:1: everybody may write" in done.err
        assert f"chmod o-w {path}" in done.err
        assert "--allow-writable" not in done.err
    path.chmod(0o1755)
    assert envcfg("wrap", *NAMED).code == 0


def test_in_a_sticky_folder_what_is_the_user_s_counts(profile: Path) -> None:
    profile.parents[3].chmod(0o1777)
    assert envcfg("wrap", *NAMED).code == 0
    give(profile.parents[2], uid=NOBODY)
    assert envcfg("wrap", *NAMED).code == 2


def test_the_remedy_for_a_group_is_a_chmod(profile: Path) -> None:
    open_to_group(profile)
    assert f"hint: chmod g-w {profile}; " in envcfg("wrap", *NAMED).err
    profile.chmod(0o644)
    assert envcfg("wrap", *NAMED).code == 0


def test_a_profile_that_is_not_used_is_not_examined(profile: Path) -> None:
    give(profile, uid=NOBODY)
    assert envcfg("wrap", "--profile", "lumi-g", "--container", "none").code == 0
    foreign = profile.with_name("foo.yaml")
    foreign.write_text("name: foo\n")
    give(foreign, uid=NOBODY)
    assert envcfg("wrap", "--profile", "lumi-g", "--container", "none").code == 0
    done = envcfg("wrap", *DETECTED)  # to detect, all of them would be asked
    assert done.code == 2
    for path in (profile, foreign):
        assert f"error: {path}:1:1: it belongs to nobody" in done.err
    assert "or name the system, so that it is not asked: --profile NAME" in done.err


@pytest.mark.parametrize(
    "name", ["lumi-g", "slingshot-rocm", "slingshot", "own", "file"]
)
def test_every_file_that_takes_part_is_checked(profile: Path, name: str) -> None:
    family = profile.with_name("family.yaml")
    family.write_text("name: family\n")
    profile.with_name("own.yaml").write_text("name: own\nextends: family\n")
    path = profile.with_name(f"{name}.yaml")
    chosen = "lumi-g"
    if name == "own":
        path, chosen = family, "own"
    elif name == "file":
        path = Path("file.yaml").absolute()
        path.write_text("name: file\nextends: lumi-g\n")
        chosen = "./file.yaml"
    else:
        path.write_text(f"name: {name}\nsummary: mine\n")
    assert envcfg("wrap", "--profile", chosen, "--container", "none").code == 0
    give(path, uid=NOBODY)
    done = envcfg("wrap", "--profile", chosen, "--container", "none")
    assert done.code == 2
    assert f"{path.name}:1:1: it belongs to nobody" in done.err


@pytest.mark.parametrize(
    ("uid", "gid", "mode", "code"),
    [
        (NOBODY, NOBODY, 0o644, 0),
        (NOBODY, GROUP, 0o664, 0),
        (0, GROUP, 0o664, 0),
        (0, 0, 0o666, 2),
    ],
)
def test_the_centre_s_own_counts_unless_everybody_may_write_it(
    profile: Path, tmp_path: Path, uid: int, gid: int, mode: int, code: int
) -> None:
    assert profile.exists()
    site = tmp_path / "site/profiles/lumi-g.yaml"
    site.parent.mkdir(parents=True)
    site.write_text("name: lumi-g\nsummary: ours\n")
    for path in (site, site.parent):
        give(path, uid=uid, gid=gid)
    site.chmod(mode)
    done = envcfg("wrap", "--profile", "lumi-g", "--container", "none")
    assert done.code == code, done.err


def test_the_user_s_own_folder_is_checked_too(profile: Path) -> None:
    user = profile.with_name("lumi-g.yaml")
    user.write_text("name: lumi-g\nsummary: mine\n")
    assert envcfg("wrap", "--profile", "lumi-g", "--container", "none").code == 0
    open_to_group(user)
    assert envcfg("wrap", "--profile", "lumi-g", "--container", "none").code == 2


ENFORCED = {
    "wrap": ("wrap", *NAMED),
    "sbatch": ("sbatch", *NAMED, "--time", "5", "--", "true"),
    "check-log": ("check-log", "--profile", "workstation", "/dev/null"),
    "monitor": ("monitor", "12", "--profile", "workstation"),
    "inspect": ("inspect", "/", "--profile", "workstation"),
    "lint": ("lint", "--profile", "workstation", "/dev/null"),
}


@pytest.mark.parametrize("name", ENFORCED)
def test_what_makes_or_judges_a_job_refuses(profile: Path, name: str) -> None:
    give(profile, uid=NOBODY)
    done = envcfg(*ENFORCED[name])
    assert done.code == 2
    assert "it belongs to nobody, not to you" in done.err


LOOKING = {
    "show": (("profiles", "show", "workstation"), 0),
    "diff": (("profiles", "diff", "workstation", "lumi-g"), 1),
    "list": (("profiles", "list"), 0),
    "validate": (("profiles", "validate", "../envcfg/profiles"), 0),
    "detect": (("profiles", "detect"), 3),
    "explain": (("explain", "LD_PRELOAD"), 0),
}


@pytest.mark.parametrize("name", LOOKING)
def test_what_only_looks_says_that_it_would_not_count(profile: Path, name: str) -> None:
    arguments, code = LOOKING[name]
    assert "may write" not in envcfg(*arguments).err
    give(profile, uid=NOBODY)
    done = envcfg(*arguments)
    assert done.code == code
    assert "workstation.yaml: it belongs to nobody, not to you; " in done.err
    assert "; wrap would refuse it\n" in done.err


def test_a_new_profile_is_made_without_the_files_of_others(profile: Path) -> None:
    give(profile, uid=NOBODY)
    done = envcfg("profiles", "new", "x", "--extends", "workstation", "-o", "-")
    assert (done.code, "evil" in done.text) == (0, False)
    assert "workstation.yaml: it belongs to nobody" in done.err
    assert "; the file is left out\n" in done.err


def test_an_ordinary_user_relies_on_root_and_nobody_else(
    profile: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    require_root()
    require("setpriv")
    monkeypatch.setenv("HOME", str(tmp_path / "top"))
    give_all(profile, 1234)
    for each in (profile.parents[1], *profile.parents[1].rglob("*")):
        give(each, gid=NOBODY)  # a member of the user's group
    # The checkout and Python may be in folders that only root reads.
    reading = ("--inh-caps=+dac_override", "--ambient-caps=+dac_override")
    user = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", *reading)

    def run(*arguments: str) -> subprocess.CompletedProcess[bytes]:
        argv = [*user, sys.executable, "-m", "envcfg", *arguments]
        return subprocess.run(argv, capture_output=True, check=False)

    done = run("wrap", *NAMED)
    assert done.returncode == 2, done.stderr
    assert b"it belongs to 1234, not to you" in done.stderr
    theirs = envcfg("wrap", *NAMED)  # for root, the owner is a stranger
    assert (theirs.code, b"evil" in theirs.out) == (0, False)
    assert "is ignored, because it belongs to 1234, not to you" in theirs.err
    give_all(profile, 0)
    assert run("wrap", *NAMED).returncode == 0


# What lies over a built-in profile


def test_a_profile_over_a_built_in_one_says_so(profile: Path) -> None:
    own = profile.with_name("own.yaml")
    own.write_text("name: own\n")
    note = f"note: {profile}: changes the built-in profile of this name"
    done = envcfg("wrap", *NAMED)
    assert note in done.err
    assert "hint: what comes from where: envcfg profiles show workstation" in done.err
    plan = envcfg("wrap", *NAMED, "--print", "plan")
    assert f"layer      {profile} changes the built-in profile" in plan.text
    found = json.loads(envcfg("wrap", *NAMED, "--json").text)["findings"]
    assert [each["subject"] for each in found if each["rule"] == "profile-over-built-in"] == [str(profile)]  # fmt: skip
    assert note in envcfg("check-log", "--profile", "workstation", "/dev/null").err
    for name in ("own", "lumi-g"):
        done = envcfg("wrap", "--profile", name, "--container", "none")
        assert (done.code, "changes the built-in" in done.err) == (0, False)


def test_a_family_over_a_built_in_one_says_so_too(profile: Path) -> None:
    family = profile.with_name("slingshot.yaml")
    family.write_text("name: slingshot\nsummary: mine\n")
    done = envcfg("wrap", "--profile", "lumi-g", "--container", "none")
    assert f"note: {family}: changes the built-in profile of this name" in done.err


# What it costs


def test_who_has_built_in_profiles_only_pays_nothing(tmp_path: Path) -> None:
    code = (
        "import sys, envcfg.cli\n"
        "code = envcfg.cli.main(['wrap', '--profile', 'lumi-g', '--container', 'none'])\n"
        "loaded = {m for m in sys.modules if m.startswith('envcfg.profile.')}\n"
        "assert not loaded & {'envcfg.profile.' + m for m in ('guard', 'ownership')}\n"
        "sys.exit(code)"
    )
    env = {**os.environ, "HOME": str(tmp_path), "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        check=False,
        cwd=tmp_path,
        env=env,
    )
    assert done.returncode == 0, done.stderr
