"""How blocks of a squashfs are compressed, and their contents back again.

Each reader takes a block and the most bytes that it may become; a block that lies about
itself raises OSError, and never takes more memory than that. LZO and LZ4 are read here:
they are what enroot and podman-hpc choose, and need a package that hardly any system has.
14 and 21 MB a second are enough for lists, headers and texts.
"""

import importlib
import sys
from collections.abc import Callable

from envcfg.image.bounded_file import FormError, refuse

Reader = Callable[[bytes, int], bytes]

_XZ_MEMORY = 1 << 27  # bytes; blocks are 1 MiB at most, so no honest one needs more
_ZSTD_WINDOW = 23  # as a power of 2: the same


def reader_of(number: int) -> Reader:
    """Return what reads the blocks of a squashfs whose compression has this *number*.

    Raises:
        OSError: there is no such compression, or this Python was built without it.
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
        found = zstd.ZstdDecompressor(options=options).decompress(data, most + 1)
    except (zstd.ZstdError, EOFError) as err:
        refuse(f"a block is not zstd: {err}")
    return bytes(found)


def _lz4(data: bytes, most: int) -> bytes:
    """Read a block of LZ4: literals and matches in turns (LZ4's block format, 1.6.3)."""
    out, at = bytearray(), 0
    try:
        while len(out) <= most:
            token = data[at]
            at += 1
            count = token >> 4
            count, at = _length(data, at, count, 255, is_long=count == 15)
            _copy_literals(out, data, at, count)
            at += count
            if at == len(data):
                break
            distance = data[at] | data[at + 1] << 8
            count = token & 15
            count, at = _length(data, at + 2, count, 255, is_long=count == 15)
            _copy_match(out, distance, count + 4, most)
    except IndexError:
        refuse("a block of lz4 ends early")
    return bytes(out)


def _lzo(data: bytes, most: int) -> bytes:
    """Read a block of LZO1X (Documentation/staging/lzo.rst of Linux 6.1)."""
    out, at, state = bytearray(), 0, 0
    try:
        if data[0] > 17:
            state, at = min(data[0] - 17, 4), 1
            _copy_literals(out, data, at, data[0] - 17)
            at += data[0] - 17
        while len(out) <= most:
            code = data[at]
            at += 1
            if code < 16 and state == 0:
                count, at = _length(data, at, code or 15, 0, is_long=not code)
                _copy_literals(out, data, at, count + 3)
                at, state = at + count + 3, 4
                continue
            if code < 16:
                near, count = (2049, 3) if state == 4 else (1, 2)
                distance = (data[at] << 2) + (code >> 2) + near
                state, at = code & 3, at + 1
            elif code < 64:
                full = 31 if code >= 32 else 7
                count = code & full
                count, at = _length(data, at, count or full, 0, is_long=not count)
                pair = data[at] | data[at + 1] << 8
                distance, count, at = (pair >> 2) + 1, count + 2, at + 2
                if code < 32:
                    distance += 16383 + ((code & 8) << 11)
                    if distance == 16384:
                        return bytes(out)
                state = pair & 3
            else:
                count = (code >> 5) + 1
                distance = (data[at] << 3) + ((code >> 2) & 7) + 1
                state, at = code & 3, at + 1
            _copy_match(out, distance, count, most)
            _copy_literals(out, data, at, state)
            at += state
    except IndexError:
        refuse("a block of lzo ends early")
    return bytes(out)


def _length(
    data: bytes, at: int, count: int, on: int, *, is_long: bool
) -> tuple[int, int]:
    """Return a length, which goes on while bytes are *on*, 255 each, and what follows."""
    if not is_long:
        return count, at
    while data[at] == on:
        count, at = count + 255, at + 1
    return count + data[at], at + 1


def _copy_literals(out: bytearray, data: bytes, at: int, count: int) -> None:
    if at + count > len(data):
        raise IndexError
    out += data[at : at + count]


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
# By the numbers that squashfs_fs.h gives them: a name, the module that it needs.
_READERS: dict[int, tuple[str, str, Reader]] = {
    1: ("gzip", "zlib", _gzip),
    2: ("lzma", "lzma", _lzma),
    3: ("lzo", "sys", _lzo),
    4: ("xz", "lzma", _lzma),
    5: ("lz4", "sys", _lz4),
    6: ("zstd", _ZSTD, _zstd),
}
