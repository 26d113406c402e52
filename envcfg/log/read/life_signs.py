"""Progress of a program: its steps, checkpoints, and its end.

The signs are data, in ``life.yaml``. Most of a large log may be lines of steps: in its
middle one place of each MB is examined, and only the last signs of a block, because more
show nothing new.
"""

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

from envcfg.log.numbers import grouped
from envcfg.log.read.line_owner import speaker
from envcfg.log.read.prefix import without_colours
from envcfg.log.read.process_facts import Spot, clip
from envcfg.log.read.steps import StepLine
from envcfg.log.tables import load_table
from envcfg.log.verdict import ProgramProgress

_EACH = 4  # last lines with one needle to examine in a block
_LONGEST = 2048  # bytes of a line to examine
TAIL = 1 << 13  # bytes at the end of a block that are searched for signs only
_EDGE = 1 << 21
_MOST = 1 << 9  # last signs to keep
_CLOCK = re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d")
_BAR = b"%|"  # the needle of progress bars
ENDS = ("end", "success")
_FILE = "read/life_signs"


class Sign(NamedTuple):
    """A line that shows progress: its *kind* and captures."""

    kind: str
    says: str
    step: str
    steps: str
    time: str
    text: str
    id: str = ""
    # Seconds of a step that the line names; None if it names none.
    pace: float | None = None
    front: str = ""  # text before it


def needles() -> Collection[bytes]:
    """Return the substrings of lines that show progress, and of those of compilers."""
    compilers = load_table(_FILE)["compiles"]
    return _signs().keys() | {record["needle"].encode() for record in compilers}


@cache
def _signs() -> Mapping[bytes, Sequence[Mapping[str, str]]]:
    """Return all signs by their needle."""
    return grouped(load_table(_FILE)["signs"], lambda sign: sign["needle"].encode())


def compile_line(block: bytes, contained: Collection[bytes]) -> tuple[int, str] | None:
    """Return the first line of a compiler in *block*, with its offset."""
    lines = (
        (start, text)
        for record in load_table(_FILE)["compiles"]
        for start, text in _lines_with(record["needle"].encode(), block, contained)
        if _compiled(record["pattern"]).search(text)
    )
    return min(lines, default=None)


def first_step(
    block: bytes, contained: Collection[bytes]
) -> tuple[int, str, str] | None:
    """Return the first step in *block*: the offset of its line, its number, its line."""
    steps = (
        (start, sign.step, text)
        for needle, records in _signs().items()
        for start, text in _lines_with(needle, block, contained)
        for record in records
        # A bar at 0 is drawn before the first step.
        if record["kind"] == "step"
        and (sign := _sign(record, text))
        and not (sign.step == "0" and needle == _BAR)
    )
    return min(steps, default=None)


def _lines_with(
    needle: bytes, block: bytes, contained: Collection[bytes]
) -> Iterator[tuple[int, str]]:
    """Yield the first lines of *block* with *needle*, each with its offset."""
    position = block.find(needle) if needle in contained else -1
    for _ in range(_EACH):
        if position < 0:
            return
        start = block.rfind(b"\n", 0, position) + 1
        text = block[start : position + _LONGEST].partition(b"\n")[0]
        yield start, without_colours(text.decode("utf-8", "replace"))
        position = block.find(needle, start + len(text))


def signs_in(
    block: bytes, contained: Collection[bytes] | None = None
) -> list[tuple[int, Sign]]:
    """Return the last signs of life in *block*, each with the offset of its line.

    *contained* are the needles that it may hold (None: unknown).
    """
    signs: dict[int, Sign] = {}
    for needle, names in _signs().items():
        if contained is not None and needle not in contained:
            continue
        start = len(block)
        for _ in range(_EACH):
            position = block.rfind(needle, 0, start)
            if position < 0:
                break
            first = max(0, position - _LONGEST)
            start = block.rfind(b"\n", first, position) + 1 or first
            text = block[start : position + _LONGEST].partition(b"\n")[0]
            line = without_colours(text.decode("utf-8", "replace"))
            if sign := next(filter(None, (_sign(sign, line) for sign in names)), None):
                signs[start] = sign
    return sorted(signs.items())


def is_looked_at(offset: int, end: int, size: int = 0) -> bool:
    """Return whether signs of life are searched in *end* bytes of a log at *offset*.

    They are searched near the begin and the end of *size* bytes (0: unknown); in between
    once in each MB.
    """
    edge = offset < _EDGE or size - offset < _EDGE
    return edge or offset >> 20 != (offset + end) >> 20


