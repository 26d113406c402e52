"""Files beside a log that appear while it is followed: RAS answers, dumps of a hang.

They are written at once or rank after rank. They are read when none of them has changed
for a moment, and a log is not mistaken for one while it only begins.
"""

import os
import time
from collections.abc import Callable, Mapping

from envcfg.log.collective.sidecars import kinds_of, may_begin_sidecar
from envcfg.log.read.rulebook import LogRule
from envcfg.log.verdict import LogReport

_QUIET = 1.0  # seconds without a change before they are read
_SHORT = 512  # bytes that identify a file; a shorter one may only begin

Clock = Callable[[], float]


class SidecarWatch:
    """Evidence from followed files that are not logs."""

    def __init__(
        self, rules: Mapping[str, LogRule], clock: Clock = time.monotonic
    ) -> None:
        """Begin without files; *rules* have the messages for the evidence, by id."""
        self._rules = rules
        self._clock = clock
        self._kinds: dict[str, str] = {}
        self._begun: dict[str, tuple[int, float]] = {}  # size, and since when
        self._state: dict[str, tuple[int, int]] = {}
        self._changed = 0.0
        self._is_read = True

    def takes(self, name: str) -> bool | None:
        """Return whether the file *name* is evidence; None: too short to decide, so ask
        again."""
        if name in self._kinds:
            return True
        try:
            size, now = os.path.getsize(name), self._clock()
        except OSError:
            return None  # the file was removed
        if not size:
            return None
        if kind := kinds_of([name]).get(name):
            self._kinds[name] = kind
            return True
        if size >= _SHORT or not may_begin_sidecar(name):
            return False
        # A file that still grows may become recognisable.
        if self._begun.get(name, (0, now))[0] != size:
            self._begun[name] = size, now
        return None if now - self._begun[name][1] < _QUIET else False

    def has_news(self) -> bool:
        """Return True once if files are new or have changed, and are complete now."""
        state = {}
        for name in self._kinds:
            if os.path.isfile(name):
                status = os.stat(name)
                state[name] = status.st_size, status.st_mtime_ns
        if state != self._state:
            self._state, self._changed, self._is_read = state, self._clock(), False
        if self._is_read or self._clock() - self._changed < _QUIET:
            return False
        self._is_read = True
        return True

    def added_to(self, report: LogReport, *, alone: bool) -> LogReport:
        """Return *report* with the evidence of the files; *alone*: there is no log."""
        if not self._kinds:
            return report
        from envcfg.log.collective.sidecars import load_traces
        from envcfg.log.judge.trace_diagnosis import with_traces

        texts = {
            name: kind for name, kind in self._kinds.items() if os.path.isfile(name)
        }
        return with_traces(report, load_traces(texts), self._rules, alone=alone)
