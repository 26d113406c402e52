"""What ended a process: an exception of a program in Python, or a line that says so."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from envcfg.log.facts import Sighting, Spot
from envcfg.log.prefix import Record
from envcfg.log.rulebook import Match, Rule
from envcfg.log.who import Who, named, speaker

ABSENT = "absent"  # the event of a line that says who did not come
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


class End:
    """A line that says how something ended.

    Attributes:
        rule: that knows the line.
        fields: what it captured.
        sighting: the line.
        time: in front of it; empty where there is none.
        who: whose end it was.
        speaker: whose line it is.
        root: the launcher calls it the first.
        lines: that were looked at before it.
    """

    def __init__(self, match: Match, record: Record, sighting: Sighting) -> None:
        """Begin with the line."""
        self.rule: Rule = match.rule
        self.fields: Mapping[str, str | None] = match.fields
        self.sighting = sighting
        self.time = record.time
        self.root = False
        self.lines = 0
        front = sighting.text.partition(record.message)[0] if record.message else None
        self.speaker = before = speaker(sighting.text if front is None else front)
        if self.rule.event == ABSENT:
            before = Who()  # he speaks of another
        self.who = named(match.fields) or before
        if not self.who.hosts:  # as where pdsh shows the node
            self.who = self.who._replace(hosts=before.hosts)

    @property
    def says(self) -> str:
        """What happened, in words that go behind whose end it was."""
        captured = {name: text or "" for name, text in self.fields.items()}
        words = self.rule.says or f"ended: {self.rule.meaning}"
        return words.format_map(captured) if "{" in words else words

    @property
    def is_doubtful(self) -> bool:
        """Whether programs go on after such a line, too."""
        return self.rule.severity != "error"
