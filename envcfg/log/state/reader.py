"""From sources to a job: one pass over every block, in bounded memory."""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence, Set
from contextlib import contextmanager
from typing import NamedTuple

from envcfg.common.characters import one_line
from envcfg.common.errors import EnvcfgError
from envcfg.common.findings import EvidenceLine
from envcfg.log.numbers import collect
from envcfg.log.read.folded_lines import rows_of, unfolded
from envcfg.log.read.life_signs import TAIL, Sign, is_looked_at, needles, signs_in
from envcfg.log.read.log_source import LogSource, count_lines
from envcfg.log.read.prefix import Record, parse, plain_record, records
from envcfg.log.read.process_facts import Sighting, Spot
from envcfg.log.read.scan import MIDDLE, Scanner, Seeker
from envcfg.log.read.tracebacks import WORDS
from envcfg.log.state.job_state import JobLog

_WRAPPED = 3  # further lines of a message that a terminal or mail program wrapped
# Idle lines to remember: enough for the usual repetition, small in memory.
_MANY = 1 << 12
_LONG = 1000  # bytes; a longer line was not wrapped
_LAST = b"Last error:"  # also a gate: the text that rules match is on the next lines
_BEGINNINGS = (b"NCCL WARN", b"Watchdog", _LAST)
# A line with one of these carries facts without a rule's words, or hides those words.
_ALWAYS = (*_BEGINNINGS, b" INFO ", b" WARN ", b"[repeated ", b"\x1b", b'{"')


# A line that begins or ends a quoted part of a text.
_FENCE = re.compile(
    rb"(?m)^[^`~<\n]{0,64}(?:(?:```|~~~)[\w+-]*|(?:<[a-z]+>)*</?pre>(?:</[a-z]+>)*)"
    rb"[ \t\r]*$"
)
_FENCES = (b"```", b"~~~", b"pre>")
_Signs = list[tuple[int, Sign]]  # signs with the offsets of their lines
_Candidate = tuple[int, bytes, bytes]  # the start of a line, the line, its shape


class _OpenMessage(NamedTuple):
    """A message without a matching rule, which may match with the next lines added."""

    record: Record
    text: str
    spot: Spot
    more: tuple[str, ...] = ()


class _Block:
    """A block of whole lines, and the position of the reader in it."""

    def __init__(self, raw_bytes: bytes, text: bytes, spot: Spot) -> None:
        """Begin at the first line of the block."""
        self.raw_bytes = raw_bytes  # the bytes of the file
        self.text = text  # the same bytes, with a newline at the end of every line
        self.spot = self.here = spot  # its begin, and the current line
        self.signs: _Signs = []  # signs of life after the current line
        # Where quoted parts begin and end, in turns; the end of the last one may be in
        # a later block.
        self.fences: list[int] = []
        # The last one: whether the first line began in the block before.
        self.looked = self.is_read = self.begins_inside = False
        # Number and first byte of the line with the last sign before the current line.
        self._counted = self.sign_line = self.sign_start = 0
        self._lines: list[bytes] = []

    def go_to(self, start: int) -> Spot:
        """Go on to the line that begins at byte *start*; return its place."""
        # A carriage return ends a line for rules, but editors count only newlines.
        row = self.here.line + self.raw_bytes.count(b"\n", self._counted, start)
        self._counted = start
        self.here = Spot(self.spot.source, self.spot.block, row)
        return self.here

    def is_fenced(self, start: int) -> bool:
        """Return whether the line at byte *start* is in a quoted part."""
        return bisect_right(self.fences, start) % 2 == 1

    def is_open(self, start: int) -> bool:
        """Return whether the end of this quoted part is not in the block."""
        return bisect_right(self.fences, start) == len(self.fences)

    def is_quoted(self, start: int) -> bool:
        """Return whether a line of NCCL at byte *start* is printed again by a program.

        It is in a quoted part, replaces a progress bar that was wiped before, or is a
        piece from the inside of a long line.
        """
        is_wiped = self.raw_bytes[max(0, start - 2) : start] == b" \r"
        is_inside = not self.text.startswith(b"\n", start - 1)
        is_inside = is_inside if start else self.begins_inside
        return is_wiped or is_inside or self.is_fenced(start)

    def lines_behind(self, start: int) -> list[bytes]:
        """Return the lines after the one that begins at byte *start*."""
        # Splitting costs a copy of the block, and few blocks need it.
        self._lines = self._lines or _split(self.text)
        return self._lines[self.text.count(b"\n", 0, start) + 1 :]


