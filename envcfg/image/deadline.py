"""A tree of which reading ends when the time is up."""

from __future__ import annotations

import io
import time
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from envcfg.image.tree import Entry, Tree

if TYPE_CHECKING:
    from collections.abc import Callable


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

    def open_entry(self, path: str) -> BinaryIO:
        """See ``Tree``."""
        self.check()
        raw = _DeadlineFile(self._tree.open_entry(path), self)
        return cast("BinaryIO", io.BufferedReader(raw, 1 << 16))

    def check(self) -> None:
        """Raise if the time is up.

        Raises:
            TimeIsUpError: it is.
        """
        if self._clock() > self._end:
            raise TimeIsUpError


class _DeadlineFile(io.RawIOBase):
    """A file of such a tree."""

    def __init__(self, file: BinaryIO, tree: DeadlineTree) -> None:
        self._file = file
        self._tree = tree

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = 0, /) -> int:
        return self._file.seek(offset, whence)

    def readinto(self, buffer: Any, /) -> int:  # noqa: ANN401  # any kind
        self._tree.check()
        view = memoryview(buffer)
        data = self._file.read(len(view))
        view[: len(data)] = data
        return len(data)

    def close(self) -> None:
        self._file.close()
        super().close()
