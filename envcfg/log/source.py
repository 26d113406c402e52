"""Where a log comes from: files, folders, patterns, standard input, compressed files."""

from __future__ import annotations

import glob
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from envcfg.errors import OutputError, UsageError

BLOCK = 1 << 17  # larger reads are slower: this much stays in the processor's cache
LONGEST = 1 << 20  # a line that is longer is looked at in pieces
_OVERLAP = 1 << 12  # of a piece that is looked at again with the next one
LARGE = 1 << 26  # in a file beyond this, the middle is looked at sparingly
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
            inside = _inside(name)
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


def _inside(folder: str) -> list[str]:
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
            plain, self._stream = _decompressed(name, self._raw)
        except OSError as err:
            msg = f"{name}: {err.strerror or err}"
            raise OutputError(msg, hint="can you read it?") from err
        regular = name != "-" and os.path.isfile(name)
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
            except (OSError, EOFError, ValueError) as err:
                raise self._unreadable(err) from err
            except (
                Exception
            ) as err:  # each library of compression has errors of its own
                if type(err).__module__.split(".")[0] in (
                    "zlib",
                    "lzma",
                    "_lzma",
                    "zstd",
                ):
                    raise self._unreadable(err) from err
                raise
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
            whole = cut or end
            yield buffer, whole, self.offset
            # Of a line without an end, the last piece is seen again with the next one.
            start = cut or end - _OVERLAP
            kept = end - start
            view[:kept] = view[start:end]
            self.offset += start

    def _unreadable(self, err: Exception) -> OutputError:
        msg = f"{self.name}: cannot be read beyond byte {self.offset}: {err}"
        return OutputError(
            msg, hint="is the file whole? Unpack it, and check what is there"
        )

    def close(self) -> None:
        """Close the log."""
        if self.name != "-":
            self._raw.close()


def _decompressed(name: str, raw: Any) -> tuple[bool, Any]:  # noqa: ANN401  # a file
    """Return whether *raw* is plain, and a stream of what is in it."""
    head = raw.peek(6)[:6] if hasattr(raw, "peek") else b""
    for magic, open_stream in _COMPRESSED.items():
        if head.startswith(magic):
            return False, open_stream(raw, name)
    if name == "-" or not os.path.isfile(name):
        return True, raw
    raw.raw.seek(0)
    return True, raw.raw  # without a second buffer in between


def _gzip(raw: Any, _: str) -> Any:  # noqa: ANN401
    import gzip

    return gzip.GzipFile(fileobj=raw)


def _xz(raw: Any, _: str) -> Any:  # noqa: ANN401
    import lzma

    return lzma.LZMAFile(raw)


def _zstd(raw: Any, name: str) -> Any:  # noqa: ANN401
    try:
        from compression import zstd  # Python 3.14
    except ImportError:
        try:
            import zstandard
        except ImportError as err:
            msg = f"{name}: this Python cannot read zstd"
            hint = f"pip install zstandard, or: zstd -dc {name} | envcfg check-log -"
            raise OutputError(msg, hint=hint) from err
        return zstandard.ZstdDecompressor().stream_reader(raw, read_across_frames=True)
    return zstd.ZstdFile(raw)


_COMPRESSED: dict[bytes, Callable[[Any, str], Any]] = {
    b"\x1f\x8b": _gzip,
    b"\xfd7zXZ\x00": _xz,
    b"\x28\xb5\x2f\xfd": _zstd,
}


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
