"""Bytes of an untrusted image: read within bounds, or rejected with a readable message."""

from __future__ import annotations

import os
from typing import NoReturn

_WHOLE = "copy or build it once more; is the file as large as where it comes from?"


class FormError(OSError):
    """An image, or a part of it, that cannot be read; ``open`` adds its name."""

    def __init__(self, message: str, hint: str) -> None:
        """Store the message and the hint with the remedy."""
        super().__init__(message)
        self.hint = hint  # the remedy


class DamageError(FormError):
    """An image with invalid or missing bytes: no runtime can start it."""


def refuse(why: str) -> NoReturn:
    """Report that the bytes of an image are invalid.

    Raises:
        DamageError: always.
    """
    raise DamageError(f"the image is damaged: {why}", _WHOLE)  # noqa: EM102  # one place


class BoundedFile:
    """Bytes of an open file, beginning at *start*."""

    def __init__(
        self, descriptor: int, start: int = 0, size: int | None = None
    ) -> None:
        """Provide *size* bytes from *start*, or all remaining ones."""
        self._descriptor = descriptor
        self._start = start
        available = max(0, os.fstat(descriptor).st_size - start)
        # In bytes, at most the file's.
        self.size = available if size is None else min(size, available)

    def read_at(self, offset: int, length: int) -> bytes:
        """Return exactly *length* bytes from *offset*.

        Raises:
            OSError: some of them are missing.
        """
        is_there = offset + length <= self.size
        position = self._start + offset
        data = os.pread(self._descriptor, length, position) if is_there else b""
        if not is_there or len(data) != length:
            refuse(f"bytes {offset:,} to {offset + length:,} are missing")
        return data

    def part(self, offset: int, size: int) -> BoundedFile:
        """Return *size* bytes from *offset* as a separate window.

        Raises:
            OSError: some of them are missing.
        """
        if offset < 0 or size < 0 or offset + size > self.size:
            end = f"{offset + size:,} are missing: it has {self.size:,}"
            refuse(f"bytes {offset:,} to {end}")
        return BoundedFile(self._descriptor, self._start + offset, size)
