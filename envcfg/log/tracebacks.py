"""Exceptions of Python in a log: tracebacks of many lines to records.

Whatever a launcher puts in front of the line that begins a traceback stands in front of
the lines that follow, too: lines of ranks that ran into each other are told apart by it,
and who speaks is read from it. Lines after an exception are counted for a while: steps
that a training goes on with tell that the exception was outlived.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set

from envcfg.log.facts import Sighting, Spot, clip
from envcfg.log.prefix import said_in_json, without_colours
from envcfg.log.thrown import STAMP, End, Frame, Thrown

BEGIN = "Traceback (most recent call last)"
_GATES = (BEGIN.encode(), b"SyntaxError: ", b"IndentationError: ", b"TabError: ")
_MOST = 4096  # exceptions that are kept, and steps
_WATCHED = 5000  # lines that are looked at after an exception
_LONG = 2000  # characters of a line
_MANY = 24  # lines in a row that are counted
_BEFORE = 40  # lines before the first traceback of a block that are looked at
_SHAPES = 64  # kinds of prefix
_REDRAWN = 64  # parts of a line that carriage returns end, the last of them
# In lines without one of these no traceback begins.
_WORTH = {BEGIN.encode(), b'File "', b'{"', b"<std", b"above exception", b"\x1b"}
WORDS = _WORTH.union(_GATES)  # of which a scanner tells whether a block holds them
_FRAME = re.compile(r' *File "([^"\n]{1,1000})", line (\d{1,9})(?:, in (.{1,200}))?$')
_TAG = re.compile(r"\[\d+,\d+\]<std(?:out|err)>: ?")
_KIND = re.compile(
    r"(?!Failures:$)"  # of torchrun, behind a line of its exception that another tore
    r"(?P<kind>(?:[A-Za-z_]\w*\.)*[A-Z_]\w*)(?:\((?P<of>[\w.]+)\))?(?:: ?(?P<message>.*))?$"
)
_STEP = re.compile(
    r"(?i)(?:\b(?:global[_ ]?)?(?:step|epoch|iter(?:ation)?)s?\b\W{0,3}|\|\s*(?=\d+/\d))"
    r"(\d{1,9})\b"
)
_CHAINED = {
    "During handling of the above exception": "while handling",
    "The above exception was the direct cause": "from",
}
# What a program says before a traceback of one of its threads or parts, and goes on.
_ASIDE = re.compile(
    r"Exception ignored in|Logging error|Exception in thread|exception was never retrieved"
    r"|Error in atexit|Exception in callback|Unhandled exception in thread"
)
_PROCESS = re.compile(
    r"-- (?P<name>Process \d+) terminated with the following error|^Process (?P<one>\S+):$"
)
_GROUP = "+ Exception Group "  # before the traceback of several
_REMOTE = re.compile(r"\(pid=(\d+), ip=([\d.]+)")  # in a task of Ray


class _Stream:
    """What was last seen behind one prefix."""

    def __init__(self) -> None:
        self.open: Thrown | None = None
        self.last: Thrown | None = None
        self.before = ""  # the line before
        self.chained = ""


class Tracebacks:
    """Reads blocks for exceptions, and what came after them.

    Attributes:
        found: all that may have ended a program, in their order.
    """

    def __init__(self) -> None:
        """Begin with none."""
        self.found: list[Thrown] = []
        self._streams: dict[str, _Stream] = {}
        self._shapes: dict[str, re.Pattern[str]] = {}
        self._lines = 0  # that were looked at
        self._until = -1
        self._plain = 0  # of them, those that are not part of a traceback
        # Of each file: after how many lines a step was seen first, and how many lines.
        self._steps: dict[int, dict[str, int]] = {}
        self._seen: dict[int, int] = {}

    def take(
        self, text: bytes, spot: Spot, marks: Mapping[int, End], held: Set[bytes]
    ) -> None:
        """Read the lines of a block.

        Args:
            text: its whole lines.
            spot: where it begins.
            marks: what else may have ended the program, by the line of the block.
            held: of ``WORDS``, those that it may hold.
        """
        gates = held & set(_GATES) if len(self.found) <= _MOST else ()
        starts = [at for at in map(text.find, gates) if at >= 0]
        watching = self._lines < self._until
        if not (starts or watching or marks):
            return
        lines = text.removesuffix(b"\n").split(b"\n")
        first = min(
            [text.count(b"\n", 0, at) for at in starts] + list(marks), default=0
        )
        # What stands before tells whose it is, and which steps there were.
        begin = 0 if watching else max(0, first - _BEFORE)
        worth = sorted({*_lines_with(held & _WORTH, text), *marks, len(lines)})
        steps = self._steps.setdefault(spot.source, {})
        number = begin
        while number < len(lines):
            if len(steps) == _MOST and not self._shapes and not self._is_open:
                ahead = worth[bisect_left(worth, number)]
                self._pass_over(lines[number:ahead])
                if (number := ahead) == len(lines):
                    break
            # What stands before a carriage return was written over, or is a line, too.
            *bars, last = lines[number].rstrip().split(b"\r")
            before, here = self._plain, spot._replace(line=number)
            for part in bars[-_REDRAWN:]:
                self._line(part[:_LONG].decode("utf-8", "replace"), here)
            self._plain = before
            self._line(last[:_LONG].decode("utf-8", "replace"), here)
            if number in marks:
                marks[number].lines = self._plain
                self._until = self._lines + _WATCHED
            number += 1
        self._seen[spot.source] = self._plain

    def after(self, what: Thrown | End) -> tuple[int, int]:
        """Return how many lines and new steps of its file came after *what*."""
        source = what.sighting.spot.source
        firsts = list(self._steps.get(source, {}).values())
        lines = self._seen.get(source, what.lines) - what.lines
        return lines, len(firsts) - bisect_right(firsts, what.lines)

    @property
    def _is_open(self) -> bool:
        return any(stream.open for stream in self._streams.values())

    def _pass_over(self, lines: Sequence[bytes]) -> None:
        """Count lines in which no traceback begins, where none is open."""
        self._lines += len(lines)
        most = self._plain + _MANY  # more tell nothing more
        for line in lines:
            said = line.rstrip().rpartition(b"\r")[2]
            self._plain += bool(said) and not said.startswith((b" ", b"frame #"))
            if self._plain == most:
                break
        ends = (line.rstrip().rpartition(b"\r")[2] for line in reversed(lines))
        if said := next(filter(None, ends), b""):
            before = said[:_LONG].decode("utf-8", "replace")
            self._streams.setdefault("", _Stream()).before = before

    def _line(self, line: str, spot: Spot) -> None:
        self._lines += 1
        line = without_colours(line)
        line = said_in_json(line).rstrip() if line.startswith('{"') else line
        if tag := _TAG.match(line):  # Open MPI repeats it at each piece of a line
            line = tag[0] + _TAG.split(line.replace(tag[0].rstrip(), ""), maxsplit=1)[0]
        if BEGIN in line:
            self._begin(line)
            return
        for stream, prefix in self._speakers(line):
            content = line[len(prefix) :]
            if stream.open:
                here = Sighting(spot, clip(line))
                if self._go_on(stream, stream.open, content, here):
                    return
                continue
            if content.startswith(tuple(_CHAINED)):
                stream.chained = next(
                    link for says, link in _CHAINED.items() if content.startswith(says)
                )
            elif (found := _FRAME.match(content)) and not found[3]:
                # Of a file that Python could not read: no traceback begins before it.
                stream.open = self._new(prefix, stream)
                stream.open.see(Frame(found[1], int(found[2]), ""))
            steps = self._steps[spot.source]
            if len(steps) < _MOST and (step := _STEP.search(content)):
                steps.setdefault(step[1], self._plain + 1)
            if content.strip():
                stream.before = content
                self._plain += content[0] != " " and not content.startswith("frame #")
            return

    def _speakers(self, line: str) -> Iterator[tuple[_Stream, str]]:
        """Yield the streams that *line* may belong to, with what stands in front."""
        for shape in self._shapes.values():
            if found := shape.match(line):
                stream = self._streams.get(STAMP.sub("", found[0]))
                if stream is not None:
                    yield stream, found[0]
        yield self._streams.setdefault("", _Stream()), ""

    def _begin(self, line: str) -> None:
        prefix = line[: line.index(BEGIN)]
        nested = prefix.endswith("Original ")
        prefix = prefix.removesuffix("Original ")
        if max(len(self.found), len(self._streams)) > _MOST:
            return
        if prefix.endswith(_GROUP):
            prefix = prefix.removesuffix(_GROUP) + "| "
        key = STAMP.sub("", prefix)
        if prefix and len(self._shapes) < _SHAPES:
            words = re.split(r"([\w.]+)", prefix)
            pattern = "".join(
                r"[\w.]+" if at % 2 else re.escape(each)
                for at, each in enumerate(words)
            )
            self._shapes.setdefault(pattern, re.compile(pattern))
        stream = self._streams.setdefault(key, _Stream())
        if nested and stream.last and stream.last in self.found:
            self.found.remove(stream.last)  # it only says what follows here
        if stream.open:
            stream.open.twice += 1
            return
        stream.open = self._new(prefix, stream)

    def _new(self, prefix: str, stream: _Stream) -> Thrown:
        named = _PROCESS.search(stream.before)
        process = (named["one"] or named["name"].lower()) if named else ""
        aside = _ASIDE.search(stream.before) is not None
        return Thrown(prefix, process, aside=aside)

    def _go_on(
        self, stream: _Stream, thrown: Thrown, content: str, sighting: Sighting
    ) -> bool:
        """Take a line into the open traceback; return whether it belongs to it."""
        thrown.left -= 1
        if frame := _FRAME.match(content):
            thrown.see(Frame(frame[1], int(frame[2]), frame[3] or ""))
            return True
        if not thrown.left:
            stream.open = None
            return False
        found = _KIND.match(content)
        if not found or thrown.frame is None:
            return content[:1] in ("", " ", "|", "+")
        self._end(stream, thrown, found, sighting)
        return True

    def _end(
        self, stream: _Stream, thrown: Thrown, found: re.Match[str], where: Sighting
    ) -> None:
        thrown.kind = found["kind"].rpartition(".")[2]
        thrown.message = (found["message"] or "").strip()
        thrown.said = found[0]
        thrown.sighting, thrown.lines = where, self._plain
        if stream.chained and stream.last:
            thrown.link, first = stream.chained, stream.last
            thrown.earlier = first.earlier or first
            if first in self.found:
                self.found.remove(first)
        if not thrown.aside:
            self.found.append(thrown)
        self._until = self._lines + _WATCHED
        stream.last, stream.chained, stream.open = thrown, "", None
        if where_is := _REMOTE.search(thrown.message) if found["of"] else None:
            thrown.process = "pid {} on {}".format(*where_is.groups())
        if found["of"] or thrown.twice:
            stream.open = Thrown(thrown.prefix, thrown.process, aside=False)
            stream.open.frame = None if found["of"] else thrown.frame
            stream.open.twice = max(0, thrown.twice - 1)


def _lines_with(words: Iterable[bytes], text: bytes) -> Iterator[int]:
    """Yield the numbers of lines that hold one of *words*."""
    for word in words:
        number = counted = 0
        while (at := text.find(word, counted)) >= 0:
            number += text.count(b"\n", counted, at)
            counted = at + 1
            yield number
