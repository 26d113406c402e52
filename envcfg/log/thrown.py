"""An exception that a program of Python printed, and the line of the program."""

from __future__ import annotations

import re
from typing import NamedTuple

from envcfg.log.facts import Sighting, Spot

PATIENCE = 400  # lines in which a traceback ends; others run between
STAMP = re.compile(
    r"\d{4}-\d\d-\d\d[T _]\d\d:\d\d:\d\d[.,\d]*(?:Z|[+-]\d\d:?\d\d)?|\d\d:\d\d:\d\d[.,\d]*"
)
# Where a traceback begins that nothing caught: the program, its modules, its processes.
_TOPS = frozenset(
    ("<module>", "_run_module_as_main", "_run_code", "_bootstrap", "_wrap", "_main")
)
_LIBRARY = re.compile(r"(?:site|dist)-packages/|/lib/python3|^<frozen|/torch/")


class Frame(NamedTuple):
    """A line of the program: its file, from 1 its number, and the function."""

    file: str
    line: int
    function: str

    @property
    def is_library(self) -> bool:
        """Whether the file is Python's own or was installed, and is not the user's."""
        return _LIBRARY.search(self.file) is not None

    @property
    def short(self) -> str:
        """The file's name without its folders, and the line."""
        return f"{self.file.rpartition('/')[2]}:{self.line}"


class Thrown:
    """One exception that was printed.

    Attributes:
        prefix: what stood in front of it.
        kind: its type without its modules.
        message: the first line of what it says.
        said: both as they stand, with the modules of the type.
        frame: the innermost line that is the user's, else of all.
        sighting: the line that names it.
        earlier: of a chain, the first.
        link: how it comes from that.
        process: who printed it, as a line before it says.
        aside: Python goes on after it, so that it ends nothing.
        outermost: the function that the traceback begins in.
    """

    def __init__(self, prefix: str, process: str, *, aside: bool) -> None:
        """Begin with the first line of a traceback."""
        self.prefix = prefix
        self.process = process
        self.aside = aside
        self.kind = self.message = self.said = self.link = ""
        self.frame: Frame | None = None
        self.outermost = ""
        self.sighting = Sighting(Spot(0, 0, 0), "")
        self.earlier: Thrown | None = None
        self.lines = 0  # of no traceback that were seen before it
        self.left = PATIENCE
        self.twice = 0  # more tracebacks that began within it, of nobody else

    @property
    def text(self) -> str:
        """Type and message, as Python prints them."""
        return f"{self.kind}: {self.message}" if self.message else self.kind

    @property
    def time(self) -> str:
        """The time in front of it, if there is one."""
        found = STAMP.search(self.sighting.text[: len(self.prefix) + 1])
        return found[0] if found else ""

    @property
    def is_caught(self) -> bool:
        """Whether the program printed it itself: what nobody catches begins at the top.

        Of a part of a chain, or of what came from elsewhere, nobody knows.
        """
        return not (self.process or self.earlier or self.outermost in _TOPS)

    def see(self, frame: Frame) -> None:
        """Take in a frame; the last of the user's counts, or the last."""
        known = self.frame
        self.outermost = self.outermost or frame.function or "<module>"
        if known is None or known.is_library or not frame.is_library:
            self.frame = frame
