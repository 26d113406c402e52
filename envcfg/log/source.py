"""Where a log comes from: files, folders, patterns, standard input, compressed files."""

import glob
import os
import sys
from collections.abc import Iterator, Sequence

from envcfg.errors import OutputError, UsageError
from envcfg.log.content import decompressed, head_of, kind_of

BLOCK = 1 << 17  # larger reads are slower: this much stays in the processor's cache
LONGEST = 1 << 20  # a line that is longer is looked at in pieces
_OVERLAP = 1 << 12  # of a piece that is looked at again with the next one
_ENDLESS = 1 << 26  # of what is not a file, a line that is longer has no end
LARGE = 1 << 24  # in a file beyond this, the middle is looked at sparingly
EDGE = 1 << 23  # what counts as the beginning and the end of such a file


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
            inside = files_in(name) or _of_ranks(name)
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


def _of_ranks(folder: str) -> list[str]:
    """Return the files of all ranks below torchrun's --log-dir, of the last attempt."""
    found = glob.glob(
        f"{glob.escape(folder)}/**/attempt_*/*/std???.log", recursive=True
    )
    attempts = {
        each: each.rpartition("/attempt_")[2].partition("/")[0] for each in found
    }
    last = max(attempts.values(), key=lambda each: (len(each), each), default="")
    return sorted(each for each in found if attempts[each] == last)


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
        kind: what it is where it is not text (``empty``, ``a zip archive``); else nothing.
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
            head = head_of(self._raw)
            plain, self._stream, self._errors = decompressed(name, self._raw)
        except OSError as err:
            msg = f"{name}: {err.strerror or err}"
            raise OutputError(msg, hint="can you read it?") from err
        regular = name != "-" and os.path.isfile(name)
        self.kind = kind_of(head)
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
        kept = without = 0
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
            without = 0 if cut else without + start
            if without > _ENDLESS and not self.size:
                msg = f"{self.name}: no line ends in {_ENDLESS >> 20} MB"
                raise OutputError(msg, hint="is it a log?")
            kept = end - start
            view[:kept] = view[start:end]
            self.offset += start

    def close(self) -> None:
        """Close the log."""
        if self.name != "-":
            self._raw.close()


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
