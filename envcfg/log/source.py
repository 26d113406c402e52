"""Where a log comes from: files, folders, patterns, standard input, compressed files."""

from __future__ import annotations

import glob
import os
import sys
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from envcfg.errors import OutputError, UsageError

BLOCK = 1 << 17  # larger reads are slower: this much stays in the processor's cache
LONGEST = 1 << 20  # a line that is longer is looked at in pieces
_HEAD = 512  # bytes by which a file is known
# What people give that is no log, by how it begins.
_KINDS = (
    (b"PK\x03\x04", "a zip archive, which must be unpacked first"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive, which must be unpacked first"),
    (b"BZh", "a file of bzip2, which must be unpacked first"),
    (b"\x7fELF", "a program or library"),
    (b"%PDF", "a PDF document"),
    (b"\x89PNG", "a picture"),
    (b"\xff\xd8\xff", "a picture"),
)
_OVERLAP = 1 << 12  # of a piece that is looked at again with the next one
LARGE = 1 << 24  # in a file beyond this, the middle is looked at sparingly
EDGE = 1 << 23  # what counts as the beginning and the end of such a file


class Block(NamedTuple):
    """Whole lines of a log.

    Attributes:
        text: the lines; the last one may lack its newline.
        offset: where the block begins, in bytes after decompression.
    """

    text: bytes
    offset: int


def expand(names: Sequence[str]) -> list[str]:
    """Return the files that *names* stand for: files, folders, patterns, ``-``.

    Raises:
        OutputError: nothing is there, or it is not for us to read.
    """
    files: list[str] = []
    for name in names:
        if name == "-" or os.path.isfile(name):
            files.append(name)
        elif os.path.isdir(name):
            inside = files_in(name)
            if not inside:
                msg = f"{name}: no file in this folder"
                raise OutputError(msg, hint="name the log file itself")
            files += inside
        elif glob.has_magic(name):
            found = sorted(path for path in glob.glob(name) if os.path.isfile(path))
            if not found:
                msg = f"{name}: no file fits this pattern"
                raise OutputError(msg, hint="is the job's output somewhere else?")
            files += found
        elif os.path.exists(name):  # a pipe
            files.append(name)
        else:
            msg = f"{name}: no such file"
            raise OutputError(msg, hint=_near(name))
    unique = list(dict.fromkeys(files))
    if unique.count("-") and len(unique) > 1 and sys.stdin.isatty():
        msg = "standard input is a terminal"
        raise UsageError(msg, hint="pipe a log into it, or leave the - out")
    return unique


def files_in(folder: str) -> list[str]:
    """Return the files of a folder, without hidden ones, sorted."""
    with os.scandir(folder) as entries:
        return sorted(
            entry.path
            for entry in entries
            if entry.is_file() and not entry.name.startswith(".")
        )


def _near(name: str) -> str:
    from difflib import get_close_matches

    folder = os.path.dirname(name) or "."
    names = os.listdir(folder) if os.path.isdir(folder) else []
    if (named := f"slurm-{name}.out") in names:  # the number of a job
        return f"did you mean {named}?"
    near = get_close_matches(os.path.basename(name), names, n=1)
    if near:
        return f"did you mean {os.path.join(os.path.dirname(name), near[0])}?"
    return "Slurm writes slurm-JOBID.out in the folder where sbatch was called"


class Source:
    """One log, read once, block by block.

    Attributes:
        name: as it was given.
        plain: a file on disk that is not compressed.
        size: its bytes; 0 where nobody knows (a pipe, a compressed file).
        large: so large that its middle is looked at sparingly.
        kind: what it is where it is no text (``empty``, ``a zip archive``); else nothing.
    """

    def __init__(self, name: str) -> None:
        """Open *name*.

        Raises:
            OutputError: it cannot be opened.
        """
        self.name = name
        self.offset = 0
        self._lines: dict[int, int] | None = None
        try:
            self._raw = sys.stdin.buffer if name == "-" else open(name, "rb")  # noqa: SIM115
            self._head = _head(self._raw)
            plain, self._stream, self._errors = _decompressed(name, self._raw)
        except OSError as err:
            msg = f"{name}: {err.strerror or err}"
            raise OutputError(msg, hint="can you read it?") from err
        regular = name != "-" and os.path.isfile(name)
        self.kind = _kind(self._head)
        self.plain = plain and regular
        self.size = os.path.getsize(name) if self.plain else 0
        self.large = self.size > LARGE

    def middle(self, offset: int) -> bool:
        """Return whether *offset* is far from both ends of a large file."""
        return self.large and EDGE < offset < self.size - EDGE

    def raw_blocks(self) -> Iterator[tuple[bytearray, int, int]]:
        """Yield a buffer, the end of its whole lines, and the offset of its beginning.

        The buffer is the same each time; what is in it lasts until the next one.

        Raises:
            OutputError: it cannot be read to its end.
        """
        buffer = bytearray(LONGEST + 2 * BLOCK)
        view = memoryview(buffer)
        kept = 0
        while True:
            try:
                count = self._stream.readinto(view[kept : kept + BLOCK])
            except self._errors as err:
                msg = f"{self.name}: cannot be read beyond byte {self.offset}: {err}"
                hint = "is the file whole? Unpack it, and give what is there"
                raise OutputError(msg, hint=hint) from err
            end = kept + (count or 0)
            if not count:
                if kept:
                    yield buffer, kept, self.offset
                self.offset += kept
                return
            cut = buffer.rfind(b"\n", kept, end) + 1
            if not cut and end < LONGEST:
                kept = end
                continue
            cut = cut or buffer.rfind(b"\r", 0, end) + 1
            whole = cut or end
            yield buffer, whole, self.offset
            # Of a line without an end, the last piece is seen again with the next one.
            start = cut or end - _OVERLAP
            kept = end - start
            view[:kept] = view[start:end]
            self.offset += start

    def close(self) -> None:
        """Close the log."""
        if self.name != "-":
            self._raw.close()


def _head(raw: Any) -> bytes:  # noqa: ANN401  # a binary file
    """Return the first bytes of *raw*, which stay to be read."""
    return bytes(raw.peek(_HEAD)[:_HEAD]) if hasattr(raw, "peek") else b""


def _kind(head: bytes) -> str:
    """Return what a file is that begins with *head*, if that is no text of a log."""
    if not head:
        return "empty"
    found = next((kind for magic, kind in _KINDS if head.startswith(magic)), "")
    if found or is_compressed(head) or _encoding(head):
        return found
    # A log may hold holes, which are read as zeros, and text of any encoding.
    strange = sum(byte < 9 or 13 < byte < 27 for byte in head.replace(b"\0", b""))
    return "a binary file" if strange > len(head) / 20 else ""


def _encoding(head: bytes) -> str:
    """Return the encoding of text in two bytes for a letter, as Windows writes it."""
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    if len(head) < 8 or len(head[::2]) != len(head[1::2]):
        head = head[: len(head) // 2 * 2]
    first, second = head[::2], head[1::2]
    if len(first) > 3 and not any(second) and all(first):
        return "utf-16-le"
    return "utf-16-be" if len(first) > 3 and not any(first) and all(second) else ""


class _Recoded:
    """A stream of UTF-8, read from one in another encoding."""

    def __init__(self, raw: Any, encoding: str) -> None:  # noqa: ANN401
        import codecs

        self._raw = raw
        self._decoder = codecs.getincrementaldecoder(encoding)("replace")
        self._left = b""

    def readinto(self, into: memoryview) -> int:
        """Read what fits *into* it; return how many bytes, 0 at the end."""
        while not self._left:
            given = self._raw.read(BLOCK // 4)
            text = self._decoder.decode(given, final=not given)
            self._left = text.encode("utf-8", "replace")
            if not given:
                break
        count = min(len(into), len(self._left))
        into[:count] = self._left[:count]
        self._left = self._left[count:]
        return count


_Opened = tuple[bool, Any, tuple[type[Exception], ...]]


def _decompressed(name: str, raw: Any) -> _Opened:  # noqa: ANN401  # a binary file
    """Return whether *raw* is plain, a stream of what is in it, and how that fails."""
    head = _head(raw)
    if encoding := _encoding(head):
        return False, _Recoded(raw, encoding), (OSError,)
    for magic, open_stream in _COMPRESSED.items():
        if head.startswith(magic):
            return False, *open_stream(raw)
    if name == "-" or not os.path.isfile(name):
        return True, raw, (OSError,)
    raw.raw.seek(0)
    return True, raw.raw, (OSError,)  # without a second buffer in between


def _gzip(raw: Any) -> tuple[Any, tuple[type[Exception], ...]]:  # noqa: ANN401
    import gzip
    import zlib

    return gzip.GzipFile(fileobj=raw), (OSError, EOFError, zlib.error)


def _xz(raw: Any) -> tuple[Any, tuple[type[Exception], ...]]:  # noqa: ANN401
    import lzma

    return lzma.LZMAFile(raw), (OSError, EOFError, lzma.LZMAError)


def _zstd(raw: Any) -> tuple[Any, tuple[type[Exception], ...]]:  # noqa: ANN401
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd
    return zstd.ZstdFile(raw), (OSError, EOFError, zstd.ZstdError)


_COMPRESSED = {b"\x1f\x8b": _gzip, b"\xfd7zXZ\x00": _xz, b"\x28\xb5\x2f\xfd": _zstd}


def is_compressed(head: bytes) -> bool:
    """Return whether a file that begins with *head* is one that we unpack."""
    return head.startswith(tuple(_COMPRESSED))


def count_lines(name: str, offsets: Sequence[int]) -> dict[int, int]:
    """Return how many lines of the plain file *name* end before each of *offsets*."""
    counts: dict[int, int] = {}
    lines = at = 0
    with open(name, "rb", buffering=0) as file:
        for offset in sorted(set(offsets)):
            while at < offset:
                block = file.read(min(BLOCK, offset - at))
                if not block:
                    break
                lines += block.count(b"\n")
                at += len(block)
            counts[offset] = lines
    return counts
