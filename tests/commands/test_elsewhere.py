"""Profiles from elsewhere: fetched, shown, asked for, pinned; and hostile repositories."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from envcfg.origin.fetched import MOST_FILES
from envcfg.profile.folders import profile_folders
from support import Wrapped, envcfg, require_root

REASON = "why: w, source: s, date: 2026-01-01"
LUMI = f"""\
name: lumi-g
env:
  NCCL_DEBUG: {{value: INFO, {REASON}}}
  NCCL_CROSS_NIC: null
launch:
  srun:
    --task-prolog=/group/prolog.sh: {{{REASON}}}
container:
  binds:
    /group/data: {{{REASON}}}
modules:
  Local-CSC: {{{REASON}}}
"""
OWN = "name: our-own\nextends: lumi-g\nsummary: ours\n"
USED = ("wrap", "--profile", "lumi-g", "--container", "none", "--", "true")


class Group:
    """A repository of a group, as it publishes profiles."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.mkdir(parents=True)
        self.git("init", "--quiet", "--initial-branch=main")
        self.git("config", "user.name", "A. Person")
        self.git("config", "user.email", "a@example.org")

    def git(self, *words: str | Path) -> str:
        done = subprocess.run(
            ["git", "-c", "protocol.file.allow=always", *map(str, words)],
            cwd=self.path,
            check=True,
            capture_output=True,
            text=True,
        )
        return done.stdout.strip()

    def write(self, name: str, text: str | bytes) -> None:
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode() if isinstance(text, str) else text)

    def commit(self, **files: str) -> str:
        for name, text in files.items():
            self.write(f"profiles/{name.replace('_', '-')}.yaml", text)
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message=x")
        return self.git("rev-parse", "HEAD")


