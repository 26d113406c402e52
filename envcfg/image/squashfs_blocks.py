"""The blocks of a squashfs: tables, data, and the ends of small files.

The format is that of squashfs_fs.h, Linux 6.1. No length in it is trusted.
"""

import struct
from functools import lru_cache

from envcfg.image.bounded_file import BoundedFile, refuse
from envcfg.image.compression import reader_of

MAGIC = b"hsqs"
NONE = 0xFFFFFFFF  # no fragment, no attributes
_SUPER = struct.Struct("<4s4I6H8Q")
_META = 8192  # bytes in a block of tables
_STORED = 1 << 15  # flag in the length of a block of tables: not compressed
_STORED_DATA = 1 << 24  # the same flag for a block of data
_FEWEST_BITS, _MOST_BITS = 12, 20  # a block of data has 4 KiB to 1 MiB
_NO_ATTRIBUTES = (1 << 64) - 1  # the place of their table if there is none
_PREFIXES = {0: b"user.", 1: b"trusted.", 2: b"security."}
_MOST_ATTRIBUTES, _MOST_ATTRIBUTE = 1000, 1 << 16  # attributes of a file, bytes of one
_KEPT = 512  # blocks of tables, 4 MiB
# Blocks with the ends of small files: files of one folder are usually in the same
# block.
_KEPT_TAILS = 4

Place = tuple[int, int]  # a block of a table, from the image's start, and an offset


def stored_length(size: int) -> int:
    """Return the stored size of a data block from its *size* field."""
    return size & (_STORED_DATA - 1)


class Blocks:
    """The blocks of one squashfs, read on demand."""

    def __init__(self, file: BoundedFile) -> None:
        """Read the first 96 bytes of *file*, which contains the file system.

        Raises:
            OSError: it cannot be read; the message gives the reason.
        """
        self._file = file
        # `inodes` and `folders` are the offsets of their tables.
        (
            magic, _, _, self.block_size, self._fragments, compression, bits, _, _,
            major, _, root, self._end, _, self._attributes,
            self.inodes, self.folders, self._ends, _,
        ) = _SUPER.unpack(file.read_at(0, _SUPER.size))  # fmt: skip
        if magic != MAGIC or major != 4:
            refuse("it does not begin as a squashfs of version 4")
        if not _FEWEST_BITS <= bits <= _MOST_BITS or self.block_size != 1 << bits:
            refuse(f"blocks of {self.block_size} bytes")
        if self._end > file.size:
            missing = self._end - file.size
            refuse(f"{missing:,} of its {self._end:,} bytes are missing")
        self._reader = reader_of(compression)
        self._tail = lru_cache(_KEPT_TAILS)(self.data)
        self._block = lru_cache(_KEPT)(self._read_block)
        # The place of the root's inode.
        self.root = (self.inodes + (root >> 16), root & 0xFFFF)

    def table(self, place: Place, length: int) -> tuple[bytes, Place]:
        """Return *length* bytes of a table, which may continue in the next blocks.

        The place after them is returned too. Damage raises OSError.
        """
        block, offset = place
        parts = []
        while True:
            data, following = self._block(block)
            part = data[offset : offset + length]
            parts.append(part)
            length -= len(part)
            if not length:
                return b"".join(parts), (block, offset + len(part))
            if len(data) < _META or offset > _META:
                refuse("a table ends early")
            block, offset = following, 0

    def data(self, start: int, stored: int) -> bytes:
        """Return a block of data, with its length *stored* in the format's form.

        Raises:
            OSError: it is damaged, or larger than a block.
        """
        length = stored_length(stored)
        if length > self.block_size:
            refuse(f"a block of {length} bytes")
        content = self._file.read_at(start, length)
        if stored & _STORED_DATA:
            return content
        return self._unpacked(content, self.block_size)

    def fragment(self, number: int) -> bytes:
        """Return the block of data with the ends of several files.

        Raises:
            OSError: it is damaged.
        """
        if number >= self._fragments:
            refuse(f"no fragment has the number {number}")
        start, stored, _ = self._indexed(self._ends, number)
        return self._tail(start, stored)

    def attributes(self, number: int) -> dict[bytes, bytes]:
        """Return the extended attributes with the *number* in an inode.

        Attributes with a value elsewhere are left out: only long ones have this form.

        Raises:
            OSError: they are damaged.
        """
        if number == NONE or self._attributes == _NO_ATTRIBUTES:
            return {}
        head = self._file.read_at(self._attributes, 16)
        table, count, _ = struct.unpack("<QII", head)
        if number >= count:
            refuse(f"no attributes have the number {number}")
        place, count, _ = self._indexed(self._attributes + 16, number)
        if count > _MOST_ATTRIBUTES:
            refuse(f"a file with {count} attributes")
        attributes = {}
        current = (table + (place >> 16), place & 0xFFFF)
        for _ in range(count):
            data, current = self.table(current, 4)
            kind, length = struct.unpack("<HH", data)
            name, current = self.table(current, length)
            data, current = self.table(current, 4)
            length = int.from_bytes(data, "little")
            if length > _MOST_ATTRIBUTE:
                refuse(f"an attribute of {length} bytes")
            value, current = self.table(current, length)
            if kind in _PREFIXES:
                attributes[_PREFIXES[kind] + name] = value
        return attributes

    def _indexed(self, start: int, number: int) -> tuple[int, int, int]:
        """Return an entry of a table; the list at *start* locates the table's blocks."""
        data = self._file.read_at(start + 8 * (number // 512), 8)
        block = int.from_bytes(data, "little")
        entry, _ = self.table((block, 16 * (number % 512)), 16)
        place, size, more = struct.unpack("<QII", entry)
        return place, size, more

    def _read_block(self, start: int) -> tuple[bytes, int]:
        """Return a block of a table and where the next one begins."""
        if start + 2 > self._end:
            refuse("a table is outside of the file")
        head = int.from_bytes(self._file.read_at(start, 2), "little")
        length = head & (_STORED - 1)
        if not 0 < length <= _META:
            refuse(f"a block of {length} bytes in a table")
        data = self._file.read_at(start + 2, length)
        if not head & _STORED:
            data = self._unpacked(data, _META)
        return data, start + 2 + length

    def _unpacked(self, data: bytes, most: int) -> bytes:
        content = self._reader(data, most)
        if len(content) > most:
            refuse("a block is larger than it may be")
        return content
