"""The sources of a log: files, folders, patterns, standard input, compressed files."""

import glob
import os
import re
import sys
from collections.abc import Iterator, Sequence

from envcfg.common.errors import OutputError, UsageError
from envcfg.common.nesting import walk_folder
from envcfg.log.read.content import (
    SOURCES,
    archive_kind_of,
    decompressed,
    head_of,
    kind_of,
)

BLOCK = 1 << 17  # a larger block is slower, because it leaves the processor's cache
LONGEST = 1 << 20  # bytes of a line; a longer one is split
_OF_RANK = re.compile(r"(?:^|/)attempt_[^/]*/[^/.][^/]*/std[^/]{3}\.log$")
_OUTPUT = "give the output of its job, as in slurm-123.out; scripts: envcfg lint"
_OVERLAP = 1 << 12  # bytes of a piece that are read again with the next one
_ENDLESS = 1 << 26  # bytes without a line's end, after which a pipe is not a log
LARGE = 1 << 24  # bytes; only samples of the middle of a larger file are read
EDGE = 1 << 23  # bytes at the beginning and the end of a large file


def expand(names: Sequence[str], *, must_exist: bool = True) -> list[str]:
    """Return the files that *names* match: files, folders, patterns, ``-``.

    Raises:
        OutputError: a name that must exist matches nothing, or is not readable.
    """
    files: list[str] = []
    for name in names:
        problem, hint = "no such file", ""
        if os.path.isdir(name):
            inside = files_in(name)
            logs = [path for path in inside if not archive_kind_of(path)]
            inside = logs or inside or _of_ranks(name)
            problem, hint = "no file in this folder", "name the log file itself"
        elif os.path.isfile(name) or (
            must_exist and (name == "-" or os.path.exists(name))
        ):
            if SOURCES.search(name):
                msg = f"{name}: a program or a script, not a log"
                raise UsageError(msg, hint=_OUTPUT)
            if kind := archive_kind_of(name) if os.path.isfile(name) else "":
                hint = "unpack it, and give the logs in it" if "unpack" in kind else ""
                msg = f"{name}: {kind}"
                raise UsageError(msg, hint=hint or _OUTPUT)
            inside = [name]  # a pipe is no file
        else:
            fitting = filter(os.path.isfile, glob.glob(name))
            inside = sorted(path for path in fitting if not SOURCES.search(path))
            if glob.has_magic(name):
                problem = "no file fits this pattern"
                hint = "is the job's output somewhere else?"
        if must_exist and not inside:
            msg = f"{name}: {problem}"
            raise OutputError(msg, hint=hint or _near(name))
        files += inside
    unique = list(dict.fromkeys(files))
    # An explicit "-" among files is a mistake if nothing is piped in.
    if unique.count("-") and len(unique) > 1 and sys.stdin.isatty():
        msg = "standard input is a terminal"
        raise UsageError(msg, hint="pipe a log into it, or leave the - out")
    return unique


def files_in(folder: str) -> list[str]:
    """Return the files of a folder, without hidden ones and programs, sorted."""
    with os.scandir(folder) as entries:
        return sorted(
            entry.path
            for entry in entries
            if entry.is_file()
            and not entry.name.startswith(".")
            and not SOURCES.search(entry.name)
        )


def _of_ranks(folder: str) -> list[str]:
    """Return the files of all ranks below torchrun's --log-dir, of the last attempt."""
    files = [
        path
        for here, _, names in walk_folder(folder)
        for name in names
        if _OF_RANK.search((path := os.path.join(here, name))[len(folder) :])
    ]
    attempts = {
        name_found: name_found.rpartition("/attempt_")[2].partition("/")[0]
        for name_found in files
    }
    # Attempts are numbered, and a longer number is a later one.
    last = max(attempts.values(), key=lambda name: (len(name), name), default="")
    return sorted(path for path in files if attempts[path] == last)


