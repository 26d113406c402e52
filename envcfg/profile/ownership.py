"""The users who can have written a file, from owners and permissions; pure.

A profile, a file of defaults and a file to source decide what a job runs. Therefore they
count only if no other user except root can have written or replaced them. The user may
accept the members of a group, but never everybody.
"""

import stat
from collections.abc import Collection, Sequence
from typing import Literal, NamedTuple


class OwnedPath(NamedTuple):
    """A folder, link or file on the path to a file."""

    path: str
    uid: int
    gid: int
    mode: int  # kind and permissions, as in `st_mode`


class Doubt(NamedTuple):
    """The reason not to use a file."""

    # The users that may have written or replaced it.
    writers: Literal["everybody", "owner", "group"]
    entries: tuple[OwnedPath, ...]  # the entries that allow it, from / on; at least one
    is_groups: bool = False  # these users are all members of the user's groups


def strangers(
    way: Sequence[OwnedPath], uid: int, groups: Collection[int]
) -> OwnedPath | None:
    """Return the first entry on the path that a stranger controls; None if there is
    none.

    A stranger is any user except this user and root. The entry belongs to no group of
    the user, or is in a folder where everybody may create files.

    Args:
        way: from the searched folder to the file itself.
    """
    above = way[0]
    # The owner of the folder above decides too: in /tmp, anybody can create an
    # entry of any name.
    for entry in way[1:]:
        is_other = entry.uid not in {uid, 0}
        if is_other and (above.mode & stat.S_IWOTH or entry.gid not in groups):
            return entry
        above = entry
    return None


def judge(way: Sequence[OwnedPath], uid: int, *, site: bool = False) -> Doubt | None:
    """Return the reason not to use the last entry of *way*; None without a reason.

    Args:
        way: all entries that the kernel passes: / first, every folder and link, the
            file last.
        site: the file belongs to the site: its owner and group may be any.
    """
    # This case comes first, because no decision of the user can help.
    if entries := tuple(entry for entry in way if _may_write(entry, stat.S_IWOTH)):
        return Doubt("everybody", entries)
    # The site's administrators decide about its own files, and users cannot check
    # each owner.
    if site:
        return None
    if entries := tuple(entry for entry in way if entry.uid not in {uid, 0}):
        return Doubt("owner", entries)
    # A group is checked last: the user can often remove its write permission.
    if entries := tuple(entry for entry in way if _may_write(entry, stat.S_IWGRP)):
        return Doubt("group", entries)
    return None


def _may_write(entry: OwnedPath, bit: int) -> bool:
    if stat.S_ISLNK(entry.mode):  # its mode has no meaning
        return False
    if stat.S_ISDIR(entry.mode) and entry.mode & stat.S_ISVTX:
        return False  # others may add files, but change only their own
    return bool(entry.mode & bit)
