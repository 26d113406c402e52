"""The time of the program's steps, from the newest lines of a job step's output.

A line may name the time of a step itself; otherwise it follows from the numbers of two
steps and the time between their lines. So it does for progress bars, which name a moving
average that is wrong for many steps after a resume. Programs, epochs of other lengths
and batches of other sizes are told apart, because their steps take other times.
"""

from __future__ import annotations

import os
import re
import time
from collections import deque
from collections.abc import Iterable
from contextlib import suppress
from statistics import median

from envcfg.common.characters import whole_number
from envcfg.common.findings import Finding, finding_in
from envcfg.log.read.life_signs import Sign, signs_in

_TAIL = 1 << 16  # bytes at the end of an output to read
_INTERVAL = 60.0  # seconds between two samples, at most
_RECENT = 5  # samples
_WARM_UP = 2  # first samples, in which a program may still compile
_SLOWER = 1.5  # times the best earlier pace, in all recent samples
_KINDS = 16  # kinds of steps to keep
_STOPPED = 10  # times the usual time between two lines, without a line of the program
_OWN_LINE = b"envcfg: "
# Programs with their own format: a step of a known number of steps, or with a measure.
_PLAIN = re.compile(
    r"(?i)^\W{0,3}(?:\[?rank ?\d+\]?:? ?|\d+: )?(?:step|iter(?:ation)?)s?\b\W{0,3}(\d+)"
    r"(?:\s*/\s*(\d+)\b|.*\d\.\d)"
)
_EXACT = 10.0  # seconds from which the whole seconds of a bar are exact enough
_ELAPSED = re.compile(r"%\|.*\[(?:(\d+):)?(\d+):(\d\d)<")
_BATCH = re.compile(r"global.batch.size: *(\d+)")


class _Kind:
    """The steps of one kind: their samples, and the best earlier pace."""

    def __init__(self) -> None:
        self.line, self.changed, self.clock, self.count = "", 0.0, 0.0, 0
        self.step: int | None = None
        self.gaps: deque[float] = deque(maxlen=_RECENT)  # seconds between two lines
        self.recent: deque[float] = deque(maxlen=_RECENT)
        self.best: float | None = None

    def add(self, sign: Sign, now: float) -> bool:
        """Return whether *sign* is a newer one; keep its pace, if it has one."""
        if sign.text == self.line:
            return False
        step, seconds, bar = whole_number(sign.step), sign.pace, _elapsed(sign.text)
        clock = now if bar is None else bar
        if step is not None and self.step is not None:
            steps, spent = step - self.step, clock - self.clock
            is_counted = seconds is None if bar is None else spent >= _EXACT
            if is_counted and steps > 0:
                seconds = spent / steps
        if self.line:
            self.gaps.append(now - self.changed)
        self.line, self.step, self.changed, self.clock = sign.text, step, now, clock
        if seconds is None:
            return True
        self.count += 1
        if self.count > _WARM_UP:
            if len(self.recent) == _RECENT:
                usual = median(self.recent)
                self.best = min(usual, self.best or usual)
            self.recent.append(seconds)
        return True


class StepPace:
    """The pace of the program in the output files *names*."""

    def __init__(self, names: Iterable[str], after: float | None) -> None:
        """Take a sample each minute; more if the first line comes *after* few seconds."""
        self._names = [*names]
        self._interval = min(_INTERVAL, (after or _INTERVAL * _RECENT) / _RECENT)
        self._next = 0.0
        self._kinds: dict[object, _Kind] = {}
        self._last: _Kind | None = None
        self._last_line, self._spoke = b"", 0.0  # the newest line, and when it came

    def look(self) -> None:
        """Read the newest lines, if it is time."""
        now = time.monotonic()
        if now < self._next:
            return
        self._next = now + self._interval
        for name in self._names:
            with suppress(OSError):  # the output may be moved
                block = _read_tail(name)
                # This watch writes into the same output.
                lines = (line for line in reversed(block.split(b"\n")) if line.strip())
                last = next((e for e in lines if not e.startswith(_OWN_LINE)), b"")
                if last != self._last_line:
                    self._last_line, self._spoke = last, now
                for sign in _last_steps(block):
                    batch = _BATCH.search(sign.text)
                    is_bar = _elapsed(sign.text) is not None
                    key = name, sign.id, sign.steps, batch and batch[1], is_bar
                    if key not in self._kinds and len(self._kinds) >= _KINDS:
                        del self._kinds[next(iter(self._kinds))]
                    kind = self._kinds.setdefault(key, _Kind())
                    # Another line of the same step may have no time.
                    if kind.add(sign, now) and kind.recent:
                        self._last = kind

    @property
    def has_steps(self) -> bool:
        """Whether the output shows two steps of the program."""
        return any(kind.gaps for kind in self._kinds.values())

    @property
    def _current(self) -> _Kind | None:
        """The kind of the newest step; None if there is none, or the job stands still."""
        kind = self._last
        if kind is None:
            return None
        usual = max(self._interval, *map(median, (kind.recent, kind.gaps)))
        is_moving = time.monotonic() - kind.changed <= _RECENT * usual
        return kind if is_moving else None

    @property
    def _stopped_for(self) -> float | None:
        """Seconds since the last line of a program with steps; None if it may go on."""
        gaps = [gap for kind in self._kinds.values() for gap in kind.gaps]
        silence = time.monotonic() - self._spoke
        usual = max(gaps, default=0.0)
        return silence if usual and silence > _STOPPED * usual else None

    @property
    def seconds(self) -> float | None:
        """The usual time of a recent step in seconds; None if it is unknown."""
        return median(kind.recent) if (kind := self._current) else None

    @property
    def finding(self) -> Finding | None:
        """The finding on steps that stop, or take clearly longer than earlier ones."""
        if (seconds := self._stopped_for) is not None:
            words = {"minutes": seconds / 60}
            return finding_in("nodes/monitor", "steps-stop", "the program", **words)
        kind = self._current
        if kind is None or kind.best is None or len(kind.recent) < _RECENT:
            return None
        # A pause for a checkpoint makes a single step long.
        if min(kind.recent) < _SLOWER * kind.best:
            return None
        words = {"now": median(kind.recent), "before": kind.best}
        return finding_in("nodes/monitor", "steps-slow", "the program", **words)


def _elapsed(text: str) -> int | None:
    """Return the seconds since the start of a progress bar; None for other lines."""
    match = _ELAPSED.search(text)
    if match is None:
        return None
    hours, minutes, seconds = map(whole_number, match.groups("0"))
    return 3600 * (hours or 0) + 60 * (minutes or 0) + (seconds or 0)


def _read_tail(name: str) -> bytes:
    """Return the last whole lines of an output."""
    with open(name, "rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - _TAIL))
        block = file.read(_TAIL).replace(b"\r", b"\n")
    # The first line is a part of one, and the last one may still be written.
    begin = block.find(b"\n") if size > _TAIL else 0
    return block[begin : block.rfind(b"\n") + 1]


def _last_steps(block: bytes) -> Iterable[Sign]:
    """Return the last step of each kind in *block*, the newest at the end."""
    last: dict[str, Sign] = {}
    for _, sign in signs_in(block):
        if sign.kind == "step":
            last.pop(sign.id, None)
            last[sign.id] = sign
    return last.values() or _plain_steps(block)


def _plain_steps(block: bytes) -> Iterable[Sign]:
    """Return the last step of a program without a known format."""
    for line in reversed(block.decode("utf-8", "replace").splitlines()):
        if match := _PLAIN.match(line):
            return [Sign("step", "", match[1], match[2] or "", "", line, "plain")]
    return []
