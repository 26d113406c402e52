"""Reading a profile whose owner matters: its bytes, who may have written it, what to do."""

from __future__ import annotations

import errno
import os
import shlex
import stat
from collections.abc import Sequence
from typing import NamedTuple

from envcfg.findings import Finding, Place
from envcfg.profile.read.nodes import MAX_BYTES
from envcfg.profile.records import folder_problem, is_recorded, recorded_paths
from envcfg.profile.trust import Doubt, Entry, judge, strangers

_MOST_LINKS = 40  # as Linux


class Examined(NamedTuple):
    """A file as it was read, once.

    Attributes:
        real: its path without links.
        data: its bytes.
        doubt: why it does not count by itself.
    """

    real: str
    data: bytes
    doubt: Doubt | None


def examine(path: str, *, site: str) -> Examined:
    """Read a file, and judge who may have written it.

    Args:
        site: the folder of the centre's profiles, which are judged more mildly.

    Raises:
        OSError: it cannot be read.
    """
    real, way = _follow(path)
    # Where the way counts, nobody else can change it before the next line; where it does
    # not, the user's word is on the bytes that are read here.
    # Until then another may put a link there, or a pipe that nobody writes to.
    handle = os.open(real, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(handle, "rb") as file:
        way[-1] = _entry(real, os.fstat(handle))
        if not stat.S_ISREG(way[-1].mode):
            raise OSError(errno.EINVAL, "it is not a regular file", real)
        data = file.read(MAX_BYTES + 1)
    uid = os.geteuid()
    is_site = os.path.dirname(path) == site or os.path.dirname(real) == site
    doubt = judge(way, uid, site=is_site)
    if doubt and doubt.who == "group":
        shared = tuple(each for each in doubt.entries if not _is_users_alone(each, uid))
        doubt = Doubt("group", shared) if shared else None
    return Examined(real, data, doubt)


def strangers_on(path: str, below: str) -> str | None:
    """Return what is a stranger's on the way from *below* to *path*, if anything is.

    Raises:
        OSError: something on the way cannot be looked at.
    """
    known = len(_follow(below)[1])
    way = _follow(path)[1][known - 1 :]
    found = strangers(way, os.geteuid(), {os.getegid(), *os.getgroups()})
    return found.path if found else None


def ignored(path: str, folder: str) -> Finding | None:
    """Return the note on a file that is as good as none, as a stranger has put it there.

    Args:
        folder: that of the profiles in which it was looked for.
    """
    try:
        found = strangers_on(path, os.path.dirname(os.path.dirname(folder)))
    except OSError:  # gone by now, or closed to us: whoever reads it says so
        return None
    if found is None:
        return None
    owner = _user(os.lstat(found).st_uid)
    return Finding(
        rule="profile-of-stranger",
        severity="note",
        subject=found,
        message=f"is ignored, because it belongs to {owner}, not to you",
        fix=f"to use it, name the file: --profile {shlex.quote(path)}",
    )


def refusal(found: Examined, shown: str, records: str) -> Finding | None:
    """Return why a file does not count; None, if it does.

    Args:
        records: folder of the user's words on content.
    """
    doubt, place, name = found.doubt, Place(shown, 1), shlex.quote(shown)
    if doubt is None:
        return None
    if not doubt.is_final and is_recorded(records, found.real, found.data):
        return None
    nobody_else = f"chmod {'o' if doubt.is_final else 'g'}-w "
    nobody_else += shlex.join(each.path for each in doubt.entries)
    if doubt.is_final:
        said = f"never trusted: {_reason(doubt, found.real)}"
        look = "less" if shown.endswith(".toml") else "envcfg profiles show"
        hint = f"look at it ({look} {name}), then "
        if not _are_users(doubt.entries):
            owner = _user(doubt.entries[-1].uid)
            hint += f"make your own copy, or ask {owner} to run: "
        hint += nobody_else
    else:
        said = f"not trusted: {_reason(doubt, found.real)}"
        hint = (
            f"before the job, look at it, then trust it: envcfg profiles trust {name}"
        )
        if problem := folder_problem(records):
            said += f"; what you trust does not count: {problem}"
        elif found.real in recorded_paths(records).values():
            said += "; it is not what you trusted: that has changed"
        if doubt.who == "group" and _are_users(doubt.entries):
            hint += f"; or let nobody else write it: {nobody_else}"
    return Finding("profile-not-trusted", "error", "", said, hint, place=place)


def _reason(doubt: Doubt, file: str) -> str:
    nearest = doubt.entries[-1]
    what = "it" if nearest.path == file else nearest.path
    if doubt.who == "everybody":
        return f"everybody may write {what}"
    if doubt.who == "group":
        return f"group {_group(nearest.gid)} may write {what}"
    return f"{what} belongs to {_user(nearest.uid)}, not to you"


def _are_users(entries: Sequence[Entry]) -> bool:
    """Tell whether the user may change the permissions of all of them."""
    uid = os.geteuid()
    return uid == 0 or all(each.uid == uid for each in entries)


def _follow(path: str) -> tuple[str, list[Entry]]:
    """Return where *path* leads, and all that the kernel passes on the way there."""
    way = [_entry("/", os.stat("/"))]
    here, links = "", 0
    todo = os.path.join(os.getcwd(), path).split("/")[::-1]
    while todo:
        part = todo.pop()
        if part in {"", "."}:
            continue
        if part == "..":
            here = here.rpartition("/")[0]
            continue
        entry = _entry(f"{here}/{part}", os.lstat(f"{here}/{part}"))
        way.append(entry)
        if not stat.S_ISLNK(entry.mode):
            here = entry.path
            continue
        links += 1
        if links > _MOST_LINKS:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)
        target = os.readlink(entry.path)
        if target.startswith("/"):
            here = ""
        todo += target.split("/")[::-1]
    return here or "/", way


def _entry(path: str, found: os.stat_result) -> Entry:
    return Entry(path, found.st_uid, found.st_gid, found.st_mode)


def _is_users_alone(entry: Entry, uid: int) -> bool:
    """Tell whether the group that may write is the user's own, with nobody else in it.

    Many sites give each user such a group, and let it write all that the user makes. Not
    so root: what root runs is everybody's matter, and root's umask lets no group write.
    """
    if uid == 0:
        return False
    import grp
    import pwd

    try:
        user, group = pwd.getpwuid(uid), grp.getgrgid(entry.gid)
    except KeyError:
        return False
    named_alike = entry.gid == user.pw_gid and group.gr_name == user.pw_name
    alone = named_alike and set(group.gr_mem) <= {user.pw_name}
    return alone and not _has_acl(entry.path)


def _has_acl(path: str) -> bool:
    """Tell whether the group's bits say what others may do who are named in a list."""
    try:
        return "system.posix_acl_access" in os.listxattr(path)
    except OSError as err:
        return err.errno != errno.ENOTSUP


def _user(uid: int) -> str:
    import pwd

    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def _group(gid: int) -> str:
    import grp

    try:
        return grp.getgrgid(gid).gr_name
    except KeyError:
        return str(gid)
