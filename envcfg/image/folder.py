"""An image that is a folder: a sandbox, an unpacked bundle, or this machine itself."""

from __future__ import annotations

import os
import stat
from typing import BinaryIO

from envcfg.image.tree import Entry, Kind, Tree

_KINDS: dict[int, Kind] = {
    stat.S_IFREG: "file",
    stat.S_IFDIR: "folder",
    stat.S_IFLNK: "link",
}


class FolderTree(Tree):
    """The files below a folder, links followed inside it."""

    def __init__(self, root: str) -> None:
        """Read what stands below *root*."""
        self._root = root.rstrip("/")

    def entry(self, path: str) -> Entry | None:
        """See ``Tree``."""
        here = self._root + path
        try:
            status = os.lstat(here)
            target = os.readlink(here) if stat.S_ISLNK(status.st_mode) else ""
        except (FileNotFoundError, NotADirectoryError, PermissionError, ValueError):
            return None  # what nobody may read shows nothing
        kind = _KINDS.get(stat.S_IFMT(status.st_mode), "other")
        return Entry(kind, status.st_size, bool(status.st_mode & 0o111), target)

    def children(self, path: str) -> list[str]:
        """See ``Tree``."""
        try:
            return sorted(os.listdir(self._root + path))
        except PermissionError:
            return []

    def open_entry(self, path: str) -> BinaryIO:
        """See ``Tree``."""
        return open(self._root + path, "rb")
