"""The first step of a program that compiled its kernels before it.

Lines of compilers are data, ``compiles`` of ``life_signs.yaml``. The time is known only if
the line of the first step has it: a progress bar counts its own, and a clock needs an
earlier line with a clock of the same form. Otherwise there is no answer.
"""

import re
from collections.abc import Collection

from envcfg.log.read.life_signs import compile_line, first_step
from envcfg.log.read.process_facts import Sighting, Spot, clip

RULE = "kernels-compiled"
_FAR = 1 << 23  # bytes of a file in which its first step is expected
_LAST = 10  # the highest number of a step that is the first one in a log
_MOST = 64  # files
_BAR = re.compile(r" 1/\d+ \[(?:(\d{1,2}):)?(\d\d):(\d\d)<")
_CLOCK = re.compile(r"(\d{4}-\d\d-\d\d[ T])(\d\d):(\d\d):(\d\d)(?![\d:Z+])")
# The same clock, from its first dash: a search for one byte is much faster.
_DASH = re.compile(rb"-(?<=\d{4}-)\d\d-\d\d[ T]\d\d:\d\d:\d\d(?![\d:Z+])")
_KEPT = re.compile(rb"envcfg: note: compile caches (?:are empty|copied)")  # by the job


class ColdStart:
    """The start of a job, as far as its lines show it."""

    def __init__(self) -> None:
        """Begin before the first line."""
        # The first step, its seconds after the start, and a line of a compiler before
        # it; None until then, or for ever.
        self.start: tuple[str, int, Sighting] | None = None
        self._clocks: dict[int, str] = {}  # of the first line with one, by source
        self._lines: dict[int, Sighting] = {}  # of compilers, by source
        self._kept: set[int] = set()  # sources of jobs with --keep-caches
        self._over: set[int] = set()

    def take(self, text: bytes, spot: Spot, contained: Collection[bytes]) -> bool:
        """Read a block; return whether it has a line of a compiler.

        *contained* are the needles that it may hold.
        """
        source = spot.source
        if self.start or source in self._over or len(self._over) > _MOST:
            return False
        if spot.block > _FAR:
            self._over.add(source)
            return False
        if source not in self._kept and _KEPT.search(text):
            self._kept.add(source)
        if source not in self._clocks and (clock := _DASH.search(text)):
            begin = clock.start() - len("2026")
            self._clocks[source] = text[begin : clock.end()].decode()
        step = first_step(text, contained)
        end = step[0] if step else len(text)
        line = None if source in self._lines else compile_line(text[:end], contained)
        if line:
            place = spot._replace(line=text.count(b"\n", 0, line[0]))
            self._lines[source] = Sighting(place, clip(line[1].strip()))
        if step:
            self._over.add(source)
            self._see_step(*step[1:], source)
        return line is not None

    def _see_step(self, step: str, text: str, source: int) -> None:
        seconds = _seconds(text, self._clocks.get(source, ""))
        if not seconds or not step.isdecimal() or int(step) > _LAST:
            return
        # With --keep-caches the next start is warm in any case.
        if source in self._lines and source not in self._kept:
            self.start = step, seconds, self._lines[source]

    @property
    def note(self) -> tuple[str, Sighting] | None:
        """The sentence about the start and the line of a compiler; None if unknown."""
        if self.start is None:
            return None
        step, seconds, line = self.start
        name = "first step" if step in ("0", "1") else f"step {step}"
        return f"{name} after {seconds} s: kernels were compiled again", line


def _seconds(line: str, first: str) -> int | None:
    """Return the time of a step, as its *line* or an earlier clock tells."""
    if bar := _BAR.search(line):
        hours, minutes, seconds = (int(part or 0) for part in bar.groups())
        return hours * 3600 + minutes * 60 + seconds
    begin, end = _CLOCK.match(first), _CLOCK.search(line)
    # On another day or of another form, the clocks may be of different time zones.
    if not begin or not end or begin[1] != end[1]:
        return None
    passed = [int(end[part]) - int(begin[part]) for part in (2, 3, 4)]
    total = passed[0] * 3600 + passed[1] * 60 + passed[2]
    return total if 0 < total < 3600 else None
