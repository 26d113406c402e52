"""Who may have written a file: tables of what ``stat`` says of it and of the way there."""

from __future__ import annotations

import grp
import os
import pwd
import stat
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from envcfg.common.errors import ProfileError
from envcfg.profile import guard
from envcfg.profile.guard import check_file, examine
from envcfg.profile.ownership import OwnedPath, judge
from envcfg.profile.read.yaml_nodes import MAX_BYTES
from support import require, require_root

ME, ROOT, OTHER = 1000, 0, 1001
FOLDER, FILE, LINK = stat.S_IFDIR, stat.S_IFREG, stat.S_IFLNK

# What stands in the way of a file: kind, owner and permissions from / on; then who may
# write it, by the user's own rule and by that for the centre's files.
WAYS = {
    "mine": ([(FOLDER, ROOT, 0o755), (FOLDER, ME, 0o700), (FILE, ME, 0o644)], None, None),
    "root's": ([(FOLDER, ROOT, 0o755), (FILE, ROOT, 0o600)], None, None),
    "another's file": ([(FOLDER, ROOT, 0o755), (FILE, OTHER, 0o644)], "owner", None),
    "in another's folder": ([(FOLDER, ROOT, 0o755), (FOLDER, OTHER, 0o755), (FILE, ME, 0o644)], "owner", None),
    "below another's folder": ([(FOLDER, OTHER, 0o755), (FOLDER, ME, 0o755), (FILE, ME, 0o644)], "owner", None),
    "the group's file": ([(FOLDER, ROOT, 0o755), (FILE, ME, 0o664)], "group", None),
    "in the group's folder": ([(FOLDER, ROOT, 0o755), (FOLDER, ME, 0o2770), (FILE, ME, 0o644)], "group", None),
    "root's, and a group's": ([(FOLDER, ROOT, 0o775), (FILE, ROOT, 0o644)], "group", None),
    "everybody's file": ([(FOLDER, ROOT, 0o755), (FILE, ME, 0o646)], "everybody", "everybody"),
    "in everybody's folder": ([(FOLDER, ROOT, 0o777), (FILE, ME, 0o644)], "everybody", "everybody"),
    "below everybody's folder": ([(FOLDER, ROOT, 0o757), (FOLDER, ME, 0o700), (FILE, ME, 0o600)], "everybody", "everybody"),
    "everybody goes before the owner": ([(FOLDER, OTHER, 0o777), (FILE, OTHER, 0o666)], "everybody", "everybody"),
    "the owner goes before the group": ([(FOLDER, ROOT, 0o775), (FILE, OTHER, 0o664)], "owner", None),
    "mine in a sticky folder": ([(FOLDER, ROOT, 0o1777), (FILE, ME, 0o644)], None, None),
    "root's in a sticky folder": ([(FOLDER, ROOT, 0o1777), (FILE, ROOT, 0o644)], None, None),
    "mine below a sticky folder": ([(FOLDER, ROOT, 0o1777), (FOLDER, ME, 0o755), (FILE, ME, 0o644)], None, None),
    "in a sticky folder of a group": ([(FOLDER, ROOT, 0o1775), (FILE, ME, 0o644)], None, None),
    "in another's sticky folder": ([(FOLDER, OTHER, 0o1777), (FILE, ME, 0o644)], "owner", None),
    "another's in a sticky folder": ([(FOLDER, ROOT, 0o1777), (FOLDER, OTHER, 0o755), (FILE, OTHER, 0o644)], "owner", None),
    "everybody's in a sticky folder": ([(FOLDER, ROOT, 0o1777), (FILE, ME, 0o666)], "everybody", "everybody"),
    "a sticky file is not a folder": ([(FOLDER, ROOT, 0o755), (FILE, ME, 0o1666)], "everybody", "everybody"),
    "by a link of mine": ([(FOLDER, ROOT, 0o755), (LINK, ME, 0o777), (FILE, ME, 0o644)], None, None),
    "by another's link": ([(FOLDER, ROOT, 0o1777), (LINK, OTHER, 0o777), (FILE, ME, 0o644)], "owner", None),
}  # fmt: skip


