"""The content type of a file, by its first bytes: text, compressed, other encoding, or
none."""

import io
import os
import re
import sys
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

_PIECE = 1 << 15  # bytes to recode at once
_HEAD = 512  # bytes that identify a file
_ZSTD_WINDOW = 27  # as a power of 2: the limit of zstd itself without an option
# Names of programs and job scripts, whose texts may look like the lines of a log.
SOURCES = re.compile(r"\.(?:py|sh|bash|csh|sbatch|slurm|pbs)$")
# First bytes of files that users pass by mistake and that are not logs.
_TAR = "a tar archive, which must be unpacked first"
_KINDS = (
    (b"PK\x03\x04", "a zip archive, which must be unpacked first"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive, which must be unpacked first"),
    (b"BZh", "a file of bzip2, which must be unpacked first"),
    (b"\x7fELF", "a program or library"),
    (b"%PDF", "a PDF document"),
    (b"\x89PNG", "a picture"),
    (b"\xff\xd8\xff", "a picture"),
)


def head_of(raw: Any) -> bytes:  # noqa: ANN401  # a binary file
    """Return the first bytes of *raw* without consuming them."""
    return bytes(raw.peek(_HEAD)[:_HEAD]) if hasattr(raw, "peek") else b""


def kind_of(head: bytes) -> str:
    """Return the type of a file that begins with *head*; empty if it may be a log."""
    if not head:
        return "empty"
    path = next((kind for magic, kind in _KINDS if head.startswith(magic)), "")
    path = _TAR if head[257:262] == b"ustar" else path
    if path or is_compressed(head) or _encoding(head):
        return path
    # A log may hold holes, which are read as zeros, and text in any encoding.
    strange = sum(byte < 9 or 13 < byte < 27 for byte in head.replace(b"\0", b""))
    return "a binary file" if strange > len(head) / 20 else ""


def archive_kind_of(name: str) -> str:
    """Return the type of a file that is no log for certain; empty for any other."""
    with suppress(OSError), open(name, "rb") as raw:
        head = head_of(raw)
        kind = kind_of(head)
        if is_compressed(head):
            _, stream, errors = decompressed(name, raw)
            with suppress(*errors):
                kind = kind_of(stream.read(_HEAD))
        return kind if kind in (_TAR, *(known for _, known in _KINDS)) else ""
    return ""


def _encoding(head: bytes) -> str:
    """Return the encoding of text with two bytes for each letter, as Windows writes it."""
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    if len(head) < 8 or len(head[::2]) != len(head[1::2]):
        head = head[: len(head) // 2 * 2]
    first, second = head[::2], head[1::2]
    if len(first) > 3 and not any(second) and all(first):
        return "utf-16-le"
    return "utf-16-be" if len(first) > 3 and not any(first) and all(second) else ""


class _PieceStream(io.RawIOBase):
    """A stream of the bytes in *pieces*."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces, self._left = pieces, b""

    def readable(self) -> bool:
        """Return True: this stream is for reading."""
        return True

    def readinto(self, into: Any) -> int:  # noqa: ANN401  # a buffer
        """Fill the buffer *into* and return the number of bytes; 0 at the end."""
        self._left = self._left or next(filter(None, self._pieces), b"")
        count = min(len(into), len(self._left))
        into[:count] = self._left[:count]
        self._left = self._left[count:]
        return count


def _recoded(raw: Any, encoding: str) -> Iterator[bytes]:  # noqa: ANN401
    """Yield the text of *raw*, which has another encoding, in UTF-8."""
    import codecs

    # A letter may end in the next piece, so the decoder keeps its first bytes.
    decode = codecs.getincrementaldecoder(encoding)("replace").decode
    while data := raw.read(_PIECE):
        yield decode(data).encode("utf-8", "replace")
    yield decode(b"", final=True).encode("utf-8", "replace")


_Opened = tuple[bool, Any, tuple[type[Exception], ...]]


def decompressed(name: str, raw: Any) -> _Opened:  # noqa: ANN401  # a binary file
    """Return whether *raw* is plain, a stream of its content, and its reading errors."""
    head = head_of(raw)
    if encoding := _encoding(head):
        return False, _PieceStream(_recoded(raw, encoding)), (OSError,)
    for magic, open_stream in _COMPRESSED.items():
        if head.startswith(magic):
            return False, *open_stream(raw)
    # The position of a pipe cannot be set back.
    if name == "-" or not os.path.isfile(name):
        return True, raw, (OSError,)
    raw.raw.seek(0)
    return True, raw.raw, (OSError,)  # a second buffer would only copy each block


def _gzip(raw: Any) -> tuple[Any, tuple[type[Exception], ...]]:  # noqa: ANN401
    import gzip
    import zlib

    return gzip.GzipFile(fileobj=raw), (OSError, EOFError, zlib.error)


def _xz(raw: Any) -> tuple[Any, tuple[type[Exception], ...]]:  # noqa: ANN401
    import lzma

    return _PieceStream(_joined_xz(raw)), (OSError, EOFError, lzma.LZMAError)


def _joined_xz(raw: Any) -> Iterator[bytes]:  # noqa: ANN401
    """Yield the content of all joined streams of an .xz file; Python's own class stops at
    zeros between them."""
    import lzma

    left, decoder = b"", None  # of the current stream
    while True:
        if not left and (decoder is None or decoder.needs_input):
            left = bytes(raw.read(_PIECE))
            if not left and decoder:
                msg = "the last stream has no end"
                raise EOFError(msg)
            if not left:
                return
        if decoder is None:
            left = left.lstrip(b"\0")
            if not left:
                continue
            decoder = lzma.LZMADecompressor(lzma.FORMAT_XZ)
        yield decoder.decompress(left, _PIECE)
        left = b""
        if decoder.eof:
            left, decoder = decoder.unused_data, None


def _zstd(raw: Any) -> tuple[Any, tuple[type[Exception], ...]]:  # noqa: ANN401
    try:
        if sys.version_info >= (3, 14):
            from compression import zstd
        else:
            from backports import zstd
    except ImportError as err:
        from envcfg.common.errors import LibraryError

        raise LibraryError(package="backports.zstd", use="a log in zstd") from err
    options = {int(zstd.DecompressionParameter.window_log_max): _ZSTD_WINDOW}
    return zstd.ZstdFile(raw, options=options), (OSError, EOFError, zstd.ZstdError)


_COMPRESSED = {b"\x1f\x8b": _gzip, b"\xfd7zXZ\x00": _xz, b"\x28\xb5\x2f\xfd": _zstd}


def is_compressed(head: bytes) -> bool:
    """Return whether *head* begins a compressed file that envcfg can read."""
    return head.startswith(tuple(_COMPRESSED))
