"""Exceptions of Python programs, and single lines that report an uncaught error."""

import re
from collections.abc import Mapping
from typing import NamedTuple

from envcfg.log.read.line_owner import Owner, named, speaker
from envcfg.log.read.prefix import Record, quotes_launcher
from envcfg.log.read.process_facts import Sighting, Spot
from envcfg.log.read.rulebook import LogRule, Match, fill

ABSENT = "absent"  # the event of a line that names ranks that did not come
STOPPED = "stopped"  # the event of a line that ends a whole job or step
_FULL = 160  # characters of a message of several lines
PATIENCE = 400  # lines in which a traceback ends, including those of others
STAMP = re.compile(
    r"\d{4}-\d\d-\d\d[T _]\d\d:\d\d:\d\d[.,\d]*(?:Z|[+-]\d\d:?\d\d)?|\d\d:\d\d:\d\d[.,\d]*"
)
# Functions at the beginning of an uncaught traceback: the program, its modules, its
# processes.
_TOPS = frozenset(
    "<module> _run_module_as_main _run_code _bootstrap _wrap _main".split()
)
_LIBRARY = re.compile(r"(?:site|dist)-packages/|/lib/python3|^<frozen|/torch/")


class TracebackFrame(NamedTuple):
    """A line of the program: its file, its number from 1, and its function."""

    file: str
    line: int
    function: str

    @property
    def is_library(self) -> bool:
        """Whether the file belongs to Python or an installed package."""
        return _LIBRARY.search(self.file) is not None

    @property
    def short(self) -> str:
        """The file's name without its folders, and the line."""
        return f"{self.file.rpartition('/')[2]}:{self.line}"


class LogException:
    """One exception in the log."""

    def __init__(self, prefix: str, process: str, *, aside: bool) -> None:
        """Begin with the first line of a traceback."""
        self.prefix = prefix  # text in front of its lines
        self.process = process  # its process, according to a line before it
        self.aside = aside  # True if Python continues after it
        self.is_headless = False  # True if its first lines are not in the log
        # Its type without modules, the first line of its message, both as printed, and
        # the relation to the exception before it.
        self.kind = self.message = self.said = self.link = ""
        # The innermost line of the user's program, else of all.
        self.frame: TracebackFrame | None = None
        self.outermost = ""  # the function in which the traceback begins
        self.sighting = Sighting(Spot(0, 0, 0), "")  # the line that names it
        self.earlier: LogException | None = None  # the first exception of a chain
        self.lines = 0  # lines outside tracebacks before this exception
        self.left = PATIENCE
        self.twice = 0  # further tracebacks that began inside it, without a prefix

    @property
    def text(self) -> str:
        """Type and message, as Python prints them."""
        return f"{self.kind}: {self.message}" if self.message else self.kind

    @property
    def time(self) -> str:
        """The time in front of it, if there is one."""
        match = STAMP.search(self.sighting.text[: len(self.prefix) + 1])
        return match[0] if match else ""

    @property
    def is_caught(self) -> bool:
        """Whether the program printed the traceback itself; uncaught ones begin at the
        top level.

        For a part of a chain, or an exception from another process, it is unknown.
        """
        return not (self.process or self.earlier or self.outermost in _TOPS)

    def takes(self, line: str) -> bool:
        """Add a line if it belongs to this message of several lines; return whether."""
        words = line.strip()
        is_next = not words or self.said.endswith(":") or line.startswith(" ")
        if is_next and words and len(self.message) < _FULL:
            self.message = f"{self.message} {words}".strip()
            self.said = f"{self.said} {words}"
        return is_next

    def see(self, frame: TracebackFrame) -> None:
        """Add a frame; the last frame in the user's code counts, else the last of all."""
        frame_before = self.frame
        self.outermost = self.outermost or frame.function or "<module>"
        if frame_before is None or frame_before.is_library or not frame.is_library:
            self.frame = frame


class End:
    """A line about the end of a process."""

    def __init__(self, match: Match, record: Record, sighting: Sighting) -> None:
        """Begin with the line that shows the end."""
        self.rule: LogRule = match.rule  # rule that matched the line
        self.fields: Mapping[str, str | None] = match.fields  # captures of its pattern
        self.sighting = sighting  # the line
        self.time = record.time  # in front of it; empty if there is none
        # Whether the launcher calls it the first, and whether it is in quoted text.
        self.root = self.is_fenced = False
        self.lines = 0  # number of examined lines before it
        # Such a report has several lines, and fixed words in each of them.
        is_report = match.rule.event == "failure" and not record.copy
        # True if a launcher or scheduler wrote it.
        self.is_of_launcher = record.certain or is_report
        # True if other text precedes a launcher's message.
        self.is_quote = not record.certain and quotes_launcher(sighting.text)
        front = sighting.text.partition(record.message)[0] if record.message else None
        self.speaker = before = speaker(sighting.text if front is None else front)
        if self.rule.event == ABSENT:
            before = Owner()  # the writer reports another process
        self.who = named(match.fields) or before  # process that ended
        if not self.who.hosts:  # pdsh, for example, puts the node in front
            self.who = self.who._replace(hosts=before.hosts)

    @property
    def says(self) -> str:
        """The event as words that follow the name of the process."""
        if not self.rule.says:
            return f"ended: {self.rule.meaning}"
        return fill(self.rule.says, self.fields)

    @property
    def is_doubtful(self) -> bool:
        """Whether programs may continue after this kind of line."""
        return self.rule.severity != "error"