def way_of(entries: list[tuple[int, int, int]]) -> list[OwnedPath]:
    return [
        OwnedPath(f"/{at}", uid, 0, kind | mode)
        for at, (kind, uid, mode) in enumerate(entries)
    ]


@pytest.mark.parametrize("name", WAYS)
def test_a_file_counts_where_nobody_else_can_have_written_it(name: str) -> None:
    entries, own, site = WAYS[name]
    for uid, expected, is_site in ((ME, own, False), (ME, site, True)):
        doubt = judge(way_of(entries), uid, site=is_site)
        assert (doubt and doubt.writers) == expected


def test_all_that_is_in_the_way_is_named() -> None:
    entries = [(FOLDER, ROOT, 0o755), (FOLDER, ME, 0o775), (FILE, ME, 0o664)]
    doubt = judge(way_of(entries), ME)
    assert doubt
    assert [each.path for each in doubt.entries] == ["/1", "/2"]


# The way that the kernel goes


def names(path: str, top: Path) -> list[str]:
    """Return what is passed below *top*, relative to it."""
    _, way = guard._follow(path)
    return [os.path.relpath(e.path, top) for e in way if e.path.startswith(f"{top}/")]


def test_links_are_judged_and_what_they_lead_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    top = tmp_path.resolve()
    (top / "real/deep").mkdir(parents=True)
    (top / "real/deep/p.yaml").write_text("x")
    (top / "links").mkdir()
    (top / "links/absolute").symlink_to(top / "real")
    (top / "links/relative.yaml").symlink_to("absolute/deep/../deep/p.yaml")
    real, _ = guard._follow(f"{top}/links/relative.yaml")
    assert real == f"{top}/real/deep/p.yaml"
    passed = [
        *("links", "links/relative.yaml", "links/absolute"),
        *("real", "real/deep", "real/deep", "real/deep/p.yaml"),
    ]
    assert names(f"{top}/links/relative.yaml", top) == passed
    monkeypatch.chdir(top / "links")
    assert names("relative.yaml", top) == passed
    (top / "links/circle").symlink_to("circle")
    with pytest.raises(OSError, match="symbolic links"):
        guard._follow("circle")


def test_dots_behind_a_link_are_what_the_kernel_takes_them_for(tmp_path: Path) -> None:
    top = tmp_path.resolve()
    (top / "a/b").mkdir(parents=True)
    (top / "a/p.yaml").write_text("the kernel's")
    (top / "p.yaml").write_text("what the words say")
    (top / "link").symlink_to("a/b")
    assert examine(f"{top}/link/../p.yaml", site="")[:2] == (
        f"{top}/a/p.yaml",
        b"the kernel's",
    )


# The group of the user alone


@pytest.mark.parametrize(
    ("name", "members", "primary", "acl", "alone"),
    [
        ("me", [], 7, [], True),
        ("me", ["me"], 7, [], True),
        ("me", ["me", "you"], 7, [], False),
        ("team", [], 7, [], False),
        ("me", [], 8, [], False),
        ("me", [], 7, ["system.posix_acl_access"], False),
    ],
)
def test_a_group_of_the_user_alone_is_no_group(
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    members: list[str],
    primary: int,
    acl: list[str],
    alone: bool,
) -> None:
    user = SimpleNamespace(pw_name="me", pw_gid=primary)
    group = SimpleNamespace(gr_name=name, gr_mem=members)
    monkeypatch.setattr(pwd, "getpwuid", lambda _: user)
    monkeypatch.setattr(grp, "getgrgid", lambda _: group)
    monkeypatch.setattr(os, "listxattr", lambda _: acl)
    entry = OwnedPath("/p.yaml", ME, 7, FILE | 0o664)
    assert guard._is_users_alone(entry, ME) is alone
    assert not guard._is_users_alone(entry, 0), "root's group is nobody's alone"


# Real files


