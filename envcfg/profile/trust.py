"""Whether a profile file counts by who owns it and who may write it; pure.

A profile decides what a job runs: libraries, binds, options of srun. So it counts by
itself only where nobody but the user and root can have written it, or can put another in
its place. What others may write counts after a person's word on its content; what
everybody may write never does.
"""

from __future__ import annotations

import stat
from collections.abc import Collection, Sequence
from typing import Literal, NamedTuple


class Entry(NamedTuple):
    """A folder, link or file on the way to a file.

    Attributes:
        mode: kind and permissions, as ``st_mode`` has them.
    """

    path: str
    uid: int
    gid: int
    mode: int


class Doubt(NamedTuple):
    """Why a file does not count by itself.

    Attributes:
        who: may have written it, or may put another in its place.
        entries: what lets them, from / on; at least one.
    """

    who: Literal["everybody", "owner", "group"]
    entries: tuple[Entry, ...]

    @property
    def is_final(self) -> bool:
        """Tell whether no word of the user's helps: next moment it may be another file."""
        return self.who == "everybody"


def strangers(way: Sequence[Entry], uid: int, groups: Collection[int]) -> Entry | None:
    """Return what a stranger has put on the way to a file; None, if nobody has.

    A stranger is somebody else than the user and root, where the entry is of no group of
    the user's, or stands in a folder in which everybody may make something.

    Args:
        way: from the folder in which a candidate was looked for, to the file itself.
    """
    above = way[0]
    for entry in way[1:]:
        is_other = entry.uid not in {uid, 0}
        if is_other and (above.mode & stat.S_IWOTH or entry.gid not in groups):
            return entry
        above = entry
    return None


def judge(way: Sequence[Entry], uid: int, *, site: bool = False) -> Doubt | None:
    """Return why the last entry of *way* does not count by itself; None, if it does.

    Args:
        way: all that the kernel passes: / first, every folder and link, the file last.
        site: the file is the centre's: whoever owns it, and their group, may write it.
    """
    if found := tuple(each for each in way if _may_write(each, stat.S_IWOTH)):
        return Doubt("everybody", found)
    if site:
        return None
    if found := tuple(each for each in way if each.uid not in {uid, 0}):
        return Doubt("owner", found)
    if found := tuple(each for each in way if _may_write(each, stat.S_IWGRP)):
        return Doubt("group", found)
    return None


def _may_write(entry: Entry, bit: int) -> bool:
    if stat.S_ISLNK(entry.mode):  # its mode says nothing: only its owner can change it
        return False
    if stat.S_ISDIR(entry.mode) and entry.mode & stat.S_ISVTX:
        return False  # others may add to it, and only touch what is theirs
    return bool(entry.mode & bit)
