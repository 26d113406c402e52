"""Files beside a log that appear while it is followed: answers of RAS, dumps of a hang.

They are written at once or rank after rank: what is there is looked at when none of them
has changed for a moment, and no log is taken for one while it only begins.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping

from envcfg.log.rulebook import Rule
from envcfg.log.sidecars import kinds_of, may_begin_sidecar
from envcfg.log.verdict import LogReport

_QUIET = 1.0  # seconds without a change, after which they are read
_SHORT = 512  # bytes of a file that may only begin, and by which one is known

Clock = Callable[[], float]


class SidecarWatch:
    """Which of the files that are followed are not logs, and what they tell."""

    def __init__(
        self, rules: Mapping[str, Rule], clock: Clock = time.monotonic
    ) -> None:
        """Know of none yet; *rules* have the words for what they tell, by id."""
        self._rules = rules
        self._clock = clock
        self._kinds: dict[str, str] = {}
        self._begun: dict[str, tuple[int, float]] = {}  # size, and since when
        self._state: dict[str, tuple[int, int]] = {}
        self._changed = 0.0
        self._is_read = True

    def takes(self, name: str) -> bool | None:
        """Return whether *name* is such a file; None: it only begins, ask again."""
        if name in self._kinds:
            return True
        try:
            size, now = os.path.getsize(name), self._clock()
        except OSError:
            return None  # it is gone again
        if not size:
            return None
        if kind := kinds_of([name]).get(name):
            self._kinds[name] = kind
            return True
        if size >= _SHORT or not may_begin_sidecar(name):
            return False
        if self._begun.get(name, (0, now))[0] != size:
            self._begun[name] = size, now
        return None if now - self._begun[name][1] < _QUIET else False

    def has_news(self) -> bool:
        """Return once whether some are new or have changed, and are whole by now."""
        state = {}
        for name, kind in self._kinds.items():
            # The Inspector writes as long as the job runs, and says nothing of a hang.
            if kind != "inspector" and os.path.isfile(name):
                status = os.stat(name)
                state[name] = status.st_size, status.st_mtime_ns
        if state != self._state:
            self._state, self._changed, self._is_read = state, self._clock(), False
        if self._is_read or self._clock() - self._changed < _QUIET:
            return False
        self._is_read = True
        return True

    def added_to(self, report: LogReport, *, alone: bool) -> LogReport:
        """Return *report* with what they tell; *alone*: there is no log."""
        if not self._kinds:
            return report
        from envcfg.log.diagnosis import with_traces
        from envcfg.log.sidecars import load_traces

        there = {
            name: kind for name, kind in self._kinds.items() if os.path.isfile(name)
        }
        return with_traces(report, load_traces(there), self._rules, alone=alone)