_compiled: Callable[[str], re.Pattern[str]] = cache(re.compile)


def _sign(record: Mapping[str, str], text: str) -> Sign | None:
    match = _compiled(record["pattern"]).search(text)
    if match is None:
        return None
    part: dict[str, Any] = match.groupdict()
    step = part.get("step") or part.get("step2") or ""
    time = part.get("time") or ""
    if time.isdecimal():  # milliseconds since 1970
        from datetime import datetime, timezone

        moment = datetime.fromtimestamp(int(time) / 1000, timezone.utc)
        time = moment.strftime("%Y-%m-%d %H:%M:%S UTC")
    elif not time and (clock := _CLOCK.search(text)):
        time = clock[0]
    says, steps = record.get("says", ""), part.get("of") or ""
    line = clip(text.strip())
    pace = _pace(record, text)
    front = text[: match.start()]
    return Sign(
        record["kind"], says, step, steps, time, line, record["id"], pace, front
    )


def _pace(record: Mapping[str, str], text: str) -> float | None:
    match = _compiled(record["pace"]).search(text) if "pace" in record else None
    if match is None:
        return None
    unit, number = next((u, n) for u, n in match.groupdict().items() if n)
    try:
        value = float(number)
    except ValueError:
        return None
    seconds = value / 1000 if unit == "ms" else value
    if unit.startswith("rate"):
        seconds = 1 / value if value else 0.0
    return seconds or None


class JobProgress:
    """The progress of a job, in the order of its lines."""

    def __init__(self) -> None:
        """Begin with no sign."""
        self.signs: list[tuple[Spot, Sign]] = []  # the last ones, in order

    def __bool__(self) -> bool:
        """Return whether there was any sign."""
        return bool(self.signs)

    def see(self, sign: Sign, spot: Spot) -> None:
        """Add a sign, except a progress bar that is drawn again at the end."""
        ended = self.signs and self.signs[-1][1].kind in ENDS
        if ended and sign.steps and sign.step == sign.steps:
            return
        # The last signs matter most, so the oldest one is dropped.
        if len(self.signs) >= _MOST:
            del self.signs[0]
        self.signs.append((spot, sign))

    def is_in_another(self, source: int) -> bool:
        """Return whether there is any sign in another file than *source*."""
        return any(spot.source != source for spot, _ in self.signs)

    def steps_after(self, spot: Spot) -> list[StepLine]:
        """Return the steps after *spot* in its file."""
        steps: list[StepLine] = []
        last: dict[str, str] = {}
        for here, sign in self.signs:
            if here.source != spot.source or sign.kind != "step":
                continue
            before = last.get(sign.id)
            last[sign.id] = sign.step
            if here > spot and sign.step and sign.step != before:
                owner = speaker(sign.front)
                steps.append(StepLine(sign.id, here, owner, is_first=before is None))
        return steps

    def has_ended_before(self, spot: Spot | None) -> bool:
        """Return whether the program had reported its end at *spot*.

        Positions in different files have no order, so an end there counts. It counts only
        after steps: the end of another job has none in this log.
        """
        signs = [sign for sign in self.signs if sign[1].kind != "checkpoint"]
        if spot and any(spot_seen.source == spot.source for spot_seen, _ in signs):
            signs = [sign for sign in signs if sign[0] < spot]
        last = max(
            (n for n, (_, e) in enumerate(signs, 1) if e.kind == "step"), default=0
        )
        return last > 0 and any(sign.kind in ENDS for _, sign in signs[last:])

    def behind(self, spot: Spot) -> list[tuple[Spot, Sign]]:
        """Return the signs after *spot* in its file, each with its place."""
        return [e for e in self.signs if e[0].source == spot.source and e[0] > spot]

    @property
    def progress(self) -> ProgramProgress | None:
        """The progress of the job; None if no line shows it."""
        if not self.signs:
            return None
        last = {sign.kind: sign for _, sign in self.signs}
        step, checkpoint, end = (
            last.get("step"),
            last.get("checkpoint"),
            self.signs[-1][1],
        )
        return ProgramProgress(
            step=step.step if step else None,
            steps=(step and step.steps) or None,
            time=(step and step.time) or None,
            checkpoint=(checkpoint.step or checkpoint.text) if checkpoint else None,
            ended=(last.get("success") or end).says if end.kind in ENDS else None,
        )
