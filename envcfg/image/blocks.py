"""The blocks that a squashfs is made of: tables, data, and the ends of small files.

The format is that of squashfs_fs.h, Linux 6.1. Every length in it may lie.
"""

import struct
from functools import lru_cache

from envcfg.image.bounded_file import BoundedFile, refuse
from envcfg.image.compression import reader_of

MAGIC = b"hsqs"
NONE = 0xFFFFFFFF  # no fragment, no attributes
_SUPER = struct.Struct("<4s4I6H8Q")
_META = 8192  # bytes in a block of tables
_STORED = 1 << 15  # in the length of such a block: it is not compressed
_STORED_DATA = 1 << 24  # the same of a block of data
_FEWEST_BITS, _MOST_BITS = 12, 20  # a block of data has 4 KiB to 1 MiB
_NO_ATTRIBUTES = (1 << 64) - 1  # where their table is, if there is none
_PREFIXES = {0: b"user.", 1: b"trusted.", 2: b"security."}
_MOST_ATTRIBUTES, _MOST_ATTRIBUTE = 1000, 1 << 16  # of a file, and bytes of one
_KEPT = 512  # blocks of tables, 4 MiB
# Blocks where small files end, as those of a folder are next to each other.
_KEPT_TAILS = 4

Place = tuple[int, int]  # a block of a table, from the image's start, and a byte in it


def stored_length(size: int) -> int:
    """Return the bytes that a block of data takes, of its *size* as it is written."""
    return size & (_STORED_DATA - 1)


class Blocks:
    """The blocks of one squashfs, read when they are asked for.

    Attributes:
        block_size: bytes of a block of data that is unpacked.
        root: where the root's inode is.
        inodes: where the table of inodes begins, in bytes from the image's start.
        folders: the same of the table of folders.
    """

    def __init__(self, file: BoundedFile) -> None:
        """Read the first 96 bytes of *file*, which is the file system.

        Raises:
            OSError: it is none that can be read; the message says why.
        """
        self._file = file
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
        self.root = (self.inodes + (root >> 16), root & 0xFFFF)

    def table(self, place: Place, length: int) -> tuple[bytes, Place]:
        """Return *length* bytes of a table, which go on in the next blocks.

        Beside them is the place of what follows. Raises OSError where they are damaged.
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
        """Return a block of data: *stored* as the format writes its length.

        Raises:
            OSError: it is damaged, or becomes more than a block.
        """
        length = stored_length(stored)
        if length > self.block_size:
            refuse(f"a block of {length} bytes")
        found = self._file.read_at(start, length)
        if stored & _STORED_DATA:
            return found
        return self._unpacked(found, self.block_size)

    def fragment(self, number: int) -> bytes:
        """Return the block of data where the ends of several files are.

        Raises:
            OSError: it is damaged.
        """
        if number >= self._fragments:
            refuse(f"no fragment has the number {number}")
        start, stored, _ = self._indexed(self._ends, number)
        return self._tail(start, stored)

    def attributes(self, number: int) -> dict[bytes, bytes]:
        """Return the extended attributes that have this *number*, as an inode says it.

        Those whose value stands elsewhere are left out: only long ones do.

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
        found = {}
        here = (table + (place >> 16), place & 0xFFFF)
        for _ in range(count):
            data, here = self.table(here, 4)
            kind, length = struct.unpack("<HH", data)
            name, here = self.table(here, length)
            data, here = self.table(here, 4)
            length = int.from_bytes(data, "little")
            if length > _MOST_ATTRIBUTE:
                refuse(f"an attribute of {length} bytes")
            value, here = self.table(here, length)
            if kind in _PREFIXES:
                found[_PREFIXES[kind] + name] = value
        return found

    def _indexed(self, start: int, number: int) -> tuple[int, int, int]:
        """Return an entry of a table whose blocks a list from *start* on names."""
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
        found = self._reader(data, most)
        if len(found) > most:
            refuse("a block is larger than it may be")
        return found
