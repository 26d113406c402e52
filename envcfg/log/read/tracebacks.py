"""Exceptions of Python in a log: tracebacks of many lines to records.

Launchers put the same prefix in front of each line of a traceback. The prefix separates
lines of ranks that are mixed, and names the rank. Lines after an exception are counted for
a while, because later training steps prove that the program survived it.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set

from envcfg.log.read.exceptions import (
    PATIENCE,
    STAMP,
    End,
    LogException,
    TracebackFrame,
)
from envcfg.log.read.line_owner import Owner, speaker
from envcfg.log.read.prefix import said_in_json, without_colours
from envcfg.log.read.process_facts import Sighting, Spot, clip
from envcfg.log.read.steps import StepCounter, StepLine

BEGIN = "Traceback (most recent call last)"
_IN_FILE = '  File "'  # begins a frame
_GATES = (BEGIN.encode(), _IN_FILE.encode())
_MOST = 4096  # exceptions to keep, and steps
_WATCHED = 5000  # lines to examine after an exception
_LONG = 2000  # characters of a line; longer ones are data, not tracebacks
_MANY = 24  # lines in a row to count: a few already prove that the program continued
_BEFORE = 40  # lines to examine before the first traceback of a block
_SHAPES = 64  # kinds of prefix
_REDRAWN = 64  # last parts of a line with carriage returns, as progress bars write them
# A line without one of these begins no traceback.
_WORTH = {BEGIN.encode(), b'File "', b'{"', b"<std", b"above exception", b"\x1b"}
WORDS = _WORTH.union(_GATES)  # the scanner reports which of these a block holds
# A frame in a box of rich, with the code of the program in the lines around it.
_BOX_FRAME = re.compile(r"│ (\S{1,1000}):(\d{1,9}) in (\S{1,200})")
_BOX = "│╭╰"
_FRAME = re.compile(r' *File "([^"\n]{1,1000})", line (\d{1,9})(?:, in (.{1,200}))?$')
_TAG = re.compile(r"\[\d+,\d+\]<std(?:out|err)>: ?")
_KIND = re.compile(
    r"(?!Failures:$)"  # torchrun's line, after an exception line that another line tore
    r"(?P<kind>(?:(?:[A-Za-z_]\w*|<locals>)\.)*[A-Z_]\w*|(?:\w+\.)+(?:\w*error|timeout))"
    r"(?:\((?P<of>[\w.]+)\))?(?:: ?(?P<message>.*))?$"
)
# After frames without a header, such as those of a dump of stacks, other text may look
# like an exception, so that its name must be that of one.
_NAMED = re.compile(
    r"(?:[A-Za-z_]\w*\.)*(?:[A-Z]\w*(?:Error|Exception|Interrupt|Exit)|(?<=\.)\w*error)\b"
)
_STEP = re.compile(
    r"(?i)(?:\b(?:global[_ ]?)?(?:step|epoch|iter(?:ation)?)s?\b\W{0,3}|\|\s*(?=\d+/\d))"
    r"(\d{1,9})\b"
)
_NO_LETTERS = re.compile(r"[^A-Za-z]+")
_CHAINED = {
    "During handling of the above exception": "while handling",
    "The above exception was the direct cause": "from",
}
# Announcements of a traceback in a thread or part, after which the program continues.
_ASIDE = re.compile(
    r"Exception ignored in|Logging error|Exception in thread|exception was never retrieved"
    r"|Error in atexit|Exception in callback|Unhandled exception in thread"
)
_PROCESS = re.compile(
    r"-- (?P<name>Process \d+) terminated with the following error|^Process (?P<one>\S+):$"
)
_ANNOUNCED = re.compile(
    r"(?<=[\])] )[A-Z][\w ]{1,60}: $"
)  # "Engine hit an exception: "
_GROUP = "+ Exception Group "  # before the traceback of several exceptions
_REMOTE = re.compile(r"\(pid=(\d+), ip=([\d.]+)")  # in a task of Ray


class _Stream:
    """The state of one prefix: the traceback in progress."""

    def __init__(self) -> None:
        self.open: LogException | None = None
        self.last: LogException | None = None
        self.before = ""  # the line before
        self.chained = ""
        # The exception whose message goes on in the next lines.
        self.unfinished: LogException | None = None


class Tracebacks:
    """Finds exceptions in blocks, and the lines that follow them."""

    def __init__(self) -> None:
        """Begin without tracebacks."""
        # Exceptions that may have ended a program, in their order.
        self.found: list[LogException] = []
        self.torn: dict[int, LogException] = {}  # those without a known last line
        self._head = 0  # the last head of a traceback, as a number of examined lines
        self._streams: dict[str, _Stream] = {}
        self._group: LogException | None = None  # the last one of several exceptions
        self._shapes: dict[str, re.Pattern[str]] = {}
        self._lines = 0  # examined lines
        self._until = -1
        self._plain = 0  # examined lines outside tracebacks
        self._steps: dict[int, StepCounter] = {}  # by file
        self._seen: dict[int, int] = {}

    def take(
        self,
        text: bytes,
        spot: Spot,
        marks: Mapping[int, End],
        contained: Set[bytes],
        rows: Sequence[int] | None = None,
    ) -> None:
        """Read the lines of a block.

        Args:
            text: its whole lines.
            spot: its begin.
            marks: other possible ends of the program, by the line of the block.
            contained: the ``WORDS`` that it may hold.
            rows: numbers of its lines in the file; None: each line has its own.
        """
        # At the limit no new traceback is kept, so searching for one is useless.
        gates = contained & set(_GATES) if len(self.found) <= _MOST else ()
        starts = [position for position in map(text.find, gates) if position >= 0]
        watching = self._lines < self._until
        if not (starts or watching or marks):
            return
        lines = text.removesuffix(b"\n").split(b"\n")
        if rows:
            marks = {bisect_right(rows, row) - 1: end for row, end in marks.items()}
        first = min(
            [text.count(b"\n", 0, start) for start in starts] + list(marks), default=0
        )
        # Earlier lines name the process, and show the steps before the exception.
        begin = 0 if watching else max(0, first - _BEFORE)
        worth = sorted({*_lines_with(contained & _WORTH, text), *marks, len(lines)})
        steps = self._steps.setdefault(spot.source, StepCounter(_MOST))
        number = begin
        while number < len(lines):
            # If the table of steps is full, lines between possible begins only count.
            if steps.is_full and not self._shapes and not self._is_open:
                ahead = worth[bisect_left(worth, number)]
                self._pass_over(lines[number:ahead])
                if (number := ahead) == len(lines):
                    break
            # Text before a carriage return was overwritten, or is its own line.
            *bars, last = lines[number].rstrip().split(b"\r")
            before, current = (
                self._plain,
                spot._replace(line=rows[number] if rows else number),
            )
            for part in bars[-_REDRAWN:]:
                self._line(part[:_LONG].decode("utf-8", "replace"), current)
            self._plain = before
            self._line(last[:_LONG].decode("utf-8", "replace"), current)
            if number in marks:
                marks[number].lines = self._plain
                self._until = self._lines + _WATCHED
            number += 1
        self._seen[spot.source] = self._plain

    def after(self, subject: LogException | End) -> tuple[int, list[StepLine]]:
        """Return the number of lines and the steps after this event in its file."""
        spot = subject.sighting.spot
        lines = self._seen.get(spot.source, subject.lines) - subject.lines
        return lines, self.steps_after(spot)

    def steps_after(self, spot: Spot) -> list[StepLine]:
        """Return the steps after *spot* in its file."""
        counter = self._steps.get(spot.source)
        return [step for step in counter.steps if step.spot > spot] if counter else []

    def begins_again(self, spot: Spot) -> bool:
        """Return whether steps after *spot* begin again at a lower number."""
        counter = self._steps.get(spot.source)
        return counter is not None and any(again > spot for again in counter.again)

    @property
    def _is_open(self) -> bool:
        return any(stream.open for stream in self._streams.values())

    def _pass_over(self, lines: Sequence[bytes]) -> None:
        """Count lines outside tracebacks, in which no traceback begins."""
        self._lines += len(lines)
        most = self._plain + _MANY  # a higher number has no effect
        for line in lines:
            text = line.rstrip().rpartition(b"\r")[2]
            self._plain += bool(text) and not text.startswith((b" ", b"frame #"))
            if self._plain == most:
                break
        ends = (line.rstrip().rpartition(b"\r")[2] for line in reversed(lines))
        if text := next(filter(None, ends), b""):
            before = text[:_LONG].decode("utf-8", "replace")
            self._streams.setdefault("", _Stream()).before = before

    def _line(self, line: str, spot: Spot) -> None:
        self._lines += 1
        line = without_colours(line)
        line = said_in_json(line).rstrip() if line.startswith('{"') else line
        if tag := _TAG.match(line):  # Open MPI repeats the tag in each piece of a line
            line = tag[0] + _TAG.split(line.replace(tag[0].rstrip(), ""), maxsplit=1)[0]
        if BEGIN in line:
            self._begin(line, spot)
            return
        if (start := line.find(_IN_FILE)) > 0 and speaker(line[:start]) != Owner():
            self._add_shape(line[:start])
        for stream, prefix in self._speakers(line):
            content = line[len(prefix) :]
            if stream.open:
                sighting = Sighting(spot, clip(line))
                if self._go_on(stream, stream.open, content, sighting):
                    return
                # The line may belong to the stream of another prefix.
                continue
            thrown, stream.unfinished = stream.unfinished, None
            is_head = _PROCESS.search(content) is not None
            if thrown and not is_head and thrown.takes(content):
                stream.unfinished = thrown
                return
            if content.startswith(tuple(_CHAINED)):
                stream.chained = next(
                    link for says, link in _CHAINED.items() if content.startswith(says)
                )
            elif match := _FRAME.match(content):
                self._begin_without_head(stream, prefix, match)
                if match[3]:
                    return
            steps = self._steps[spot.source]
            if not steps.is_full and (step := _STEP.search(content)):
                form = _NO_LETTERS.sub("", content)
                owner = speaker(prefix or content[: step.start()])
                steps.add(form, int(step[1]), spot, owner)
            if content.strip():
                stream.before = content
                # Indented lines and C++ frames belong to a report, not to progress.
                self._plain += content[0] != " " and not content.startswith("frame #")
            return

    def _begin_without_head(
        self, stream: _Stream, prefix: str, match: re.Match[str]
    ) -> None:
        """Begin an exception with a frame: its head is lost, or it is a syntax error."""
        if len(self.found) > _MOST:
            return
        stream.open = self._new(prefix, stream)
        # Its outermost function is unknown: it may be a part of the program's output.
        # Text without a line end, such as a progress bar, may precede the head.
        stream.open.is_headless = bool(match[3]) and self._lines > self._head + 1
        stream.open.see(TracebackFrame(match[1], int(match[2]), match[3] or ""))

    def _speakers(self, line: str) -> Iterator[tuple[_Stream, str]]:
        """Yield the streams that *line* may belong to, each with the prefix."""
        for shape in self._shapes.values():
            # The time differs from line to line, so the key leaves it out.
            if match := shape.match(line):
                stream = self._streams.get(STAMP.sub("", match[0]))
                if stream is not None:
                    yield stream, match[0]
        yield self._streams.setdefault("", _Stream()), ""

    def _begin(self, line: str, spot: Spot) -> None:
        self._head = self._lines
        prefix = line[: line.index(BEGIN)]
        prefix = prefix.partition("╭")[0]
        nested = prefix.endswith("Original ")
        prefix = _ANNOUNCED.sub("", prefix.removesuffix("Original "))
        if max(len(self.found), len(self._streams)) > _MOST:
            return
        # A group draws bars in front of the tracebacks that it contains.
        if prefix.endswith(_GROUP):
            prefix = prefix.removesuffix(_GROUP) + "| "
        key = STAMP.sub("", prefix)
        self._add_shape(prefix)
        stream = self._streams.setdefault(key, _Stream())
        if nested and stream.last and stream.last in self.found:
            self.found.remove(stream.last)  # it only repeats the exception here
        # Two ranks without a prefix write at once: the second traceback ends later.
        if stream.open:
            stream.open.twice += 1
            return
        stream.open = self._new(prefix, stream)
        stream.open.sighting = Sighting(spot, clip(line))
        self.torn[id(stream.open)] = stream.open

    def _add_shape(self, prefix: str) -> None:
        """Add the shape of *prefix*, which then separates the lines of its writers."""
        if not prefix or len(self._shapes) >= _SHAPES:
            return
        # Ranks differ in names and numbers: one pattern serves all of them.
        words = re.split(r"([\w.]+)", prefix)
        pattern = "".join(
            r"[\w.]+" if index % 2 else re.escape(word)
            for index, word in enumerate(words)
        )
        self._shapes.setdefault(pattern, re.compile(pattern))
        self._streams.setdefault(STAMP.sub("", prefix), _Stream())

    def _new(self, prefix: str, stream: _Stream) -> LogException:
        match = _PROCESS.search(stream.before)
        process = (match["one"] or match["name"].lower()) if match else ""
        # The end may be in the next block.
        self._until = max(self._until, self._lines + PATIENCE)
        aside = _ASIDE.search(stream.before) is not None
        return LogException(prefix, process, aside=aside)

    def _go_on(
        self, stream: _Stream, thrown: LogException, content: str, sighting: Sighting
    ) -> bool:
        """Take a line into the open traceback; return whether it belongs to it."""
        thrown.left -= 1
        if frame := _FRAME.match(content) or _BOX_FRAME.match(content):
            thrown.see(TracebackFrame(frame[1], int(frame[2]), frame[3] or ""))
            return True
        # Without an end after so many lines the traceback was torn.
        if not thrown.left:
            stream.open = None
            return False
        # An exception line counts only after a frame; before it is other output.
        match = _KIND.match(content)
        if (
            thrown.is_headless
            and content[:1] not in ("", " ")
            and not _NAMED.match(content)
        ):
            stream.open = None
            return False
        if not match or thrown.frame is None:
            return content[:1] in ("", " ", "|", "+", *_BOX)
        self._end(stream, thrown, match, sighting)
        return True

    def _end(
        self,
        stream: _Stream,
        thrown: LogException,
        match: re.Match[str],
        where: Sighting,
    ) -> None:
        self.torn.pop(id(thrown), None)
        thrown.kind = match["kind"].rpartition(".")[2]
        thrown.message = (match["message"] or "").strip()
        thrown.said = match[0]
        thrown.sighting, thrown.lines = where, self._plain
        if stream.chained and stream.last:
            thrown.link, first = stream.chained, stream.last
            thrown.earlier = first.earlier or first
            # The chained pair is one event, and the later exception represents it.
            if first in self.found:
                self.found.remove(first)
        # The exceptions in a group are the causes, and follow it.
        if self._group and thrown.prefix.endswith("| "):
            if self._group in self.found:
                self.found.remove(self._group)
        elif thrown.kind.endswith("ExceptionGroup"):
            self._group = thrown
        if not thrown.aside:
            self.found.append(thrown)
        stream.unfinished = thrown if thrown.said.endswith(":") else None
        self._until = self._lines + _WATCHED
        stream.last, stream.chained, stream.open = thrown, "", None
        if where_is := _REMOTE.search(thrown.message) if match["of"] else None:
            thrown.process = "pid {} on {}".format(*where_is.groups())
        # After "RayTaskError(...)" Ray prints the traceback of the task without a header.
        if match["of"] or thrown.twice:
            stream.open = LogException(thrown.prefix, thrown.process, aside=False)
            stream.open.frame = None if match["of"] else thrown.frame
            stream.open.twice = max(0, thrown.twice - 1)


def _lines_with(words: Iterable[bytes], text: bytes) -> Iterator[int]:
    """Yield the numbers of lines that hold one of *words*."""
    for word in words:
        number = counted = 0
        while (position := text.find(word, counted)) >= 0:
            number += text.count(b"\n", counted, position)
            counted = position + 1
            yield number