def test_an_access_list_is_a_writer_of_its_own(tmp_path: Path) -> None:
    require("setfacl")
    path = tmp_path / "p.yaml"
    path.write_text("name: p\n")
    check_file(str(path))
    subprocess.run(["setfacl", "-m", "u:65534:r", path], check=True)
    check_file(str(path))
    subprocess.run(["setfacl", "-m", "u:65534:rw", path], check=True)
    with pytest.raises(ProfileError, match="an access list") as caught:
        check_file(str(path))
    assert f"chmod g-w {path}" in (caught.value.hint or "")
    path.chmod(0o644)  # limits the rights of the list
    check_file(str(path))


def test_an_access_list_on_a_folder_counts_too(tmp_path: Path) -> None:
    require("setfacl")
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "p.yaml").write_text("name: p\n")
    subprocess.run(["setfacl", "-d", "-m", "u:65534:rwx", folder], check=True)
    check_file(str(folder / "p.yaml"))  # a default for new files changes none
    subprocess.run(["setfacl", "-m", "u:65534:rwx", folder], check=True)
    with pytest.raises(ProfileError, match=f"access list .* write {folder}"):
        check_file(str(folder / "p.yaml"))


def test_a_private_group_is_no_group_unless_an_access_list_adds_one(
    tmp_path: Path,
) -> None:
    require_root()
    require("setpriv", "setfacl")
    user = pwd.getpwnam("daemon")
    assert grp.getgrgid(user.pw_gid).gr_name == "daemon"
    path = tmp_path / "p.yaml"
    path.write_text("name: p\n")
    for each in (tmp_path, path):
        os.chown(each, user.pw_uid, user.pw_gid)
    path.chmod(0o664)
    ids = (f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups")
    # The checkout and Python may be in folders that only root reads.
    caps = ("--inh-caps=+dac_override", "--ambient-caps=+dac_override")
    code = "import sys; from envcfg.profile.guard import check_file; check_file(sys.argv[1])"

    def problem() -> str:
        argv = ["setpriv", *ids, *caps, sys.executable, "-c", code, str(path)]
        done = subprocess.run(argv, capture_output=True, text=True, check=False)
        return done.stderr

    for parent in tmp_path.parents:
        assert parent.stat().st_uid in {0, user.pw_uid}
    assert problem() == ""
    subprocess.run(["setfacl", "-m", "u:65534:rw", path], check=True)
    assert "an access list (getfacl) lets others write it" in problem()


@pytest.mark.parametrize(
    ("mode", "is_safe"), [(0o755, True), (0o775, False), (0o1777, False)]
)
def test_a_missing_file_is_refused_if_others_can_create_it(
    tmp_path: Path, mode: int, is_safe: bool
) -> None:
    folder = tmp_path / "a"
    folder.mkdir()
    folder.chmod(mode)
    (tmp_path / "link.sh").symlink_to("a/missing.sh")
    for path in (folder / "missing.sh", folder / "b/missing.sh", tmp_path / "link.sh"):
        if is_safe:
            check_file(str(path))
        else:
            with pytest.raises(ProfileError, match=f"may write {folder}"):
                check_file(str(path))


def test_a_path_that_cannot_be_followed_is_refused(tmp_path: Path) -> None:
    (tmp_path / "circle").symlink_to("circle")
    (tmp_path / "file").write_text("")
    for name in ("circle", "file/x.sh"):
        with pytest.raises(ProfileError, match="its owner cannot be determined"):
            check_file(str(tmp_path / name))


def test_neither_a_pipe_nor_a_file_without_end_holds_it_up(tmp_path: Path) -> None:
    pipe, large = tmp_path / "pipe.yaml", tmp_path / "large.yaml"
    os.mkfifo(pipe)
    with pytest.raises(OSError, match="it is not a regular file"):
        examine(str(pipe), site="/nowhere")
    with open(large, "wb") as file:
        file.truncate(1 << 40)  # with nothing in it
    assert len(examine(str(large), site="/nowhere")[1]) == MAX_BYTES + 1
