"""What is linted: files, folders and standard input, and where in them something stands.

All sources share one row of offsets, each with a part of its own, so that one number says
file and place.
"""

from __future__ import annotations

import os
import re
import sys
from bisect import bisect_right
from collections.abc import Iterable
from typing import Literal, NamedTuple

from envcfg.errors import OutputError
from envcfg.findings import Place

Kind = Literal["script", "dump", "other"]
LARGEST = 1 << 18  # bytes; nobody writes a job script of more
_GAP = 1  # between two sources, so that the end of one is not the next
_SUFFIXES = (".sh", ".bash", ".sbatch", ".slurm", ".job", ".sb", ".env", ".pbs", ".lsf")
_SHELL = re.compile(r"#![^\n]*\b(?:ba|da|z|k)?sh\b")
_DIRECTIVE = re.compile(r"^#(?:SBATCH|PBS|flux:)\s", re.MULTILINE)
_DUMPED = re.compile(r"(?:[A-Za-z_][A-Za-z0-9_.]*|BASH_FUNC_[^=\n]*)=[^\n]*")
_QUOTES = re.compile(r"""=["']|=\S*\$[A-Za-z_{(]""")
_USUAL = re.compile(r"^(?:PATH|PWD|HOME|USER|SHLVL|LANG|SLURM_JOB_ID)=", re.MULTILINE)


class Source(NamedTuple):
    """One file.

    Attributes:
        path: as it was given; ``-`` is standard input.
        chars: its bytes as Latin-1.
        base: offset of its first character among all sources.
        is_cut: it has more than ``LARGEST`` bytes, and the others were not read.
        dos: offset of the first line break of DOS, which are read as blanks; -1: none.
    """

    path: str
    chars: str
    base: int
    is_cut: bool = False
    dos: int = -1

    @property
    def kind(self) -> Kind:
        """What it holds: a script, the environment as ``env`` prints it, or neither."""
        return kind_of(self.chars, self.path)


class Sources:
    """All that is read, and the way from an offset back to a line."""

    def __init__(self) -> None:
        """Begin with none."""
        self.all: list[Source] = []
        self._starts: list[int] = []
        self._lines: dict[int, list[int]] = {}
        self._texts: dict[int, list[str]] = {}
        self._end = 0

    def add(self, path: str, data: bytes) -> Source:
        """Take *data* as the source *path*."""
        chars = data[:LARGEST].decode("latin-1").replace("\x01", "?")
        is_cut = len(data) > LARGEST
        dos = chars.find("\r\n")
        dos = self._end + dos if dos >= 0 else -1
        source = Source(path, chars.replace("\r\n", " \n"), self._end, is_cut, dos)
        self._starts.append(source.base)
        self._end += len(chars) + _GAP
        self.all.append(source)
        return source

    def find(self, at: int) -> Source:
        """Return the source in which the offset *at* lies."""
        return self.all[max(bisect_right(self._starts, at) - 1, 0)]

    def place(self, at: int) -> Place:
        """Return file, line and column; the column counts characters, not bytes."""
        source = self.find(at)
        line, _ = self._line(source, at)
        return Place(source.path, line, 1 + len(_decoded(self.before(at))))

    def before(self, at: int) -> str:
        """Return what stands before the offset *at* on its line."""
        source = self.find(at)
        _, offset = self._line(source, at)
        return source.chars[offset : max(at - source.base, 0)]

    def behind(self, at: int) -> str:
        """Return what stands behind the offset *at* on its line."""
        source = self.find(at)
        begin = max(at - source.base, 0)
        end = source.chars.find("\n", begin)
        return source.chars[begin : end if end >= 0 else None]

    def line(self, at: int) -> str:
        """Return the line in which *at* lies, as text."""
        return _decoded(self.lines(at)[-1])

    def lines(self, at: int) -> list[str]:
        """Return the line in which *at* lies and the one above it, the last one last."""
        source = self.find(at)
        if source.base not in self._texts:
            self._texts[source.base] = source.chars.split("\n")
        number = self.line_number(at)
        return self._texts[source.base][max(number - 2, 0) : number]

    def line_number(self, at: int) -> int:
        """Return the number of the line in which *at* lies, from 1."""
        return self._line(self.find(at), at)[0]

    def _line(self, source: Source, at: int) -> tuple[int, int]:
        starts = self._lines.get(source.base)
        if starts is None:
            starts = [0, *(m.end() for m in re.finditer("\n", source.chars))]
            self._lines[source.base] = starts
        number = bisect_right(starts, max(at - source.base, 0))
        return number, starts[number - 1]


def kind_of(chars: str, path: str = "") -> Kind:
    """Return what a text is, by what is in it."""
    if "\0" in chars:
        entries = [each for each in chars.split("\0") if each]
        fitting = sum(bool(_DUMPED.match(each)) for each in entries)
        return "dump" if fitting >= len(entries) * 0.9 else "other"
    if _SHELL.match(chars) or _DIRECTIVE.search(chars):
        return "script"
    lines = [each for each in chars.splitlines() if each.strip()]
    fitting = sum(bool(_DUMPED.fullmatch(each)) for each in lines)
    is_dump = lines and fitting >= len(lines) * 0.8 and _USUAL.search(chars)
    if is_dump and not any(_QUOTES.search(line, 0, 1000) for line in lines[:200]):
        return "dump"
    if chars.startswith("#!") or path.endswith((".py", ".yaml", ".yml", ".md")):
        return "other"
    return "script"


def read_files(given: Iterable[str]) -> dict[str, bytes]:
    """Return files by their path, and of folders those that are scripts.

    Raises:
        OutputError: something cannot be read, or is larger than any script.
    """
    found: dict[str, bytes] = {}
    for path in given:
        names = _scripts(path) if path != "-" and os.path.isdir(path) else [path]
        found |= {name: _read(name) for name in names if name not in found}
    return found


def read_beside(path: str) -> bytes | None:
    """Return a file that a script names, if it is there and can be a script."""
    try:
        if not os.path.isfile(path) or os.path.getsize(path) > LARGEST:
            return None
        with open(path, "rb") as file:
            return file.read()
    except (OSError, ValueError):
        return None


def _scripts(folder: str) -> list[str]:
    found = []
    for here, folders, names in os.walk(folder):
        folders[:] = sorted(each for each in folders if not each.startswith("."))
        for name in sorted(names):
            path = os.path.join(here, name)
            data = read_beside(path)
            if data is None or (b"\0" in data and not name.endswith(".env")):
                continue
            head = data[:4096].decode("latin-1")
            if name.endswith(_SUFFIXES) or _SHELL.match(head):
                found.append(path)
    return found


def _read(path: str) -> bytes:
    try:
        if path == "-":
            return sys.stdin.buffer.read(LARGEST + 1)
        with open(path, "rb") as file:
            return file.read(LARGEST + 1)
    except OSError as err:
        msg = f"{path}: cannot be read: {err.strerror}"
        raise OutputError(msg) from err


def _decoded(chars: str) -> str:
    return chars.encode("latin-1").decode("utf-8", "replace")
