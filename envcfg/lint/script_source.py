"""Input of lint: files, folders and standard input, with the places in them.

All sources share one range of offsets, each with its own part, so that one number gives
file and place.
"""

from __future__ import annotations

import os
import re
import sys
from bisect import bisect_right
from collections.abc import Iterable
from typing import Literal, NamedTuple

from envcfg.backends.schedulers import SCHEDULERS, SUBMITTERS, find_scheduler
from envcfg.common.characters import split_lines
from envcfg.common.errors import OutputError
from envcfg.common.findings import Place
from envcfg.common.nesting import walk_folder

Kind = Literal["script", "dump", "log", "empty", "other"]
LARGEST = 1 << 18  # bytes; no job script is larger
_GAP = (
    1  # offset between two sources, so that the end of one is not the next one's begin
)
_SUFFIXES = (
    *(".sh", ".bash", ".job", ".sb", ".env", ".lsf"),
    *(f".{word}" for word in (*SCHEDULERS, *SUBMITTERS)),
)
_SHELL = re.compile(r"#![^\n]*\b(?:ba|da|z|k)?sh\b")
_INTERPRETER = re.compile(
    r"#![ \t]*(?:\S*/env[ \t]+(?:-\S+[ \t]+|\w+=\S*[ \t]+)*)?(?:\S*/)?([\w.+-]+)"
)
# Shells with bash's syntax; a text without a first line is read by its sourcing shell.
BASH = frozenset({"", "bash", "sh"})
_DUMPED = re.compile(r"(?:[A-Za-z_][A-Za-z0-9_.]*|BASH_FUNC_[^=\n]*)=[^\n]*")
_BINARY = re.compile(
    r"[\x01-\x08\x0e-\x1a\x1c-\x1f\x7f]"
)  # characters that no text has
_QUOTES = re.compile(r"""=["']|=\S*\$[A-Za-z_{(]""")
_LOG = re.compile(
    r"^(?:Traceback \(most recent call|(?:srun|slurmstepd): |\S+:\d+:\d+ \[\d+\] NCCL |"
    r"\[?\d{4}-\d\d-\d\d[ T]\d\d:\d\d)",
    re.MULTILINE,
)
_USUAL = re.compile(r"^(?:PATH|PWD|HOME|USER|SHLVL|LANG|SLURM_JOB_ID)=", re.MULTILINE)


class Source(NamedTuple):
    """One file."""

    path: str  # as given; `-` is standard input
    chars: str  # its bytes as Latin-1
    base: int  # offset of its first character among all sources
    # True if it has more than `LARGEST` bytes, so that the rest was not read.
    is_cut: bool = False
    # Offset of the first DOS line break, which is read as a blank; -1: none.
    dos: int = -1

    @property
    def kind(self) -> Kind:
        """The type of the content: a script, an environment printed by ``env``, the log
        of a job, nothing, or anything else."""
        return kind_of(self.chars, self.path)


class Sources:
    """All sources; an offset leads back to its file and line."""

    def __init__(self) -> None:
        """Begin with none."""
        self.all: list[Source] = []
        self._starts: list[int] = []
        self._lines: dict[int, list[int]] = {}
        self._texts: dict[int, list[str]] = {}
        self._end = 0

    def add(self, path: str, data: bytes) -> Source:
        """Add *data* as the source *path*."""
        # "\x01" marks holes in texts, so a script must not contain it.
        chars = data[:LARGEST].decode("latin-1").replace("\x01", "?")
        is_cut = len(data) > LARGEST
        dos = chars.find("\r\n")
        dos = self._end + dos if dos >= 0 else -1
        # A blank replaces the carriage return, so that offsets stay the same.
        source = Source(path, chars.replace("\r\n", " \n"), self._end, is_cut, dos)
        self._starts.append(source.base)
        self._end += len(chars) + _GAP
        self.all.append(source)
        return source

    def find(self, offset: int) -> Source:
        """Return the source in which the offset *offset* lies."""
        return self.all[max(bisect_right(self._starts, offset) - 1, 0)]

    def place(self, offset: int) -> Place:
        """Return file, line and column; the column counts characters, not bytes."""
        source = self.find(offset)
        line, _ = self._line(source, offset)
        return Place(source.path, line, 1 + len(decoded(self.before(offset))))

    def before(self, at: int) -> str:
        """Return the text before the offset *at* on its line."""
        source = self.find(at)
        _, offset = self._line(source, at)
        return source.chars[offset : max(at - source.base, 0)]

    def behind(self, offset: int) -> str:
        """Return the text after the offset *offset* on its line."""
        source = self.find(offset)
        begin = max(offset - source.base, 0)
        end = source.chars.find("\n", begin)
        return source.chars[begin : end if end >= 0 else None]

    def line(self, offset: int) -> str:
        """Return the line in which *offset* lies, as text."""
        return decoded(self.lines(offset)[-1])

    def lines(self, at: int) -> list[str]:
        """Return the line in which *at* lies and the one above it, the last one last."""
        source = self.find(at)
        if source.base not in self._texts:
            self._texts[source.base] = source.chars.split("\n")
        number = self.line_number(at)
        return self._texts[source.base][max(number - 2, 0) : number]

    def line_number(self, offset: int) -> int:
        """Return the number of the line in which *offset* lies, from 1."""
        return self._line(self.find(offset), offset)[0]

    def _line(self, source: Source, offset: int) -> tuple[int, int]:
        starts = self._lines.get(source.base)
        if starts is None:
            # Lines are indexed on demand, because most sources have no finding.
            starts = [0, *(m.end() for m in re.finditer("\n", source.chars))]
            self._lines[source.base] = starts
        number = bisect_right(starts, max(offset - source.base, 0))
        return number, starts[number - 1]


