"""Signs of life: how far a program came, what it kept, and how it ended.

They are data, in ``life.yaml``. Most of a large log may be lines of steps: in its middle
one place of each MB is looked at, and of a block the last ones: more tell nothing more.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import takewhile
from typing import Any, NamedTuple

from envcfg.log.process import Spot, clip
from envcfg.log.verdict import Progress

_FILE = os.path.join(os.path.dirname(__file__), "life.yaml")
_EACH = 4  # lines with one needle that are looked at in a block, the last ones
_LONGEST = 2048  # bytes of a line that are looked at
TAIL = 1 << 13  # bytes at the end of a block that nothing else is looked for in
_EDGE = 1 << 21
_MOST = 1 << 10  # runs of signs that are kept
# What lies behind an error where the job went on: what a program held back in its buffers
# and wrote as it died is shorter, and its last steps are fewer.
_BYTES = 1 << 14
_LINE = 80  # bytes of one, about
_STEPS = 3
_COLOUR = re.compile(r"\x1b\[[\d;]*m")
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


class _Known(NamedTuple):
    kind: str
    pattern: str
    says: str


@cache
def _known() -> Mapping[bytes, list[_Known]]:
    """Return all signs by their needle."""
    from envcfg.datafile import load_kept

    found: dict[bytes, list[_Known]] = {}
    for each in load_kept("life", [_FILE])[0]["signs"]:
        sign = _Known(each["kind"], each["pattern"], each.get("says", ""))
        found.setdefault(each["needle"].encode(), []).append(sign)
    return found


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


def signs_in(block: bytes) -> list[tuple[int, Sign]]:
    """Return the last signs of life in *block*, each with where its line begins."""
    found: dict[int, Sign] = {}
    for needle, known in _known().items():
        at = len(block) if needle in block else -1
        for _ in range(_EACH):
            at = block.rfind(needle, 0, max(at, 0))
            if at < 0:
                break
            start = block.rfind(b"\n", max(0, at - _LONGEST), at) + 1
            start = start or max(0, at - _LONGEST)
            end = block.find(b"\n", at, at + _LONGEST)
            end = end if end >= 0 else min(len(block), at + _LONGEST)
            text = _COLOUR.sub("", block[start:end].decode("utf-8", "replace"))
            sign = next(filter(None, (_read(each, text) for each in known)), None)
            if sign:
                found[start] = sign
            at = start
    return sorted(found.items())


def is_looked_at(offset: int, end: int, size: int = 0) -> bool:
    """Return whether signs of life are looked for in *end* bytes of a log at *offset*.

    Near its begin and its end they are, of *size* bytes in all (0: unknown); between, once
    in each MB.
    """
    edge = offset < _EDGE or size - offset < _EDGE
    return edge or offset >> 20 != (offset + end) >> 20


def _read(known: _Known, text: str) -> Sign | None:
    found = _compiled(known.pattern).search(text)
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
    return Sign(known.kind, known.says, step, part.get("of") or "", time, clip(text))


class _Run:
    """Signs of one kind, one behind the other, with no error in between."""

    def __init__(self, sign: Sign, spot: Spot) -> None:
        self.kind = sign.kind
        self.first = self.last = spot
        self.sign = sign
        self.steps = {sign.step}

    def goes_on(self, sign: Sign, spot: Spot) -> None:
        """Take in one more."""
        self.last, self.sign = spot, sign
        if len(self.steps) < _STEPS:
            self.steps.add(sign.step)


class Life:
    """What a job showed of its progress, in the order of its lines."""

    def __init__(self) -> None:
        """Begin with no sign."""
        self._runs: list[_Run] = []
        self._is_cut = True

    def see(self, sign: Sign, spot: Spot) -> None:
        """Take in a sign."""
        last = self._runs[-1] if self._runs else None
        if last and last.kind in ENDS and sign.steps and sign.step == sign.steps:
            return  # a bar of progress is drawn once more
        same = last and (last.kind, last.last.source) == (sign.kind, spot.source)
        if last and same and (not self._is_cut or len(self._runs) > _MOST):
            last.goes_on(sign, spot)
        else:
            self._runs.append(_Run(sign, spot))
        self._is_cut = False

    def cut(self) -> None:
        """Take in that an error stands here."""
        self._is_cut = True

    def __bool__(self) -> bool:
        """Return whether there was any sign."""
        return bool(self._runs)

    def has_end_behind(self, spot: Spot) -> bool:
        """Return whether the program says behind *spot* that it is done."""
        return any(run.kind in ENDS for run in self._behind(spot))

    def is_seen_behind(self, spot: Spot) -> bool:
        """Return whether there is any sign behind *spot*."""
        return any(self._behind(spot))

    def goes_on_behind(self, spot: Spot, *, least: int = _STEPS) -> bool:
        """Return whether there are steps behind *spot* that no buffer held back."""
        runs = [run for run in self._behind(spot) if run.kind != "checkpoint"]
        steps = set().union(*(run.steps for run in runs))
        if least == 1:  # or in another file
            others = (run.last.source != spot.source for run in self._runs)
            return bool(steps) or any(others)
        far = any(
            run.last.block - spot.block + _LINE * (run.last.line - spot.line) > _BYTES
            for run in runs
        )
        return far and len(steps) >= least

    def has_ended_before(self, spot: Spot | None, *kinds: str) -> bool:
        """Return whether the program had come to its end, by one of *kinds*, at *spot*.

        Of a place in another file nobody knows whether it is behind; the end counts. It
        counts where steps came before it: that of another job has none in this log.
        """
        runs = [run for run in self._runs if run.kind != "checkpoint"]
        if spot and any(run.last.source == spot.source for run in runs):
            runs = [run for run in runs if run.last < spot]
        ending = list(takewhile(lambda run: run.kind in ENDS, reversed(runs)))
        began = len(ending) < len(runs)
        return began and any(run.kind in kinds for run in ending)

    def _behind(self, spot: Spot) -> Iterator[_Run]:
        for run in self._runs:
            if run.last.source == spot.source and run.last > spot:
                yield run

    @property
    def progress(self) -> Progress | None:
        """How far the job came; None where nothing shows it."""
        if not self._runs:
            return None
        last = {run.kind: run.sign for run in self._runs}
        step, kept = last.get("step"), last.get("checkpoint")
        is_over = self._runs[-1].kind in ENDS
        end = next((run.sign for run in self._runs[::-1] if run.kind in ENDS), None)
        return Progress(
            step=step.step if step else None,
            steps=step.steps or None if step else None,
            time=(step and step.time) or None,
            checkpoint=(kept.step or kept.text.strip()) if kept else None,
            ended=end.says if end and is_over else None,
        )
