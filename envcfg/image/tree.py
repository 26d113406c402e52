"""The files of an image, read in place: one interface for each form of image.

This module has the simplest form, a folder, and the time limit for reading any form.
Other forms have their own modules.
"""

import abc
import io
import os
import posixpath
import stat
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Literal, NamedTuple

# The marks of overlayfs and fuse-overlayfs on a folder that hides those of lower
# layers.
OPAQUE_ATTRIBUTES = (
    "trusted.overlay.opaque",
    "user.overlay.opaque",
    "user.fuseoverlayfs.opaque",
)
_MOST_LINKS = 40  # the limit of Linux; more links are a circle
MOST_BYTES = 4 << 20  # bytes of a text that is read completely

Kind = Literal["file", "folder", "link", "other"]
_KINDS: dict[int, Kind] = {
    stat.S_IFREG: "file",
    stat.S_IFDIR: "folder",
    stat.S_IFLNK: "link",
}


class TreeEntry(NamedTuple):
    """An entry of a folder."""

    kind: Kind  # the kind of the entry itself, without following a link
    size: int = 0
    executable: bool = False
    target: str = ""  # the unchanged target of a link


class Tree(abc.ABC):
    """The files of one image. Paths are absolute, as inside the image.

    A form of image implements ``entry``, ``children`` and ``open_entry``. Links are
    followed here and never lead out of the image. Damage raises OSError with a readable
    message, in every form.
    """

    is_closed = False  # True if no file can be read: only the metadata is known

    @abc.abstractmethod
    def entry(self, path: str) -> TreeEntry | None:
        """Return the entry at *path* without following links; None: it does not exist."""

    @abc.abstractmethod
    def children(self, path: str) -> list[str]:
        """Return the names in the folder *path*, which is not a link, sorted."""

    @abc.abstractmethod
    def open_entry(self, path: str) -> io.BufferedReader:
        """Open the file *path*, which is not a link, for reading and seeking."""

    def is_whiteout(self, path: str) -> bool:  # noqa: ARG002  # most have none
        """Return whether *path* is a device 0/0, the mark of overlayfs for a removed
        file."""
        return False

    def has_opaque_mark(self, path: str) -> bool:  # noqa: ARG002  # most have none
        """Return whether an attribute of the folder *path* hides those below it."""
        return False

    def resolve(self, path: str) -> str | None:
        """Return *path* without links, or None if it does not exist."""
        # The parts are processed one by one: os.path.realpath would follow links of
        # the host.
        remaining = [part for part in path.split("/") if part][::-1]
        done, links = "/", 0
        while remaining:
            part = remaining.pop()
            # The root is its own parent, so no number of ".." leaves the image.
            if part in (".", ".."):
                done = posixpath.dirname(done) if part == ".." else done
                continue
            current = posixpath.join(done, part)
            entry = self.entry(current)
            links += entry is not None and entry.kind == "link"
            if entry is None or links > _MOST_LINKS:
                return None
            if entry.kind != "link":
                done = current
                continue
            # An absolute link starts at the root of the image, not of the host.
            done = "/" if entry.target.startswith("/") else done
            remaining.extend([part for part in entry.target.split("/") if part][::-1])
        return done

    def look(self, path: str) -> TreeEntry | None:
        """Return the entry that *path* leads to, following links; None if there is none."""
        target = self.resolve(path)
        return None if target is None else self.entry(target)

    def distinct(self, paths: Iterable[str]) -> list[str]:
        """Return *paths* without further names of the same file or folder."""
        by_file: dict[str, str] = {}
        for path in paths:
            by_file.setdefault(self.resolve(path) or path, path)
        return list(by_file.values())

    def _target(self, path: str, kind: Kind) -> str:
        """Return *path* without links if it has this *kind*; else an empty text."""
        target = self.resolve(path)
        entry = self.entry(target) if target else None
        return target if target and entry and entry.kind == kind else ""

    def names(self, folder: str) -> list[str]:
        """Return the names in *folder*, sorted; none if there is no such folder."""
        target = self._target(folder, "folder")
        return self.children(target) if target else []

    def open(self, path: str) -> io.BufferedReader | None:
        """Open the file *path* for reading and seeking; None if it does not exist."""
        target = self._target(path, "file")
        try:
            return self.open_entry(target) if target else None
        except PermissionError:  # an unreadable file counts as missing
            return None

    def read(self, path: str, most: int = MOST_BYTES) -> bytes | None:
        """Return the first *most* bytes of the file *path*; None if there is none."""
        if (file := self.open(path)) is None:
            return None
        with file:
            return file.read(most)

    def text(self, path: str, most: int = MOST_BYTES) -> str | None:
        """Return the file as text; invalid UTF-8 becomes U+FFFD."""
        data = self.read(path, most)
        return None if data is None else data.decode("utf-8", "replace")

    def glob(
        self, pattern: str, *, below: str = "", hidden: bool = False
    ) -> Iterator[str]:
        """Yield the paths that match *pattern*, sorted; ``*`` matches within a name.

        Only folders on the way are listed, so a pattern with few parts is cheap. The
        pattern applies to the path below *below*. With *hidden*, names may begin with a
        dot.
        """
        from fnmatch import fnmatchcase

        folders = [below]
        for part in pattern.strip("/").split("/"):
            if any(char in part for char in "*?["):
                folders = [
                    f"{folder}/{name}"
                    for folder in folders
                    for name in self.names(folder or "/")
                    if fnmatchcase(name, part)
                    # As in a shell, hidden names match only if the pattern begins
                    # with a dot.
                    and (hidden or part.startswith(".") or not name.startswith("."))
                ]
            else:
                folders = [f"{folder}/{part}" for folder in folders]
        yield from (path for path in folders if self.look(path) is not None)