def _near(name: str) -> str:
    from difflib import get_close_matches

    folder = os.path.dirname(name) or "."
    names = os.listdir(folder) if os.path.isdir(folder) else []
    # The user may have given the job's number.
    of_job = sorted(
        each for each in names if each.endswith(f"-{os.path.basename(name)}.out")
    )
    if near := of_job or get_close_matches(os.path.basename(name), names, n=1):
        return f"did you mean {os.path.join(os.path.dirname(name), near[0])}?"
    return "the log is slurm-JOBID.out or NAME-JOBID.out in the folder of sbatch"


class LogSource:
    """One log, read once, block by block."""

    def __init__(self, name: str, start: int = 0) -> None:
        """Open *name* at byte *start*, which only a plain file can have.

        Raises:
            OutputError: it cannot be opened.
        """
        self.name = name  # as given
        self.offset = self._start = start
        self._lines: dict[int, int] | None = None
        try:
            self._raw = sys.stdin.buffer if name == "-" else open(name, "rb")  # noqa: SIM115
            head = head_of(self._raw)
            plain, self._stream, self._errors = decompressed(name, self._raw)
            if start and plain:
                self._stream.seek(start)
        except OSError as err:
            msg = f"{name}: {err.strerror or err}"
            raise OutputError(msg, hint="can you read it?") from err
        regular = name != "-" and os.path.isfile(name)
        # Type of a file that is no text (`empty`, `a zip archive`); else empty.
        self.kind = kind_of(head)
        self.plain = plain and regular  # True for a file on disk that is not compressed
        # Its bytes; 0 if unknown (a pipe, a compressed file).
        self.size = os.path.getsize(name) if self.plain else 0
        self.large = self.size > LARGE  # True if only samples of its middle are read

    def middle(self, offset: int) -> bool:
        """Return whether *offset* is far from both ends of a large file."""
        return self.large and self._start + EDGE < offset < self.size - EDGE

    def raw_blocks(self) -> Iterator[tuple[bytearray, int, int]]:
        """Yield a buffer, the end of its whole lines, and the offset of its beginning.

        The buffer is the same each time; its content is valid until the next block.

        Raises:
            OutputError: the log cannot be read to its end.
        """
        buffer = bytearray(LONGEST + 2 * BLOCK)
        view = memoryview(buffer)
        with_end = without = 0
        while True:
            try:
                count = self._stream.readinto(view[with_end : with_end + BLOCK])
            except self._errors as err:
                msg = f"{self.name}: cannot be read beyond byte {self.offset}: {err}"
                hint = "is the file whole? Unpack it, and give what is there"
                raise OutputError(msg, hint=hint) from err
            end = with_end + (count or 0)
            if not count:
                if with_end:
                    yield buffer, with_end, self.offset
                self.offset += with_end
                return
            cut = buffer.rfind(b"\n", with_end, end) + 1
            if not cut and end < LONGEST:
                with_end = end
                continue
            # Progress bars end their lines with a carriage return only.
            cut = cut or buffer.rfind(b"\r", 0, end) + 1
            complete = cut or end
            yield buffer, complete, self.offset
            # The last piece of a line without an end is read again with the next one.
            start = cut or end - _OVERLAP
            without = 0 if cut else without + start
            if without > _ENDLESS and not self.size:
                msg = f"{self.name}: no line ends in {_ENDLESS >> 20} MB"
                raise OutputError(msg, hint="is it a log?")
            with_end = end - start
            view[:with_end] = view[start:end]
            self.offset += start

    def close(self) -> None:
        """Close the log."""
        if self.name != "-":
            self._raw.close()


def count_lines(name: str, offsets: Sequence[int]) -> dict[int, int]:
    """Return the number of lines of the plain file *name* before each of *offsets*."""
    counts: dict[int, int] = {}
    lines = position = 0
    with open(name, "rb", buffering=0) as file:
        for offset in sorted(set(offsets)):
            while position < offset:
                block = file.read(min(BLOCK, offset - position))
                if not block:
                    break
                lines += block.count(b"\n")
                position += len(block)
            counts[offset] = lines
    return counts
