"""The contents of a file in a squashfs, block by block."""

from __future__ import annotations

import io
from array import array
from itertools import accumulate
from typing import BinaryIO, NamedTuple

from envcfg.image.blocks import Blocks, stored_length
from envcfg.image.fault import refuse


class Stored(NamedTuple):
    """Where the contents of a file are.

    Attributes:
        size: in bytes.
        start: where its first block begins, in bytes from the image's start.
        sizes: of its blocks, as they are written; 0 is a hole.
        tail: of its last part the fragment's number, and the byte in it.
    """

    size: int
    start: int
    sizes: array[int]
    tail: tuple[int, int] | None


def open_stored(blocks: Blocks, file: Stored) -> BinaryIO:
    """Return the contents of *file* to read and to seek in."""
    return io.BufferedReader(_Contents(blocks, file), blocks.block_size)


class _Contents(io.RawIOBase):
    """The contents of one file; the last block that was read is kept."""

    def __init__(self, blocks: Blocks, file: Stored) -> None:
        self._blocks = blocks
        self._file = file
        self._at = 0
        self._starts = array(
            "Q", accumulate(map(stored_length, file.sizes), initial=file.start)
        )
        self._kept: tuple[int, bytes] = (-1, b"")

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = (0, self._at, self._file.size)[whence]
        if base + offset < 0:
            raise ValueError(base + offset)
        self._at = base + offset
        return self._at

    def tell(self) -> int:
        return self._at

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        if self._at >= self._file.size:
            return 0
        number, offset = divmod(self._at, self._blocks.block_size)
        if self._kept[0] != number:
            self._kept = (number, self._read_block(number))
        part = self._kept[1][offset : offset + len(buffer)]
        buffer[: len(part)] = part
        self._at += len(part)
        return len(part)

    def _read_block(self, number: int) -> bytes:
        blocks, file = self._blocks, self._file
        length = min(blocks.block_size, file.size - number * blocks.block_size)
        if number >= len(file.sizes):
            if file.tail is None:
                refuse("a file without an end")
            fragment, offset = file.tail
            data = blocks.fragment(fragment)[offset : offset + length]
        elif file.sizes[number] == 0:  # a hole
            return bytes(length)
        else:
            data = blocks.data(self._starts[number], file.sizes[number])
        if len(data) != length:
            refuse(f"a block of a file has {len(data)} bytes, not {length}")
        return data
