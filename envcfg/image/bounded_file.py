"""Bytes of an image that may lie: read within bounds, or refused in words for people."""

from __future__ import annotations

import os
from typing import NoReturn

_WHOLE = "copy or build it once more; is the file as large as where it comes from?"


class FormError(OSError):
    """An image that cannot be read, or a part of it; ``open`` puts its name before.

    Attributes:
        hint: what to do about it.
    """

    def __init__(self, message: str, hint: str) -> None:
        """Keep what is wrong, in words for people, and what to do about it."""
        super().__init__(message)
        self.hint = hint


def refuse(why: str) -> NoReturn:
    """Say that the bytes of an image cannot be right.

    Raises:
        FormError: always.
    """
    raise FormError(f"the image is damaged: {why}", _WHOLE)  # noqa: EM102  # one place


class BoundedFile:
    """Bytes of a file that is open, from *start* on.

    Attributes:
        size: in bytes, never more than there are.
    """

    def __init__(
        self, descriptor: int, start: int = 0, size: int | None = None
    ) -> None:
        """Look at *size* bytes, or at all, from *start* on."""
        self._descriptor = descriptor
        self._start = start
        there = max(0, os.fstat(descriptor).st_size - start)
        self.size = there if size is None else min(size, there)

    def read_at(self, offset: int, length: int) -> bytes:
        """Return exactly *length* bytes from *offset* on.

        Raises:
            OSError: they are not all there.
        """
        is_there = offset + length <= self.size
        at = self._start + offset
        data = os.pread(self._descriptor, length, at) if is_there else b""
        if not is_there or len(data) != length:
            refuse(f"bytes {offset:,} to {offset + length:,} are missing")
        return data

    def part(self, offset: int, size: int) -> BoundedFile:
        """Return *size* bytes from *offset* on as a window of its own.

        Raises:
            OSError: they are not all there.
        """
        if offset < 0 or size < 0 or offset + size > self.size:
            end = f"{offset + size:,} are missing: it has {self.size:,}"
            refuse(f"bytes {offset:,} to {end}")
        return BoundedFile(self._descriptor, self._start + offset, size)
