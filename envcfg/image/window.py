"""A part of a file, in which offsets that lie lead nowhere else."""

from __future__ import annotations

import os

from envcfg.image.fault import refuse


class Window:
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
        if offset + length > self.size:
            refuse(f"bytes {offset:,} to {offset + length:,} are missing")
        data = os.pread(self._descriptor, length, self._start + offset)
        if len(data) != length:
            refuse(f"bytes {offset:,} to {offset + length:,} are missing")
        return data

    def part(self, offset: int, size: int) -> Window:
        """Return *size* bytes from *offset* on as a window of its own.

        Raises:
            OSError: they are not all there.
        """
        if offset < 0 or size < 0 or offset + size > self.size:
            missing = f"bytes {offset:,} to {offset + size:,}"
            refuse(f"{missing} are missing: it has {self.size:,}")
        return Window(self._descriptor, self._start + offset, size)