class FolderTree(Tree):
    """The files below a folder, links followed inside it."""

    def __init__(self, root: str) -> None:
        """Read the folder *root*."""
        self._root = root.rstrip("/")

    def entry(self, path: str) -> TreeEntry | None:
        """See ``Tree``."""
        path_on_disk = self._root + path
        try:
            status = os.lstat(path_on_disk)
            target = os.readlink(path_on_disk) if stat.S_ISLNK(status.st_mode) else ""
        except (FileNotFoundError, NotADirectoryError, PermissionError, ValueError):
            return None  # an unreadable entry counts as missing
        kind = _KINDS.get(stat.S_IFMT(status.st_mode), "other")
        return TreeEntry(kind, status.st_size, bool(status.st_mode & 0o111), target)

    def children(self, path: str) -> list[str]:
        """See ``Tree``."""
        try:
            return sorted(os.listdir(self._root + path))
        except PermissionError:
            return []

    def open_entry(self, path: str) -> io.BufferedReader:
        """See ``Tree``."""
        return open(self._root + path, "rb")

    def is_whiteout(self, path: str) -> bool:
        """See ``Tree``."""
        try:
            status = os.lstat(self._root + path)
        except OSError:
            return False
        return stat.S_ISCHR(status.st_mode) and status.st_rdev == 0

    def has_opaque_mark(self, path: str) -> bool:
        """See ``Tree``."""
        path_on_disk = self._root + path
        try:
            # Only the marks are read: other attributes may be large.
            names = {*os.listxattr(path_on_disk, follow_symlinks=False)} & {
                *OPAQUE_ATTRIBUTES
            }
            values = {
                os.getxattr(path_on_disk, name, follow_symlinks=False) for name in names
            }
        except (OSError, ValueError):
            return False
        return b"y" in values


class TimeIsUpError(Exception):
    """The time limit for reading the image has passed."""


class DeadlineTree(Tree):
    """The files of another tree, up to a time limit.

    A single read from a hanging file system is not interrupted; the next read fails.
    """

    def __init__(
        self, tree: Tree, seconds: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Read *tree* for *seconds*, from now on, by *clock*."""
        self._tree, self.is_closed = tree, tree.is_closed
        self._clock = clock
        # The clock is a parameter so that tests need not wait.
        self._end = clock() + seconds

    def entry(self, path: str) -> TreeEntry | None:
        """See ``Tree``."""
        self.check()
        return self._tree.entry(path)

    def children(self, path: str) -> list[str]:
        """See ``Tree``."""
        self.check()
        return self._tree.children(path)

    def open_entry(self, path: str) -> io.BufferedReader:
        """See ``Tree``."""
        self.check()
        return _DeadlineFile(self._tree.open_entry(path), self.check)

    def check(self) -> None:
        """Raise if the time is up.

        Raises:
            TimeIsUpError: it is.
        """
        if self._clock() > self._end:
            raise TimeIsUpError


class _DeadlineFile(io.BufferedReader):
    """A file of a ``DeadlineTree``."""

    def __init__(self, file: io.BufferedReader, check: Callable[[], None]) -> None:
        # The buffer is larger than the default, because network file systems answer
        # slowly.
        super().__init__(file.detach(), 1 << 16)
        self._check = check

    # Each read is checked: one large file could otherwise use all the time.
    def read(self, size: int | None = -1, /) -> bytes:
        self._check()
        return super().read(size)