def has_stray_nul(chars: str) -> bool:
    """Return whether a text holds a NUL byte, and is not a binary file."""
    return "\0" in chars and not _BINARY.search(chars)


def kind_of(chars: str, path: str = "") -> Kind:
    """Return the type of a text, judged by its content."""
    if "\0" in chars:
        entries = [part for part in chars.split("\0") if part]
        fitting = sum(bool(_DUMPED.match(entry)) for entry in entries)
        # A few entries may be damaged, but nearly all must be assignments.
        return "dump" if entries and fitting >= len(entries) * 0.9 else "other"
    if _SHELL.match(chars) or find_scheduler(chars):
        return "script"
    lines = [line for line in split_lines(chars) if line.strip()]
    fitting = sum(bool(_DUMPED.fullmatch(line)) for line in lines)
    # Common names are required, because a settings file has assignments too.
    is_dump = lines and fitting >= len(lines) * 0.8 and _USUAL.search(chars)
    # Quotes and expansions occur in scripts and never in the output of env.
    if is_dump and not any(_QUOTES.search(line, 0, 1000) for line in lines[:200]):
        return "dump"
    if not lines:
        return "empty"
    if _LOG.search(chars):
        return "log"
    if chars.startswith("#!") or path.endswith((".py", ".yaml", ".yml", ".md")):
        return "other"
    return "script"


def interpreter_of(chars: str) -> str:
    """Return the name of the program in the first line of a script, if any."""
    match = _INTERPRETER.match(chars)
    return match[1] if match else ""


def read_files(inputs: Iterable[str]) -> dict[str, bytes]:
    """Return files by their path; of folders, only their scripts.

    Raises:
        OutputError: a file cannot be read, or is larger than any script.
    """
    contents: dict[str, bytes] = {}
    for path in inputs:
        names = _scripts(path) if path != "-" and os.path.isdir(path) else [path]
        contents |= {name: _read_script(name) for name in names if name not in contents}
    return contents


def read_beside(path: str) -> bytes | None:
    """Return a file that a script names, if it exists and can be a script."""
    try:
        if not os.path.isfile(path) or os.path.getsize(path) > LARGEST:
            return None
        with open(path, "rb") as file:
            return file.read()
    except (OSError, ValueError):
        return None


def _scripts(folder: str) -> list[str]:
    paths = []
    for current, _, names in walk_folder(folder):
        for name in sorted(names):
            path = os.path.join(current, name)
            data = read_beside(path)
            if data is None or (b"\0" in data and not name.endswith(_SUFFIXES)):
                continue
            head = data[:4096].decode("latin-1")
            if name.endswith(_SUFFIXES) or _SHELL.match(head):
                paths.append(path)
    return paths


def _read_script(path: str) -> bytes:
    try:
        if path == "-":
            return sys.stdin.buffer.read(LARGEST + 1)
        with open(path, "rb") as file:
            return file.read(LARGEST + 1)
    except OSError as err:
        msg = f"{path}: cannot be read: {err.strerror}"
        raise OutputError(msg) from err


def decoded(chars: str) -> str:
    """Return characters of a source, each of them a byte, as text for messages."""
    return chars.encode("latin-1").decode("utf-8", "replace")
