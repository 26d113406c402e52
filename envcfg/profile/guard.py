"""Check which users can write a file that affects a job, and refuse or ignore it."""

import errno
import os
import shlex
import stat
from collections.abc import Sequence

from envcfg.common.errors import ProfileError
from envcfg.common.findings import Finding, Place
from envcfg.profile.ownership import Doubt, OwnedPath, judge, strangers
from envcfg.profile.read.yaml_nodes import MAX_BYTES

_MOST_LINKS = 40  # the limit of Linux


def examine(
    path: str, *, site: str = "", writable: bool = False
) -> tuple[str, bytes, Doubt | None]:
    """Read a file, and determine the users that can write it.

    Args:
        site: the folder of the site's profiles, which have milder rules.
        writable: members of the user's groups may write it.

    Returns:
        Its path without links, its bytes, and the reason not to use it, if any.

    Raises:
        OSError: it cannot be read.
    """
    real, way = _follow(path)
    # If the path is safe, no other user can change it before the next line. If not,
    # another user may put a link or a pipe there.
    handle = os.open(real, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(handle, "rb") as file:
        way[-1] = _entry(real, os.fstat(handle))
        if not stat.S_ISREG(way[-1].mode):
            raise OSError(errno.EINVAL, "it is not a regular file", real)
        data = file.read(MAX_BYTES + 1)
    is_site = os.path.dirname(path) == site or os.path.dirname(real) == site
    return real, data, _judge(way, is_site=is_site, writable=writable)


def check_file(path: str, *, writable: bool = False) -> None:
    """Check the users that can write a file, which need not exist on this machine.

    Args:
        writable: members of the user's groups may write it.

    Raises:
        ProfileError: other users can write it, or its folders cannot be examined.
    """
    way: list[OwnedPath] = []
    try:
        real, _ = _follow(path, way)
    except FileNotFoundError:
        # Every user who can write its folder can create it, even in a sticky one.
        real = folder = os.path.realpath(path)
        while not os.path.lexists(folder):
            folder = os.path.dirname(folder)
        way = [
            entry._replace(mode=entry.mode & ~stat.S_ISVTX)
            if entry.path == folder
            else entry
            for entry in way
        ]
    except OSError as err:
        message = f"its owner cannot be determined: {err.strerror}"
        raise ProfileError([_finding(message, "check the path", path)]) from err
    if doubt := _judge(way, is_site=False, writable=writable):
        raise refuse(doubt, real, path)


def _judge(way: Sequence[OwnedPath], *, is_site: bool, writable: bool) -> Doubt | None:
    uid = os.geteuid()
    doubt = judge(way, uid, site=is_site)
    if doubt is None or doubt.writers == "everybody":
        return doubt
    shared = doubt.entries
    if doubt.writers == "group":
        shared = tuple(e for e in shared if not _is_users_alone(e, uid))
    is_groups = not strangers(way, uid, _groups())
    if not shared or (writable and is_groups):
        return None
    return Doubt(doubt.writers, shared, is_groups)


def refuse(doubt: Doubt, real: str, display: str) -> ProfileError:
    """Return the error for a file that other users can write.

    Args:
        real: its path without links.
        display: its name for messages.
    """
    nearest = doubt.entries[-1]
    name = "it" if nearest.path == real else nearest.path
    reasons = {
        "everybody": f"everybody may write {name}",
        "group": f"group {group_name(nearest.gid)} may write {name}",
        "owner": f"{name} belongs to {user_name(nearest.uid)}, not to you",
    }
    reason = reasons[doubt.writers]
    if doubt.writers == "group" and _has_acl(nearest.path):
        reason = f"an access list (getfacl) lets others write {name}"
    uid, owners = os.geteuid(), {entry.uid for entry in doubt.entries}
    letter = "o" if doubt.writers == "everybody" else "g"
    remedy = f"chmod {letter}-w {shlex.join(entry.path for entry in doubt.entries)}"
    if doubt.writers == "owner":
        remedy = "make your own copy"
    elif uid != 0 and owners != {uid}:
        owner = user_name(nearest.uid)
        remedy = f"make your own copy, or ask {owner} to run: {remedy}"
    if doubt.is_groups:
        remedy += "; --allow-writable accepts what your groups may write"
    message = f"{reason}; only you and root may write it and the folders above it"
    return ProfileError([_finding(message, remedy, display)])


def _finding(message: str, remedy: str, display: str) -> Finding:
    place = Place(display, 1)
    return Finding("writable-by-others", "error", "", message, remedy, place=place)


def strangers_on(path: str, below: str) -> str | None:
    """Return the first entry on the way to *path* that another user controls, if any.

    Args:
        path: the last entry to examine.
        below: a folder above it: the first entry to examine.

    Raises:
        OSError: a folder on the path cannot be examined.
    """
    depth = len(_follow(below)[1])
    way = _follow(path)[1][depth - 1 :]
    entry = strangers(way, os.geteuid(), _groups())
    return entry.path if entry else None


def ignored(path: str, folder: str) -> Finding | None:
    """Return the note on a file that is ignored because it belongs to another user.

    Args:
        folder: the folder of profiles with this file.
    """
    try:
        stranger = strangers_on(path, os.path.dirname(os.path.dirname(folder)))
    except OSError:  # missing or unreadable: its reader reports it
        return None
    if stranger is None:
        return None
    owner = user_name(os.lstat(stranger).st_uid)
    return Finding(
        rule="profile-of-stranger",
        severity="note",
        subject=stranger,
        message=f"is ignored, because it belongs to {owner}, not to you",
        fix=f"to use it, name the file: --profile {shlex.quote(path)}",
    )


def as_note(finding: Finding, effect: str) -> Finding:
    """Return the finding of a refusal as a note on the file, with the effect."""
    return finding._replace(
        severity="note",
        subject=finding.place.path if finding.place else "",
        message=f"{finding.message}; {effect}",
        place=None,
    )


def _groups() -> set[int]:
    return {os.getegid(), *os.getgroups()}


def _follow(
    path: str, way: list[OwnedPath] | None = None
) -> tuple[str, list[OwnedPath]]:
    """Return the target of *path*, and all entries that the kernel passes on the way.

    Args:
        way: receives the entries, so that they are known even after an error.
    """
    way = [] if way is None else way
    way.append(_entry("/", os.stat("/")))
    current, links = "", 0
    todo = os.path.join(os.getcwd(), path).split("/")[::-1]
    while todo:
        part = todo.pop()
        if part in {"", "."}:
            continue
        if part == "..":
            current = current.rpartition("/")[0]
            continue
        entry = _entry(f"{current}/{part}", os.lstat(f"{current}/{part}"))
        way.append(entry)
        if not stat.S_ISLNK(entry.mode):
            current = entry.path
            continue
        links += 1
        if links > _MOST_LINKS:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)
        target = os.readlink(entry.path)
        if target.startswith("/"):
            current = ""
        todo += target.split("/")[::-1]
    return current or "/", way


def _entry(path: str, status: os.stat_result) -> OwnedPath:
    return OwnedPath(path, status.st_uid, status.st_gid, status.st_mode)


def _is_users_alone(entry: OwnedPath, uid: int) -> bool:
    """Return whether the group with write permission contains only the user.

    Many sites give each user such a group, with write permission on all files of the
    user. Root is different: its files concern all users, and its umask gives no group
    write permission.
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
    """Return whether an access list may grant rights beyond the group's bits."""
    try:
        return "system.posix_acl_access" in os.listxattr(path)
    except OSError as err:
        return err.errno != errno.ENOTSUP


def user_name(uid: int) -> str:
    """Return the name of a user, or the number if there is none."""
    import pwd

    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def group_name(gid: int) -> str:
    """Return the name of a group, or the number if there is none."""
    import grp

    try:
        return grp.getgrgid(gid).gr_name
    except KeyError:
        return str(gid)
