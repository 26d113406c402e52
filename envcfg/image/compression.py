"""The compressions of squashfs blocks, and their readers.

Each reader takes a block and its largest possible size. A damaged block raises OSError,
and never needs more memory than that size. LZO and LZ4 are implemented here: enroot and
podman-hpc use them, and few systems have the packages. 14 and 21 MB per second are
enough for lists, headers and texts.
"""

import importlib
import sys
from collections.abc import Callable

from envcfg.image.bounded_file import FormError, refuse

Reader = Callable[[bytes, int], bytes]

_XZ_MEMORY = 1 << 27  # bytes; blocks have 1 MiB at most, so no valid one needs more
_ZSTD_WINDOW = 23  # as a power of 2, for the same reason


def reader_of(number: int) -> Reader:
    """Return the reader for the squashfs compression with this *number*.

    Raises:
        OSError: the compression does not exist, or this Python was built without it.
    """
    if number not in _READERS:
        refuse(f"no compression of squashfs has the number {number}")
    name, module, reader = _READERS[number]
    try:
        importlib.import_module(module)
    except ImportError as err:
        msg = f"it is compressed by {name}, which this Python cannot read"
        hint = f"run envcfg with a Python that has the module {module}"
        raise FormError(msg, hint) from err
    return reader


def _gzip(data: bytes, most: int) -> bytes:
    import zlib

    try:
        return zlib.decompressobj().decompress(data, most + 1)
    except zlib.error as err:
        refuse(f"a block is not gzip: {err}")


def _lzma(data: bytes, most: int) -> bytes:
    import lzma

    try:
        stream = lzma.LZMADecompressor(memlimit=_XZ_MEMORY)
        return stream.decompress(data, most + 1)
    except (lzma.LZMAError, MemoryError) as err:
        refuse(f"a block is not xz: {err}")


def _zstd(data: bytes, most: int) -> bytes:
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd
    options = {int(zstd.DecompressionParameter.window_log_max): _ZSTD_WINDOW}
    try:
        text = zstd.ZstdDecompressor(options=options).decompress(data, most + 1)
    except (zstd.ZstdError, EOFError) as err:
        refuse(f"a block is not zstd: {err}")
    return bytes(text)


class _PackedBlock:
    """A block of LZ4 or LZO while it is read: its next byte, and the bytes so far."""

    def __init__(self, data: bytes, most: int) -> None:
        self.data, self.most, self.position = data, most, 0
        self.out = bytearray()

    def byte(self) -> int:
        """Return the next byte."""
        self.position += 1
        return self.data[self.position - 1]

    def pair(self) -> int:
        """Return the number in the next two bytes, the lower one first."""
        return self.byte() | self.byte() << 8

    def length(self, count: int, on: int) -> int:
        """Return *count* with the next bytes added; a byte *on* is 255, and continues."""
        while (byte := self.byte()) == on:
            count += 255
        return count + byte

    def copy(self, count: int) -> None:
        """Append the next *count* bytes of the block."""
        start, self.position = self.position, self.position + count
        if self.position > len(self.data):
            raise IndexError
        self.out += self.data[start : self.position]

    def repeat(self, distance: int, count: int) -> None:
        """Append *count* bytes that begin *distance* before the end; they may overlap."""
        start = len(self.out) - distance
        if distance == 0 or start < 0:
            refuse("a block refers to what is before its beginning")
        if len(self.out) + count > self.most:
            refuse("a block is larger than it may be")
        if distance >= count:
            self.out += self.out[start : start + count]
        else:
            self.out += (bytes(self.out[start:]) * (count // distance + 1))[:count]


def _lz4(data: bytes, most: int) -> bytes:
    """Read a block of LZ4: literals and matches in turns (LZ4's block format, 1.6.3)."""
    block = _PackedBlock(data, most)
    try:
        while len(block.out) <= most:
            token = block.byte()
            literals, count = token >> 4, token & 15
            block.copy(block.length(15, 255) if literals == 15 else literals)
            if block.position == len(data):
                break
            distance = block.pair()
            count = block.length(15, 255) if count == 15 else count
            block.repeat(distance, count + 4)
    except IndexError:
        refuse("a block of lz4 ends early")
    return bytes(block.out)


def _lzo(data: bytes, most: int) -> bytes:
    """Read a block of LZO1X (Documentation/staging/lzo.rst of Linux 6.1)."""
    block, state = _PackedBlock(data, most), 0
    try:
        if data[0] > 17:
            block.position, state = 1, min(data[0] - 17, 4)
            block.copy(data[0] - 17)
        while len(block.out) <= most:
            code = block.byte()
            if code < 16 and state == 0:
                block.copy((code or block.length(15, 0)) + 3)
                state = 4
                continue
            if code < 16:
                near, count = (2049, 3) if state == 4 else (1, 2)
                distance = (block.byte() << 2) + (code >> 2) + near
                state = code & 3
            elif code < 64:
                full = 31 if code >= 32 else 7
                count = (code & full or block.length(full, 0)) + 2
                pair = block.pair()
                distance, state = (pair >> 2) + 1, pair & 3
                if code < 32:
                    distance += 16383 + ((code & 8) << 11)
                    if distance == 16384:
                        break
            else:
                count = (code >> 5) + 1
                distance = (block.byte() << 3) + ((code >> 2) & 7) + 1
                state = code & 3
            block.repeat(distance, count)
            block.copy(state)
    except IndexError:
        refuse("a block of lzo ends early")
    return bytes(block.out)


_ZSTD = "compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd"
# By number in squashfs_fs.h: the name, the required module, and the reader.
_READERS: dict[int, tuple[str, str, Reader]] = {
    1: ("gzip", "zlib", _gzip),
    2: ("lzma", "lzma", _lzma),
    3: ("lzo", "sys", _lzo),
    4: ("xz", "lzma", _lzma),
    5: ("lz4", "sys", _lz4),
    6: ("zstd", _ZSTD, _zstd),
}
