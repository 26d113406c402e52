"""From sources to a job: one pass over every block, in bounded memory."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from envcfg.findings import Evidence
from envcfg.log.facts import Sighting, Spot
from envcfg.log.job import Job
from envcfg.log.life import TAIL, Sign, is_looked_at, needles, signs_in
from envcfg.log.prefix import Record, parse, plain_record, records
from envcfg.log.scan import MIDDLE, Scanner, Seeker
from envcfg.log.source import Source, count_lines
from envcfg.log.tracebacks import WORDS

_WRAPPED = 3  # lines more that a message may fill, where a terminal or a mail wraps it
_MANY = 1 << 12
_LONG = 1000  # bytes; a longer line was not wrapped
_LAST = b"Last error:"  # a gate, too: what rules know stands on the lines behind it
_BEGINNINGS = (b"NCCL WARN", b"Watchdog", _LAST)
# Lines with one of these mean something without what a rule looks for, or hide that.
_ALWAYS = (*_BEGINNINGS, b" INFO ", b" WARN ", b"[repeated ", b"\x1b", b'{"')


_Signs = list[tuple[int, Sign]]  # and where their lines begin


class _Begun(NamedTuple):
    """A message that no rule knows as it stands, and may when lines behind it are added."""

    record: Record
    text: str
    spot: Spot
    more: tuple[str, ...] = ()


class Reader:
    """Reads sources into a job, and knows afterwards on which line each sighting stands."""

    def __init__(self, *jobs: Job) -> None:
        """Read for *jobs*, each of which takes in what it wants; there is one at least."""
        self.jobs = jobs
        self._match = jobs[0].rulebook.match
        self.size = 0
        gates = (*jobs[0].rulebook.gates, _LAST)
        known = (each.encode() for each in jobs[0].rulebook.needles)
        self._scanner = Scanner(gates, (*needles(), *WORDS), (*known, *_ALWAYS))
        self._names: list[str] = []
        self._plain: list[bool] = []
        self._lines: dict[tuple[int, int], int] = {}
        self._has_signs = True  # what is read is looked at for signs of life
        self._begun: tuple[int, int, _Begun] | None = None  # and where it goes on
        self._idle: set[bytes] = set()  # lines that no rule knows

    @property
    def files(self) -> int:
        """How many sources were begun."""
        return len(self._names)

    def begin(self, name: str, *, plain: bool) -> int:
        """Begin with a source; return its number."""
        for job in self.jobs:
            job.speakers.forget()
        self._names.append(name)
        self._plain.append(plain)
        for job in self.jobs:
            job.endings.begin(len(self._names) - 1, name)
        return len(self._names) - 1

    def read(
        self, source: Source, progress: Callable[[int], None] | None = None
    ) -> None:
        """Read *source* to its end; *progress* is told how many bytes are behind.

        Raises:
            OutputError: it cannot be read.
        """
        number = self.begin(source.name, plain=source.plain)
        for job in self.jobs if source.kind else ():
            job.kinds[source.name] = source.kind
        seek = None
        lines = watched = 0
        for buffer, end, offset in source.raw_blocks():
            if progress:
                progress(offset)
            if source.middle(offset):
                seek = seek or Seeker(buffer)
                # Most of it is the program's own output: find out fast what to skip.
                watched = 2 if seek.finds(MIDDLE, end) else watched - 1
                if watched < 0:
                    if is_looked_at(offset, end, source.size):
                        tail = bytes(memoryview(buffer)[max(0, end - TAIL) : end])
                        signs = signs_in(_with_newlines(tail))
                        self._live(signs, tail, Spot(number, offset, 0), TAIL)
                    continue
            text = bytes(memoryview(buffer)[:end])
            self._has_signs = is_looked_at(offset, end, source.size)
            if self.take(text, Spot(number, offset, 0)) and not source.plain:
                self._lines[number, offset] = lines
            if not source.plain:
                lines += text.count(b"\n")
        self.size += source.offset

    def take(self, text: bytes, spot: Spot, lines: int | None = None) -> bool:
        """Read the lines of a block at *spot*; return whether any was looked at.

        How it decides, in this order, because each step is dearer than the one before: a
        line that no rule ever knew is skipped; one that every job goes on without, too. A
        record of the plain form is folded at once. Any other line is cut into records; if
        none of them matched, it is remembered as one to skip, unless it may go on in the
        lines after it, which are then joined to it.
        """
        as_it_stands, text = text, _with_newlines(text)
        row = counted = 0  # lines of the file, where only a newline counts
        # What the block before this one left open, if it goes on here.
        begun, self._begun = self._begun, None
        looked = (
            begun is not None
            and begun[:2] == (spot.source, spot.block)
            and self._join(begun[2], _split(text), spot, len(text))
        )
        split: list[bytes] = []
        candidates = self._scanner.candidates(text)
        held = self._scanner.held
        signs = signs_in(text, held) if self._has_signs else []
        for start, line, shape in candidates:
            looked = True
            if line in self._idle:
                continue
            jobs = [job for job in self.jobs if not job.goes_on(line, shape)]
            if not jobs:
                continue
            words = _decoded(line)
            row += as_it_stands.count(b"\n", counted, start)
            counted = start
            here = Spot(spot.source, spot.block, row)
            signs = self._live(signs, as_it_stands, spot, start)
            if plain := plain_record(words):
                for job in jobs:
                    job.fold_plain(plain, words, here, line=line, shape=shape)
                continue
            is_idle = len(self._idle) < _MANY
            for record in records(words):
                self._fold(record, words, here)
                is_idle = is_idle and not (
                    record.level or record.repeated or self._match(record.message)
                )
            if not self._may_go_on(record, line):
                self._idle.update([line] if is_idle else ())
            else:
                split = split or _split(text)
                behind = split[text.count(b"\n", 0, start) + 1 :]
                self._join(_Begun(record, words, here), behind, spot, len(text))
        self._live(signs, as_it_stands, spot, len(text))
        # Lines that are certain are not those of programs.
        self.jobs[0].endings.take(as_it_stands, spot, held)
        for job in self.jobs:
            job.cut = self._scanner.cut
            job.records += self._scanner.passed
        self._scanner.passed = 0
        if looked and lines is not None:
            self._lines[spot.source, spot.block] = lines
        return looked

    def _live(self, signs: _Signs, text: bytes, block: Spot, end: int) -> _Signs:
        """Take in the *signs* of life up to *end* of a block; return the others."""
        while signs and signs[0][0] < end:
            (at, sign), *signs = signs
            spot = block._replace(line=text.count(b"\n", 0, at))
            for job in self.jobs:
                job.life.see(sign, spot)
        return signs

    def _fold(self, record: Record, words: str, spot: Spot) -> None:
        for job in self.jobs:
            job.fold(record, words, spot)

    def _may_go_on(self, record: Record, line: bytes) -> bool:
        return (
            record.level in ("WARN", "")
            and len(line) < _LONG
            and any(beginning in line for beginning in _BEGINNINGS)
            and self._match(record.message, record.where) is None
        )

    def _join(
        self, begun: _Begun, lines: Sequence[bytes], block: Spot, size: int
    ) -> bool:
        """Add *lines* of the *block* one by one until a rule knows the message."""
        match = self._match
        for line in lines[: _WRAPPED - len(begun.more)]:
            part = parse(_decoded(line[:_LONG]))
            own = any(gate in line for gate in self._scanner.gates) and match(
                part.message
            )
            if own or part.level or not part.message or len(line) >= _LONG:
                return False
            if part.label != begun.record.label:
                return False
            begun = begun._replace(more=(*begun.more, part.message))
            for between in (" ", ""):
                message = between.join((begun.record.message, *begun.more))
                if match(message):
                    record = begun.record._replace(
                        level="", message=message, certain=False
                    )
                    self._fold(record, begun.text, begun.spot)
                    return True
        if len(begun.more) < _WRAPPED:
            self._begun = block.source, block.block + size, begun
        return False

    def locate(self, sightings: Sequence[Sighting]) -> list[Evidence]:
        """Return file and line of *sightings*; in plain files, lines are counted for it."""
        wanted: dict[int, set[int]] = {}
        for sighting in sightings:
            spot = sighting.spot
            if (spot.source, spot.block) not in self._lines:
                wanted.setdefault(spot.source, set()).add(spot.block)
        for source, offsets in wanted.items():
            if self._plain[source]:
                counted = count_lines(self._names[source], sorted(offsets))
                self._lines.update(
                    {(source, at): lines for at, lines in counted.items()}
                )
        return [
            Evidence(
                self._names[spot.source],
                self._lines.get((spot.source, spot.block), 0) + spot.line + 1,
                text.strip(),
            )
            for spot, text in sightings
        ]


def _with_newlines(text: bytes) -> bytes:
    """Return *text* with every line ended by a newline, and as long as it was."""
    parts = text.split(b"\r")  # faster than to search for two bytes
    if any(part.startswith(b"\n") for part in parts[1:]):
        return text.replace(b"\r\n", b" \n").replace(b"\r", b"\n")
    return b"\n".join(parts) if len(parts) > 1 else text


def _decoded(line: bytes) -> str:
    line = line.replace(b"\0", b"") if b"\0" in line else line
    return line.decode("utf-8", "replace")


def _split(text: bytes) -> list[bytes]:
    return text.removesuffix(b"\n").split(b"\n")