class Reader:
    """Reads sources into a job, and returns the line of each sighting afterwards."""

    def __init__(self, *jobs: JobLog) -> None:
        """Read for *jobs* (at least one); each takes the records it needs."""
        self.jobs = jobs
        self._match = jobs[0].rulebook.match
        self._death_inside = jobs[0].rulebook.death_inside
        self.size = 0
        # "Last error:" matches no rule by itself, so the rulebook does not list it.
        gates = (*jobs[0].rulebook.gates, _LAST)
        entries = (needle.encode() for needle in jobs[0].rulebook.needles)
        self._scanner = Scanner(
            gates, (*needles(), *WORDS, *_FENCES), (*entries, *_ALWAYS)
        )
        self._names: list[str] = []
        self._takers: list[Sequence[JobLog]] = []  # the jobs of each source
        self._plain: list[bool] = []
        self._lines: dict[tuple[int, int], int] = {}
        self._cut: Spot | None = None  # a line that continues in the next block
        self._is_fenced: dict[int, bool] = {}  # whether a source is in a quoted part
        self._has_signs = True  # search the block for signs of life
        self._begun: tuple[int, int, _OpenMessage] | None = None  # with its next place
        self._idle: set[bytes] = set()  # lines that no rule knows

    @property
    def files(self) -> int:
        """How many sources were begun."""
        return len(self._names)

    def begin(self, name: str, *, plain: bool, proves: bool = True) -> int:
        """Begin with a source; return its number.

        *proves* is False if a job of certain lines must not take any from this source.
        """
        self._takers.append([job for job in self.jobs if proves or not job.certain])
        # A new file may come from other processes: cached lines of the last one are stale.
        for job in self.jobs:
            job.speakers.forget()
        self._names.append(name)
        self._plain.append(plain)
        for job in self.jobs:
            job.endings.begin(len(self._names) - 1, name)
        return len(self._names) - 1

    def read(
        self, source: LogSource, progress: Callable[[int], None] | None = None
    ) -> None:
        """Read *source* to its end; *progress* gets the number of bytes that were read.

        Raises:
            OutputError: *source* cannot be read.
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
                # Only a large file has a middle; the search is built when it is needed.
                seek = seek or Seeker(buffer)
                # Most of it is the program's own output, so one fast search decides.
                # Two blocks after a match are read in full: messages continue in them.
                watched = 2 if seek.finds(MIDDLE, end) else watched - 1
                if watched < 0:
                    if is_looked_at(offset, end, source.size):
                        # Only the last lines matter: the newest sign replaces older ones.
                        tail = bytes(memoryview(buffer)[max(0, end - TAIL) : end])
                        rest = _Block(tail, tail, Spot(number, offset, 0))
                        with self._keeping_bugs(rest):
                            rest.signs = signs_in(_with_newlines(tail))
                            self._live(rest, TAIL)
                    continue
            text = bytes(memoryview(buffer)[:end])
            self._has_signs = is_looked_at(offset, end, source.size)
            # Plain files can be read again, so their lines are counted on demand.
            spot = Spot(number, offset, 0)
            if self.take(text, spot, large=source.large) and not source.plain:
                self._lines[number, offset] = lines
            if not source.plain:
                lines += text.count(b"\n")
        self.size += source.offset

    def take(
        self, text: bytes, spot: Spot, lines: int | None = None, *, large: bool = False
    ) -> bool:
        """Read the lines of a block at *spot*; return whether one was examined.

        A bug that stops the reading of one line is kept, and the next line is read.
        """
        parts = unfolded(text)
        block = _Block(text, _with_newlines(parts), spot)
        # The line at the end of the previous block, if it continues here.
        begun, self._begun = self._begun, None
        if begun and begun[:2] == (spot.source, spot.block):
            first = _split(block.text)
            with self._keeping_bugs(block):
                block.looked = self._join(begun[2], first, block)
        block.begins_inside = spot == self._cut
        if text:  # a followed file may have grown by a part of a line
            for job in self.jobs:
                job.keep_tail(spot.source, text[-TAIL:])
            is_cut = not text.endswith((b"\n", b"\r"))
            self._cut = spot._replace(block=spot.block + len(text)) if is_cut else None
        candidates: Iterator[_Candidate] = iter(())
        with self._keeping_bugs(block):
            candidates = self._scanner.candidates(block.text, large=large)
        gates = self._scanner.held
        block.fences = self._fences_in(block, gates)
        with self._keeping_bugs(block):
            block.signs = signs_in(block.text, gates) if self._has_signs else []
        while not block.is_read:
            with self._keeping_bugs(block):
                self._take_lines(candidates, block)
        with self._keeping_bugs(block):
            self._live(block, len(text))
        with self._keeping_bugs(block):
            # Certain lines are those of NCCL, so programs report their end in the
            # others.
            rows = rows_of(parts, text) if parts is not text else None
            self.jobs[0].endings.take(parts, spot, gates, rows)
            start = self.jobs[0].cold_start
            block.looked |= start.take(block.text, spot, gates)
            block.looked |= self.jobs[0].losses.take(block.text, spot)
        for job in self.jobs:
            job.cut = self._scanner.cut
            if job in self._takers[spot.source]:
                job.records += self._scanner.passed
        self._scanner.passed = 0
        if block.looked and lines is not None:
            self._lines[spot.source, spot.block] = lines
        return block.looked

    def _fences_in(self, block: _Block, contained: Set[bytes]) -> list[int]:
        """Return where quoted parts of *block* begin and end, in turns.

        *contained* are the words that it may hold.
        """
        source = block.spot.source
        fences = [0] if self._is_fenced.get(source) else []
        if not contained.isdisjoint(_FENCES):
            marks = [match.start() for match in _FENCE.finditer(block.text)]
            for job in self.jobs if fences and marks else ():
                job.end_fence(source)
            fences += marks
        self._is_fenced[source] = len(fences) % 2 == 1
        return fences

    def _take_lines(self, candidates: Iterator[_Candidate], block: _Block) -> None:
        """Read *candidates* of a *block*, and note when all are read.

        The steps have this order because each is slower than the one before. A line that
        no rule has matched is skipped; so is one whose effect every job has cached. A
        record of the plain form is added at once. Any other line is split into records. If
        no rule matches any of them, the line is skipped from then on, unless it may
        continue in the next lines, which are then joined to it.
        """
        takers = self._takers[block.spot.source]
        for start, line, shape in candidates:
            # A block counts as examined here: evidence may point to any of these lines.
            block.looked = True
            if line in self._idle:
                continue
            if block.is_quoted(start):
                spot, words = block.go_to(start), _decoded(line)
                fenced = block.is_fenced(start)
                is_open = fenced and block.is_open(start)
                for part in records(words):
                    quoted = fenced or part.level != ""
                    record = part._replace(certain=False, quoted=quoted)
                    for job in takers:
                        job.fold(record, words, spot)
                        if is_open:
                            job.hold(record, words, spot)
                continue
            jobs = [job for job in takers if not job.goes_on(line, shape)]
            if not jobs:
                continue
            words = _decoded(line)
            spot = block.go_to(start)
            if block.signs:
                self._live(block, start)
            if plain := plain_record(words):
                for job in jobs:
                    job.fold_plain(plain, words, spot, line=line, shape=shape)
                continue
            # The set has a limit, because a log may hold endless different lines.
            is_idle = len(self._idle) < _MANY
            for record in records(words):
                self._fold(record, words, spot)
                is_idle = is_idle and not (
                    record.level
                    or record.repeated
                    or self._match(record.message)
                    or self._death_inside(record.message)
                )
            if not self._may_go_on(record, line):
                self._idle.update([line] if is_idle else ())
            else:
                behind = block.lines_behind(start)
                self._join(_OpenMessage(record, words, spot), behind, block)
        block.is_read = True

    @contextmanager
    def _keeping_bugs(self, block: _Block) -> Iterator[None]:
        """Keep a bug that stops the reading of a line, for all jobs."""
        try:
            yield
        except EnvcfgError:
            # An error of envcfg is an answer for the user, not a bug to keep.
            raise
        except Exception as err:  # noqa: BLE001  # any bug; it is reported
            try:
                (where,) = self.locate([Sighting(block.here, "")])
                part = f"the line {one_line(str(where))}"
            except Exception:  # noqa: BLE001  # the same bug
                part = "some lines"
            for job in self.jobs:
                job.bugs.add(part, err)

    def _live(self, block: _Block, end: int) -> None:
        """Take in the signs of life up to *end* of a *block*."""
        while block.signs and block.signs[0][0] < end:
            (start, sign), *block.signs = block.signs
            # Signs are counted by themselves: they do not move the reader.
            block.sign_line += block.raw_bytes.count(b"\n", block.sign_start, start)
            block.sign_start = start
            spot = block.spot._replace(line=block.sign_line)
            for job in self._takers[spot.source]:
                job.life.see(sign, spot)

    def _fold(self, record: Record, words: str, spot: Spot) -> None:
        for job in self._takers[spot.source]:
            job.fold(record, words, spot)

    def _may_go_on(self, record: Record, line: bytes) -> bool:
        # Only a short warning that no rule knows may be the first part of a message.
        return (
            record.level in ("WARN", "")
            and len(line) < _LONG
            and any(beginning in line for beginning in _BEGINNINGS)
            and self._match(record.message, record.where) is None
        )

    def _join(self, begun: _OpenMessage, lines: Sequence[bytes], block: _Block) -> bool:
        """Add *lines* of the *block* one by one until a rule knows the message."""
        match = self._match
        for line in lines[: _WRAPPED - len(begun.more)]:
            part = parse(_decoded(line[:_LONG]))
            own = any(gate in line for gate in self._scanner.gates) and match(
                part.message
            )
            # A line with its own meaning, prefix or writer starts a new message.
            if own or part.level or not part.message or len(line) >= _LONG:
                return False
            if part.label != begun.record.label:
                return False
            begun = begun._replace(more=(*begun.more, part.message))
            # A terminal breaks a line between words or inside a word.
            for between in (" ", ""):
                message = between.join((begun.record.message, *begun.more))
                if match(message):
                    record = begun.record._replace(
                        level="", message=message, certain=False
                    )
                    # A mere title, such as "Last error:", is no evidence alone.
                    is_title = begun.record.message.endswith(":")
                    text = f"{begun.text} {part.message}" if is_title else begun.text
                    self._fold(record, text, begun.spot)
                    return True
        # The block ended before the message was complete: the next block may continue it.
        if len(begun.more) < _WRAPPED:
            end = block.spot.block + len(block.text)
            self._begun = block.spot.source, end, begun
        return False

    def locate(self, sightings: Sequence[Sighting]) -> list[EvidenceLine]:
        """Return file and line of *sightings*; read plain files again to count lines."""
        blocks = collect(
            (spot.source, spot.block)
            for spot, _ in sightings
            if (spot.source, spot.block) not in self._lines
        )
        for source, offsets in blocks.items():
            if self._plain[source]:
                counted = count_lines(self._names[source], offsets)
                self._lines.update(
                    {(source, block): lines for block, lines in counted.items()}
                )
        return [
            EvidenceLine(
                self._names[spot.source],
                self._lines.get((spot.source, spot.block), 0) + spot.line + 1,
                text.strip(),
            )
            for spot, text in sightings
        ]


def _with_newlines(text: bytes) -> bytes:
    """Return *text* with a newline at the end of each line, and with the same length."""
    parts = text.split(b"\r")  # faster than to search for two bytes
    if any(part.startswith(b"\n") for part in parts[1:]):
        return text.replace(b"\r\n", b" \n").replace(b"\r", b"\n")
    return b"\n".join(parts) if len(parts) > 1 else text


def _decoded(line: bytes) -> str:
    line = line.replace(b"\0", b"") if b"\0" in line else line
    return line.decode("utf-8", "replace")


def _split(text: bytes) -> list[bytes]:
    return text.removesuffix(b"\n").split(b"\n")
