"""Signs of life: how far a program came, what it kept, and how it ended.

They are data, in ``life.yaml``. Most of a large log may be lines of steps: in its middle
one place of each MB is looked at, and of a block the last ones: more tell nothing more.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

from envcfg.log.facts import Spot, clip
from envcfg.log.numbers import grouped
from envcfg.log.prefix import without_colours
from envcfg.log.verdict import Progress

_FILE = os.path.join(os.path.dirname(__file__), "life.yaml")
_EACH = 4  # lines with one needle that are looked at in a block, the last ones
_LONGEST = 2048  # bytes of a line that are looked at
TAIL = 1 << 13  # bytes at the end of a block that nothing else is looked for in
_EDGE = 1 << 21
_MOST = 1 << 9  # signs that are kept, the last ones
# What lies behind an error where the job went on: what a program held back in its buffers
# and wrote as it died is shorter, and its last steps are fewer.
_BYTES = 1 << 14
_LINE = 80  # bytes of one, about
_STEPS = 3
_CLOCK = re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d")
ENDS = ("end", "success")


class Sign(NamedTuple):
    """A line that shows that a program goes on: its *kind*, and what it captured."""

    kind: str
    says: str
    step: str
    steps: str
    time: str
    text: str


def needles() -> Collection[bytes]:
    """Return what lines hold that are signs of life, each one of them."""
    return _known().keys()


@cache
def _known() -> Mapping[bytes, Sequence[Mapping[str, str]]]:
    """Return all signs by their needle."""
    from envcfg.datafile import load_kept

    signs: Sequence[Mapping[str, str]] = load_kept("life", [_FILE])[0]["signs"]
    return grouped(signs, lambda each: each["needle"].encode())


def signs_in(
    block: bytes, held: Collection[bytes] | None = None
) -> list[tuple[int, Sign]]:
    """Return the last signs of life in *block*, each with where its line begins.

    Of all needles it holds those of *held* at most (None: nobody knows).
    """
    found: dict[int, Sign] = {}
    for needle, known in _known().items():
        if held is not None and needle not in held:
            continue
        start = len(block)
        for _ in range(_EACH):
            at = block.rfind(needle, 0, start)
            if at < 0:
                break
            first = max(0, at - _LONGEST)
            start = block.rfind(b"\n", first, at) + 1 or first
            text = block[start : at + _LONGEST].partition(b"\n")[0]
            line = without_colours(text.decode("utf-8", "replace"))
            if sign := next(filter(None, (_read(each, line) for each in known)), None):
                found[start] = sign
    return sorted(found.items())


def is_looked_at(offset: int, end: int, size: int = 0) -> bool:
    """Return whether signs of life are looked for in *end* bytes of a log at *offset*.

    Near its begin and its end they are, of *size* bytes in all (0: unknown); between, once
    in each MB.
    """
    edge = offset < _EDGE or size - offset < _EDGE
    return edge or offset >> 20 != (offset + end) >> 20


_compiled: Callable[[str], re.Pattern[str]] = cache(re.compile)


def _read(known: Mapping[str, str], text: str) -> Sign | None:
    found = _compiled(known["pattern"]).search(text)
    if found is None:
        return None
    part: dict[str, Any] = found.groupdict()
    step = part.get("step") or part.get("step2") or ""
    time = part.get("time") or ""
    if time.isdecimal():  # since 1970, in ms
        from datetime import datetime, timezone

        at = datetime.fromtimestamp(int(time) / 1000, timezone.utc)
        time = at.strftime("%Y-%m-%d %H:%M:%S UTC")
    elif not time and (clock := _CLOCK.search(text)):
        time = clock[0]
    says, steps = known.get("says", ""), part.get("of") or ""
    return Sign(known["kind"], says, step, steps, time, clip(text.strip()))


class Life:
    """What a job showed of its progress, in the order of its lines."""

    def __init__(self) -> None:
        """Begin with no sign."""
        self._seen: list[tuple[Spot, Sign]] = []
        self._kinds: set[str] = set()

    def __bool__(self) -> bool:
        """Return whether there was any sign."""
        return bool(self._seen)

    def see(self, sign: Sign, spot: Spot) -> None:
        """Take in a sign; a bar of progress is drawn once more at the end, and is none."""
        ended = self._seen and self._seen[-1][1].kind in ENDS
        if ended and sign.steps and sign.step == sign.steps:
            return
        if len(self._seen) >= _MOST:
            del self._seen[0]
        self._seen.append((spot, sign))
        self._kinds.add(sign.kind)

    def is_in_another(self, source: int) -> bool:
        """Return whether there is any sign in another file than *source*."""
        return any(at.source != source for at, _ in self._seen)

    def has_end_behind(self, spot: Spot) -> bool:
        """Return whether the program says behind *spot* that it is done."""
        return not self._kinds.isdisjoint(ENDS) and any(
            sign.kind in ENDS for _, sign in self.behind(spot)
        )

    def goes_on_behind(self, spot: Spot) -> bool:
        """Return whether there are steps behind *spot* that no buffer held back."""
        later = [each for each in self.behind(spot) if each[1].kind != "checkpoint"]
        if len({sign.step for _, sign in later}) < _STEPS:
            return False
        last = later[-1][0]
        return last.block - spot.block + _LINE * (last.line - spot.line) > _BYTES

    def has_ended_before(self, spot: Spot | None, *kinds: str) -> bool:
        """Return whether the program had come to its end, by one of *kinds*, at *spot*.

        Of a place in another file nobody knows whether it is behind; the end counts. It
        counts where steps came before it: that of another job has none in this log.
        """
        if self._kinds.isdisjoint(kinds):
            return False
        seen = [each for each in self._seen if each[1].kind != "checkpoint"]
        if spot and any(at.source == spot.source for at, _ in seen):
            seen = [each for each in seen if each[0] < spot]
        last = max(
            (n for n, (_, e) in enumerate(seen, 1) if e.kind == "step"), default=0
        )
        return last > 0 and any(sign.kind in kinds for _, sign in seen[last:])

    def behind(self, spot: Spot) -> list[tuple[Spot, Sign]]:
        """Return the signs behind *spot* in its file, each with its place."""
        return [e for e in self._seen if e[0].source == spot.source and e[0] > spot]

    @property
    def progress(self) -> Progress | None:
        """How far the job came; None where nothing shows it."""
        if not self._seen:
            return None
        last = {sign.kind: sign for _, sign in self._seen}
        step, kept, end = last.get("step"), last.get("checkpoint"), self._seen[-1][1]
        return Progress(
            step=step.step if step else None,
            steps=(step and step.steps) or None,
            time=(step and step.time) or None,
            checkpoint=(kept.step or kept.text) if kept else None,
            ended=(last.get("success") or end).says if end.kind in ENDS else None,
        )