@pytest.fixture(autouse=True)
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where added profiles are kept; no other layers."""
    for name in ("ENVCFG_PROFILE", "SLURM_CLUSTER_NAME", "SLURM_JOB_ID"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("ENVCFG_SITE", str(tmp_path / "site"))
    for name in ("CONFIG", "STATE", "DATA"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name.lower()))
    (tmp_path / "tmp").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path / "data/envcfg"


@pytest.fixture
def group(tmp_path: Path) -> Group:
    return Group(tmp_path / "srv/group")


def run(*words: str | Path) -> Wrapped:
    return envcfg("profiles", *map(str, words))


def added(data: Path) -> list[str]:
    folder = data / "added"
    return sorted(os.listdir(folder)) if folder.exists() else []


def nothing_left(data: Path) -> None:
    assert added(data) == []
    kept = data / "kept"
    assert not kept.exists() or not os.listdir(kept)
    assert os.listdir(os.environ["TMPDIR"]) == []


def test_what_is_added_is_shown_first_and_counts_at_its_commit(
    data: Path, group: Group
) -> None:
    commit = group.commit(lumi_g=LUMI, our_own=OWN)
    shown = run("add", group.path)
    assert shown.code == 1
    for said in (
        f"commit {commit[:12]} of ",
        "by A. Person <a@example.org>",
        "  NCCL_DEBUG=INFO\n",
        "  env NCCL_CROSS_NIC [lumi-g.yaml:4]\n",
        "--task-prolog=/group/prolog.sh\n",
        "  /group/data\n",
        "  Local-CSC",
        "added: lumi-g, over the one of layer built-in; jobs by this name get:\n",
        "+ NCCL_DEBUG=INFO",
        "added: our-own\n",
    ):
        assert said in shown.text, said
    assert "nothing was added\n  hint: --yes" in shown.err
    nothing_left(data)
    before = envcfg(*USED).out
    assert run("add", group.path, "--yes").code == 0
    assert added(data) == ["group"]
    used = envcfg(*USED)
    assert b"NCCL_DEBUG INFO\n" in used.out
    assert b"NCCL_DEBUG" not in before
    assert "added/group/lumi-g.yaml: lies over the built-in profile" in used.err
    group.commit(lumi_g=LUMI.replace("INFO", "TRACE"))
    assert envcfg(*USED).out == used.out
    listed = json.loads(run("list", "--json").text)
    assert listed["sources"][0]["commit"] == commit
    (lumi,) = [each for each in listed["profiles"] if each["name"] == "lumi-g"]
    assert (lumi["layers"], lumi["sources"]) == (["built-in", "added"], ["group"])
    assert f"group: {group.path}, commit {commit[:12]}" in run("list").text
    assert os.stat(data / "kept").st_mode & 0o777 == 0o700


@pytest.mark.parametrize("of", ["HEAD^{tree}", "HEAD:profiles/lumi-g.yaml"])
def test_a_tag_of_no_commit_is_none(data: Path, group: Group, of: str) -> None:
    group.commit(lumi_g=LUMI)
    group.git("tag", "odd", group.git("rev-parse", of))
    done = run("add", group.path, "--ref", "odd", "--yes")
    assert done.code == 4
    assert "odd is no commit" in done.err
    nothing_left(data)


def test_of_a_repository_of_another_it_says_what_makes_git_take_it(
    data: Path, group: Group
) -> None:
    require_root()
    group.commit(lumi_g=LUMI)
    for folder, _, files in os.walk(group.path):
        for each in ("", *files):
            os.lchown(os.path.join(folder, each), 65534, 65534)
    done = run("add", group.path, "--yes")
    assert done.code == 4
    assert (
        "if you trust its owner: git config --global --add safe.directory" in done.err
    )
    nothing_left(data)


def test_the_place_without_profiles_is_named(group: Group) -> None:
    group.git("commit", "--quiet", "--allow-empty", "--message=x")
    group.write("our-own.yaml", OWN)
    group.git("add", "--all")
    group.git("commit", "--quiet", "--message=x")
    assert run("add", group.path, "--yes").code == 0
    group.git("rm", "--quiet", "our-own.yaml")
    group.git("commit", "--quiet", "--message=x")
    done = run("update", "group")
    assert done.code == 4
    assert "no profile in its top\n" in done.err


def test_an_update_shows_what_differs_between_the_commits(
    data: Path, group: Group
) -> None:
    first = group.commit(lumi_g=LUMI, our_own=OWN)
    assert run("add", group.path, "--yes").code == 0
    assert run("update").text == f"group: as it is there, {first[:12]}\n"
    (group.path / "profiles/our-own.yaml").unlink()
    changed = LUMI.replace("INFO", "WARN").replace("  NCCL_CROSS_NIC: null\n", "")
    second = group.commit(lumi_g=changed, third=OWN.replace("our-own", "third"))
    done = run("update")
    assert done.code == 1
    for said in (
        "- NCCL_DEBUG=INFO  [lumi-g.yaml:3]\n+ NCCL_DEBUG=WARN  [lumi-g.yaml:3]\n",
        "removed: our-own\n",
        "added: third\n",
        f"group: stays at {first[:12]}\n",
    ):
        assert said in done.text, said
    assert run("list").text.count(first[:12]) == 1
    looked = json.loads(run("update", "group", "--json").text)["sources"][0]
    assert (looked["done"], looked["before"]["commit"]) == (False, first)
    assert {each["name"]: each["kind"] for each in looked["profiles"]} == {
        "lumi-g": "changed", "our-own": "removed", "third": "added"
    }  # fmt: skip
    assert run("update", "--yes").code == 0
    assert b"NCCL_DEBUG WARN\n" in envcfg(*USED).out
    back = run("update", "group", "--ref", first, "--yes")
    assert back.code == 0, back.err
    assert second[:12] in back.text
    gone = run("remove", "group")
    assert (gone.code, gone.text.splitlines()[-1]) == (0, "removed: group")
    nothing_left(data)
    assert b"NCCL_DEBUG" not in envcfg(*USED).out


def test_an_update_without_other_values_says_so(group: Group) -> None:
    group.commit(lumi_g=LUMI)
    assert run("add", group.path, "--yes").code == 0
    group.commit(lumi_g=LUMI + "# a comment\n")
    done = run("update", "--yes")
    assert done.code == 0
    assert "only reasons or comments differ" in done.text


def test_one_source_that_is_gone_does_not_stop_the_others(
    data: Path, group: Group, tmp_path: Path
) -> None:
    other = Group(tmp_path / "srv/another")
    other.commit(our_own=OWN)
    group.commit(lumi_g=LUMI)
    for each in (other, group):
        assert run("add", each.path, "--yes").code == 0
    other.path.rename(tmp_path / "srv/gone")
    done = run("update")
    assert done.code == 2
    assert "another: no such folder" in done.err
    assert "group: as it is there" in done.text
    assert added(data) == ["another", "group"]


@pytest.mark.parametrize("ref", ["v1", "side", "commit"])
def test_a_ref_is_a_branch_a_tag_or_a_commit(group: Group, ref: str) -> None:
    first = group.commit(lumi_g=LUMI)
    group.git("tag", "v1")
    group.git("branch", "side")
    group.commit(lumi_g=LUMI.replace("INFO", "WARN"))
    done = run("add", group.path, "--ref", first if ref == "commit" else ref, "--yes")
    assert done.code == 0, done.err
    assert b"NCCL_DEBUG INFO\n" in envcfg(*USED).out


@pytest.mark.parametrize("place", ["profiles", ".envcfg/profiles", "", "hpc/all"])
def test_profiles_lie_where_they_usually_do_or_in_a_folder(
    data: Path, tmp_path: Path, place: str
) -> None:
    folder = tmp_path / "plain"
    (folder / place).mkdir(parents=True)
    (folder / place / "lumi-g.yaml").write_text(LUMI)
    words = ["--folder", place] if place == "hpc/all" else []
    assert run("add", f"file://{folder}", *words, "--yes").code == 0
    assert added(data) == ["plain"]
    (folder / place / "lumi-g.yaml").write_text(LUMI.replace("INFO", "WARN"))
    assert run("update").code == 1
    assert run("update", "--yes").code == 0
    assert b"NCCL_DEBUG WARN\n" in envcfg(*USED).out


def test_layers_are_built_in_site_added_user_project(
    data: Path, group: Group, tmp_path: Path
) -> None:
    group.commit(lumi_g=LUMI)
    assert run("add", group.path, "--yes").code == 0
    folders = profile_folders(os.environ, str(tmp_path))
    assert folders[1:] == [
        f"{tmp_path}/site/profiles", f"{data}/added/group", f"{tmp_path}/config/envcfg/profiles"
    ]  # fmt: skip
    for place, value in (("site", "SITE"), ("config/envcfg", "USER")):
        (tmp_path / place / "profiles").mkdir(parents=True)
        text = LUMI.replace("INFO", value)
        (tmp_path / place / "profiles/lumi-g.yaml").write_text(text)
        expected = b"NCCL_DEBUG INFO\n" if place == "site" else b"NCCL_DEBUG USER\n"
        assert expected in envcfg(*USED).out


def link_out(group: Group) -> None:
    group.path.joinpath("profiles").mkdir()
    group.path.joinpath("profiles/shadow.yaml").symlink_to("/etc/passwd")


def link_folder(group: Group) -> None:
    group.path.joinpath("profiles").symlink_to("/etc/ssl")


def huge(group: Group) -> None:
    group.write("profiles/big.yaml", b"#" * 200_000)


def thousands(group: Group) -> None:
    for number in range(3000):
        group.write(f"profiles/p{number}.yaml", f"name: p{number}\n")


def binary(group: Group) -> None:
    group.write("profiles/lumi-g.yaml", bytes(range(256)) * 40)


def newline(group: Group) -> None:
    group.write("profiles/a\nenvcfg: error: forged\x1b[2J.yaml", "name: a\n")


def deep(group: Group) -> None:
    group.write("profiles/deep.yaml", "name: deep\nenv: " + "[" * 40_000)


def laughs(group: Group) -> None:
    lines = ["name: laughs", "a0: &a0 [x, x]"]
    lines += [f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]" for n in range(1, 60)]
    group.write("profiles/laughs.yaml", "\n".join(lines))


def submodule(group: Group) -> None:
    other = Group(group.path.parent / "other")
    other.commit(lumi_g=LUMI)
    group.git("submodule", "--quiet", "add", other.path, "profiles/module.yaml")


def no_profile(group: Group) -> None:
    group.write("README", "nothing")


HOSTILE: dict[str, tuple[Callable[[Group], None], str, int]] = {
    "a link out": (link_out, "shadow.yaml: it is no plain file, and links are not followed", 4),
    "a link for a folder": (link_folder, "no profile in profiles, .envcfg/profiles, its top", 4),
    "a huge file": (huge, "big.yaml: 200000 bytes are more than", 4),
    "thousands of files": (thousands, f"3000 profiles are more than {MOST_FILES}", 4),
    "binary": (binary, "byte 0x80 is not UTF-8", 2),
    "a name with a newline": (newline, r"a\nenvcfg: error: forged\x1b[2J.yaml: no profile can", 4),
    "depth": (deep, "error: deep.yaml:", 2),
    "aliases": (laughs, "error: laughs.yaml:", 2),
    "a submodule": (submodule, "module.yaml: it is no plain file", 4),
    "no profile": (no_profile, "no profile in profiles, .envcfg/profiles, its top", 4),
}  # fmt: skip


@pytest.mark.parametrize("way", HOSTILE)
@pytest.mark.parametrize("kind", ["git", "folder"])
def test_a_hostile_repository_adds_nothing(
    data: Path, group: Group, way: str, kind: str
) -> None:
    make, said, code = HOSTILE[way]
    make(group)
    group.commit()
    if kind == "folder":
        if make is submodule:
            (group.path / "profiles/module.yaml/.git").unlink()
        subprocess.run(["rm", "-rf", group.path / ".git"], check=True)
    done = run("add", group.path, "--yes")
    assert done.code == code, done.err
    assert said in done.err
    assert "\x1b" not in done.err + done.text
    assert "\nenvcfg: error: forged" not in done.err
    nothing_left(data)


def test_nothing_of_a_repository_is_run(group: Group, tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    script = f"#!/bin/sh\ntouch {ran}\ncat\n"
    group.write("evil.sh", script)
    (group.path / "evil.sh").chmod(0o755)
    group.write(".gitattributes", "* filter=evil diff=evil\n")
    group.write(".gitmodules", '[submodule "a"]\n path = a\n url = ext::touch\\ ran\n')
    group.write(".lfsconfig", "[lfs]\n url = https://localhost:1\n")
    commit = group.commit(lumi_g=LUMI)
    for name in ("post-checkout", "post-merge", "pre-auto-gc", "reference-transaction",
                 "upload-pack", "post-update"):  # fmt: skip
        group.write(f".git/hooks/{name}", script)
        (group.path / f".git/hooks/{name}").chmod(0o755)
    for key in ("filter.evil.smudge", "core.fsmonitor", "uploadpack.packObjectsHook"):
        group.git("config", key, str(group.path / "evil.sh"))
    done = run("add", group.path, "--yes")
    assert done.code == 0, done.err
    assert commit[:12] in done.text
    assert not ran.exists()


def test_the_repository_of_the_current_folder_is_left_alone(
    group: Group, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = Group(tmp_path / "here")
    here.commit(our_own=OWN)
    before = sorted((here.path / ".git").rglob("*"))
    group.commit(lumi_g=LUMI)
    monkeypatch.chdir(here.path)
    monkeypatch.setenv("GIT_DIR", str(here.path / ".git"))
    assert run("add", group.path, "--yes").code == 0
    assert sorted((here.path / ".git").rglob("*")) == before


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("http://example.org/a.git", "which lets anybody on the way change them"),
        ("git://example.org/a.git", "which lets anybody on the way change them"),
        ("ext::sh -c 'touch ran'", "not fetched by ext:"),
        ("ftp://example.org/a", "not fetched by ftp:"),
        ("https://me:secret@example.org/a.git", "the address holds a password"),
        ("https://example.org/a.tar.gz", "archives are not taken"),
        ("https:///a", "no host is named"),
        ("https://[a", "Invalid IPv6"),
        ("ssh://-oProxyCommand=touch/a", "no host is named"),
        ("file://other/a", "names no other host"),
        ("/nowhere/at/all", "no such folder"),
        ("a\x1b[2J", "is no address"),
        ("", "is no address"),
    ],
)
def test_what_is_no_address_is_refused(url: str, said: str) -> None:
    done = run("add", "--yes", url)
    assert done.code == 2
    assert said in done.err
    assert "secret" not in done.err
    assert "\x1b" not in done.err
    assert not Path("ran").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--ref=--upload-pack=touch",), "is no branch, tag or commit"),
        (("--ref", "main:refs/heads/x"), "is no branch, tag or commit"),
        (("--folder", "../.."), "is no folder within"),
        (("--folder", "/etc"), "is no folder within"),
        (("--name", "../x"), "is no name of a source"),
    ],
)
def test_options_cannot_lead_elsewhere(
    data: Path, group: Group, words: tuple[str, ...], said: str
) -> None:
    group.commit(lumi_g=LUMI)
    done = run("add", group.path, "--yes", *words)
    assert done.code == 2
    assert said in done.err
    nothing_left(data)


def test_a_server_that_does_not_answer_is_an_error(data: Path) -> None:
    done = run("add", "https://localhost:1/group.git", "--yes")
    assert done.code == 4
    assert "https://localhost:1/group.git: cannot be fetched: " in done.err
    nothing_left(data)


def test_two_sources_have_no_profile_in_common(data: Path, group: Group) -> None:
    group.commit(lumi_g=LUMI)
    assert run("add", group.path, "--yes").code == 0
    again = run("add", group.path, "--yes")
    assert again.code == 2
    assert "there is a source group" in again.err
    other = run("add", group.path, "--name", "other", "--yes")
    assert other.code == 2
    assert "group has a profile lumi-g too" in other.err
    assert added(data) == ["group"]


def test_a_profile_that_takes_the_place_of_others_is_warned_of(group: Group) -> None:
    group.commit(
        our_own=OWN + "detect: {clusters: [lumi], hosts: ['*']}\n",
    )
    done = run("add", group.path, "--yes")
    assert done.code == 0
    assert "profile our-own: takes clusters lumi, as lumi-g does" in done.err
    assert "profile our-own: takes hosts *: every one" in done.err


def test_escapes_in_what_is_shown_are_written_out(group: Group) -> None:
    why = r'"fine\e[2J\n  LD_PRELOAD=\u202e"'
    text = LUMI.replace("why: w", f"why: {why}", 1)
    group.git("config", "user.name", "A\x1b]0;x\x07\u202e")
    group.commit(lumi_g=text)
    done = run("add", group.path, "--yes")
    assert done.code == 0, done.err
    listed = run("list")
    for each in (done.text, done.err, listed.text, run("remove", "group").text):
        assert not {"\x1b", "\x07", "\u202e"} & set(each)
    assert r"\x1b[2J" in done.text


def test_two_at_once_leave_one_whole_source(data: Path, group: Group) -> None:
    group.commit(lumi_g=LUMI)
    argv = [sys.executable, "-m", "envcfg", "profiles", "add", str(group.path), "--yes"]
    several = [
        subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        for _ in range(4)
    ]
    codes = sorted(each.wait(60) for each in several)
    for each in several:
        assert each.stderr
        each.stderr.close()
    assert codes == [0, 2, 2, 2]
    assert added(data) == ["group"]
    assert len(os.listdir(data / "kept")) == 1
    assert envcfg(*USED).code == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_fetch_leaves_nothing(
    data: Path, group: Group, tmp_path: Path, number: int
) -> None:
    group.commit(lumi_g=LUMI)
    # A git that begins, and hangs as a server may.
    folder = tmp_path / "bin"
    folder.mkdir()
    slow = folder / "git"
    slow.write_text(
        f'#!/bin/sh\ncase " $* " in *" fetch "*) touch {tmp_path}/begun; exec sleep 61 ;; '
        'esac\nexec /usr/bin/git "$@"\n'
    )
    slow.chmod(0o755)
    child = subprocess.Popen(
        [sys.executable, "-m", "envcfg", "profiles", "add", group.path, "--yes"],
        env={**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"},
        stderr=subprocess.DEVNULL,
        stdin=subprocess.DEVNULL,
    )
    deadline = time.monotonic() + 30
    while not (tmp_path / "begun").exists():
        assert time.monotonic() < deadline
        time.sleep(0.01)
    child.send_signal(number)
    assert child.wait(20) == 128 + number
    nothing_left(data)


@pytest.mark.parametrize(("answer", "code"), [(b"y\n", 0), (b"\n", 1), (b"\x04", 1)])
def test_on_a_terminal_it_asks(
    data: Path, group: Group, answer: bytes, code: int
) -> None:
    group.commit(lumi_g=LUMI)
    leader, follower = pty.openpty()
    child = subprocess.Popen(
        [sys.executable, "-m", "envcfg", "profiles", "add", group.path],
        stdin=follower,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    os.close(follower)
    os.write(leader, answer)
    _, said = child.communicate(timeout=60)
    os.close(leader)
    assert child.returncode == code
    assert b"add 1 profile as group? [y/N]" in said
    assert added(data) == (["group"] if code == 0 else [])


def test_what_nothing_leads_to_goes_after_a_day(data: Path, group: Group) -> None:
    for name in ("left-0123456789abcdef", "fresh-0123456789abcdef"):
        (data / "kept" / name).mkdir(parents=True)
    long_ago = time.time() - 3 * 24 * 3600
    os.utime(data / "kept/left-0123456789abcdef", (long_ago, long_ago))
    (data / "added").mkdir()
    link = data / "added/.left-0123456789abcdef"  # killed before its rename
    link.symlink_to("../kept/left-0123456789abcdef")
    os.utime(link, (long_ago, long_ago), follow_symlinks=False)
    group.commit(lumi_g=LUMI)
    assert run("add", group.path, "--yes").code == 0
    left = {name.partition("-")[0] for name in os.listdir(data / "kept")}
    assert left == {"fresh", "group"}
    assert sorted(os.listdir(data / "added")) == ["group"]


def test_kept_profiles_of_another_user_do_not_count(data: Path, group: Group) -> None:
    require_root()
    group.commit(lumi_g=LUMI)
    assert run("add", group.path, "--yes").code == 0
    (kept,) = (data / "kept").iterdir()
    os.chown(kept / "lumi-g.yaml", 65534, 65534)
    used = envcfg(*USED)
    assert used.code == 0
    assert "lumi-g.yaml: is ignored, because it belongs to nobody" in used.err


def test_a_lost_record_says_what_to_do(data: Path, group: Group) -> None:
    group.commit(lumi_g=LUMI)
    assert run("add", group.path, "--yes").code == 0
    (kept,) = (data / "kept").iterdir()
    (kept / "source.json").write_text("{")
    done = run("update")
    assert done.code == 2
    assert (
        "what was known of it is lost\n  hint: envcfg profiles remove group" in done.err
    )
    assert run("list").code == 0
    assert run("remove", "group").code == 0
    nothing_left(data)


@pytest.mark.parametrize("form", ["ssh://me@example.org{}", "me@example.org:{}"])
def test_a_repository_by_ssh_is_fetched_by_the_user_s_own_ssh(
    data: Path,
    group: Group,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    form: str,
) -> None:
    # What sshd would run there runs here.
    ssh = tmp_path / "ssh"
    ssh.write_text('#!/bin/sh\nfor each; do :; done\nexec sh -c "$each"\n')
    ssh.chmod(0o755)
    monkeypatch.setenv("GIT_SSH_COMMAND", str(ssh))
    monkeypatch.setenv("GIT_SSH_VARIANT", "ssh")
    commit = group.commit(lumi_g=LUMI)
    done = run("add", form.format(group.path), "--yes")
    assert done.code == 0, done.err
    assert added(data) == ["group"]
    assert commit[:12] in run("update").text
