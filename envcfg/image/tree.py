"""The files of an image, read where they are: one interface for each form of image.

The simplest form, a folder, is here, and what ends the reading of any of them in time; the
other forms have modules of their own.
"""

import abc
import io
import os
import posixpath
import stat
import time
from collections.abc import Callable, Iterator
from typing import Literal, NamedTuple

# How overlayfs and fuse-overlayfs write that a folder hides those of layers below.
OPAQUE_ATTRIBUTES = (
    "trusted.overlay.opaque",
    "user.overlay.opaque",
    "user.fuseoverlayfs.opaque",
)
_MOST_LINKS = 40  # as Linux has it: more are a circle
MOST_BYTES = 4 << 20  # of a text that is read whole

Kind = Literal["file", "folder", "link", "other"]
_KINDS: dict[int, Kind] = {
    stat.S_IFREG: "file",
    stat.S_IFDIR: "folder",
    stat.S_IFLNK: "link",
}


class Entry(NamedTuple):
    """What stands under a name in a folder.

    Attributes:
        kind: what it is itself, a link not followed.
        size: in bytes, of a file.
        executable: whether somebody may run it, of a file.
        target: what a link names, as it is written there.
    """

    kind: Kind
    size: int = 0
    executable: bool = False
    target: str = ""


class Tree(abc.ABC):
    """The files of one image. Paths are absolute, as a program in the image names them.

    A form of image says ``entry``, ``children`` and ``open_entry``; links are followed
    here, and never lead out of the image. What is damaged raises OSError with words for
    people, whatever the form.
    """

    @abc.abstractmethod
    def entry(self, path: str) -> Entry | None:
        """Return what *path* is; the folders before it are not links. None: not there."""

    @abc.abstractmethod
    def children(self, path: str) -> list[str]:
        """Return the names in the folder *path*, which is no link, sorted."""

    @abc.abstractmethod
    def open_entry(self, path: str) -> io.BufferedReader:
        """Open the file *path*, which is no link: to read and to seek in."""

    def is_whiteout(self, path: str) -> bool:  # noqa: ARG002  # most have none
        """Return whether *path* is a device 0/0: as overlayfs marks what is removed."""
        return False

    def has_opaque_mark(self, path: str) -> bool:  # noqa: ARG002  # most have none
        """Return whether an attribute of the folder *path* hides those below it."""
        return False

    def resolve(self, path: str) -> str | None:
        """Return *path* without links, or None where nothing is."""
        left = [part for part in path.split("/") if part][::-1]
        done, links = "/", 0
        while left:
            part = left.pop()
            if part in (".", ".."):
                done = posixpath.dirname(done) if part == ".." else done
                continue
            here = posixpath.join(done, part)
            entry = self.entry(here)
            links += entry is not None and entry.kind == "link"
            if entry is None or links > _MOST_LINKS:
                return None
            if entry.kind != "link":
                done = here
                continue
            done = "/" if entry.target.startswith("/") else done
            left.extend([each for each in entry.target.split("/") if each][::-1])
        return done

    def look(self, path: str) -> Entry | None:
        """Return what *path* leads to, links followed; None where nothing is."""
        found = self.resolve(path)
        return None if found is None else self.entry(found)

    def _at(self, path: str, kind: Kind) -> str:
        """Return *path* without links where it is of this *kind*; else nothing."""
        found = self.resolve(path)
        entry = self.entry(found) if found else None
        return found if found and entry and entry.kind == kind else ""

    def names(self, folder: str) -> list[str]:
        """Return the names in *folder*, sorted; none where there is no such folder."""
        found = self._at(folder, "folder")
        return self.children(found) if found else []

    def open(self, path: str) -> io.BufferedReader | None:
        """Open the file *path* to read and to seek in; None where there is no file."""
        found = self._at(path, "file")
        try:
            return self.open_entry(found) if found else None
        except PermissionError:  # what nobody may read shows nothing
            return None

    def read(self, path: str, most: int = MOST_BYTES) -> bytes | None:
        """Return the first *most* bytes of the file *path*; None where there is none."""
        if (file := self.open(path)) is None:
            return None
        with file:
            return file.read(most)

    def text(self, path: str, most: int = MOST_BYTES) -> str | None:
        """Return the same as text; what is not UTF-8 becomes U+FFFD."""
        data = self.read(path, most)
        return None if data is None else data.decode("utf-8", "replace")

    def glob(
        self, pattern: str, *, below: str = "", hidden: bool = False
    ) -> Iterator[str]:
        """Yield the paths that fit *pattern*, sorted; ``*`` stands for within a name.

        Only folders on the way are listed: a pattern is cheap where its parts are few.
        It is of the path below *below*. With *hidden* names may begin with a dot.
        """
        from fnmatch import fnmatchcase

        found = [below]
        for part in pattern.strip("/").split("/"):
            if any(char in part for char in "*?["):
                found = [
                    f"{folder}/{name}"
                    for folder in found
                    for name in self.names(folder or "/")
                    if fnmatchcase(name, part)
                    and (hidden or part.startswith(".") or not name.startswith("."))
                ]
            else:
                found = [f"{folder}/{part}" for folder in found]
        yield from (path for path in found if self.look(path) is not None)


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
        here = self._root + path
        try:
            names = {*os.listxattr(here, follow_symlinks=False)} & {*OPAQUE_ATTRIBUTES}
            values = {os.getxattr(here, each, follow_symlinks=False) for each in names}
        except (OSError, ValueError):
            return False
        return b"y" in values


class TimeIsUpError(Exception):
    """The image is not read in the time that there was."""


class DeadlineTree(Tree):
    """The files of another tree, as long as there is time.

    One read of a file system that does not answer is not cut short; the next is.
    """

    def __init__(
        self, tree: Tree, seconds: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Read *tree* for *seconds*, from now on, by *clock*."""
        self._tree = tree
        self._clock = clock
        self._end = clock() + seconds

    def entry(self, path: str) -> Entry | None:
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
    """A file of such a tree."""

    def __init__(self, file: io.BufferedReader, check: Callable[[], None]) -> None:
        super().__init__(file.detach(), 1 << 16)
        self._check = check

    def read(self, size: int | None = -1, /) -> bytes:
        self._check()
        return super().read(size)
