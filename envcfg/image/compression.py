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


def _lz4(data: bytes, most: int) -> bytes:
    """Read a block of LZ4: literals and matches in turns (LZ4's block format, 1.6.3)."""
    out, position = bytearray(), 0
    try:
        while len(out) <= most:
            token = data[position]
            position += 1
            count = token >> 4
            count, position = _length(data, position, count, 255, is_long=count == 15)
            _copy_literals(out, data, position, count)
            position += count
            if position == len(data):
                break
            distance = data[position] | data[position + 1] << 8
            count = token & 15
            count, position = _length(
                data, position + 2, count, 255, is_long=count == 15
            )
            _copy_match(out, distance, count + 4, most)
    except IndexError:
        refuse("a block of lz4 ends early")
    return bytes(out)


def _lzo(data: bytes, most: int) -> bytes:
    """Read a block of LZO1X (Documentation/staging/lzo.rst of Linux 6.1)."""
    out, position, state = bytearray(), 0, 0
    try:
        if data[0] > 17:
            state, position = min(data[0] - 17, 4), 1
            _copy_literals(out, data, position, data[0] - 17)
            position += data[0] - 17
        while len(out) <= most:
            code = data[position]
            position += 1
            if code < 16 and state == 0:
                count, position = _length(
                    data, position, code or 15, 0, is_long=not code
                )
                _copy_literals(out, data, position, count + 3)
                position, state = position + count + 3, 4
                continue
            if code < 16:
                near, count = (2049, 3) if state == 4 else (1, 2)
                distance = (data[position] << 2) + (code >> 2) + near
                state, position = code & 3, position + 1
            elif code < 64:
                full = 31 if code >= 32 else 7
                count = code & full
                count, position = _length(
                    data, position, count or full, 0, is_long=not count
                )
                pair = data[position] | data[position + 1] << 8
                distance, count, position = (pair >> 2) + 1, count + 2, position + 2
                if code < 32:
                    distance += 16383 + ((code & 8) << 11)
                    if distance == 16384:
                        return bytes(out)
                state = pair & 3
            else:
                count = (code >> 5) + 1
                distance = (data[position] << 3) + ((code >> 2) & 7) + 1
                state, position = code & 3, position + 1
            _copy_match(out, distance, count, most)
            _copy_literals(out, data, position, state)
            position += state
    except IndexError:
        refuse("a block of lzo ends early")
    return bytes(out)


def _length(
    data: bytes, position: int, count: int, on: int, *, is_long: bool
) -> tuple[int, int]:
    """Return a length and the offset after it; bytes of 255 continue the length."""
    if not is_long:
        return count, position
    while data[position] == on:
        count, position = count + 255, position + 1
    return count + data[position], position + 1


def _copy_literals(out: bytearray, data: bytes, position: int, count: int) -> None:
    if position + count > len(data):
        raise IndexError
    out += data[position : position + count]


def _copy_match(out: bytearray, distance: int, count: int, most: int) -> None:
    """Append *count* bytes that begin *distance* before the end; they may overlap."""
    start = len(out) - distance
    if distance == 0 or start < 0:
        refuse("a block refers to what is before its beginning")
    if len(out) + count > most:
        refuse("a block is larger than it may be")
    if distance >= count:
        out += out[start : start + count]
    else:
        out += (bytes(out[start:]) * (count // distance + 1))[:count]


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
