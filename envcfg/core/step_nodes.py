"""Watch the nodes of a running step: its GPUs, from the probe of ``monitor``.

One step of the probe runs for the whole time and sleeps between questions. It shares the
cores of the job, so that questions are rare: a few until the first line, then fewer and
fewer, down to one a minute.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import NamedTuple

from envcfg.common.child_process import ChildProcess
from envcfg.common.errors import EnvcfgError
from envcfg.common.findings import Finding
from envcfg.nodes.monitor.health_log import HealthLog
from envcfg.nodes.monitor.node_board import PATIENCE, Board
from envcfg.nodes.monitor.outliers import NodeFinding
from envcfg.nodes.monitor.step_health import (
    SAMPLES,
    UseHistory,
)
from envcfg.nodes.probe.runner import at
from envcfg.nodes.probe.sample import SampleReader

_INTERVAL = 60.0  # seconds between two questions, at most
_SHARE = 20  # of the time so far, for the next interval after the first line
_SLICE = 0.02  # seconds to read answers at a time
_STARTS = 3  # steps of the probe, if steps end early
_IDLE_BELOW = 5.0  # percent
_LONG_START = 1800.0  # seconds in which a program may load its data and compile
_OPENED = 600.0  # seconds after which a program has opened its GPUs at least


class Probing(NamedTuple):
    """A running probe."""

    step: ChildProcess
    hosts: Sequence[str]  # the nodes that answer
    # GPUs of each node that the job requested; None: unknown; 0: none.
    asked_gpus: int | None


class NodeWatch:
    """The nodes of a step; a context, which ends the probe."""

    def __init__(
        self, after: float, start: Callable[[], Probing], say: Callable[[str], None]
    ) -> None:
        """Begin to wait; the first line comes *after* that many seconds.

        Args:
            after: seconds.
            start: starts the probe; may raise ``EnvcfgError``.
            say: writes a line into the job's output.
        """
        self._start, self._say = start, say
        self._interval = min(_INTERVAL, after / SAMPLES)
        self._began = now = time.monotonic()
        self._first, self._next = now + after, now + self._interval
        self._probing: Probing | None = None
        self._number = self._starts = 0
        self._asked = 0.0  # time of the open question; 0 if it is answered
        self._history, self._log = UseHistory(), HealthLog()

    def __enter__(self) -> NodeWatch:
        """Return the watch."""
        return self

    def __exit__(self, *_: object) -> None:
        """End the probe."""
        probing, self._probing = self._probing, None
        with suppress(Exception):  # the watch goes on, or is over
            if probing:
                probing.step.__exit__()

    def look(
        self, state: str, more: Sequence[Finding] = (), *, has_steps: bool = False
    ) -> None:
        """Ask or read the answers if it is time.

        Args:
            state: the verdict on the network, and the time of a step, in words.
            more: findings on the program.
            has_steps: the log shows a step of the program.
        """
        try:
            now = time.monotonic()
            if self._asked:
                self._read(now, state, more, has_steps=has_steps)
            elif now >= self._next and self._starts < _STARTS:
                self._ask(now)
        except EnvcfgError as err:
            self._lose(err.message)
        except EOFError:
            errors = self._probing.step.errors if self._probing else ()
            self._lose(next(iter(reversed(errors)), "their step has ended"))
        except Exception as err:  # noqa: BLE001  # a bug here must not end other checks
            self._number, self._starts = 0, _STARTS
            self._lose(repr(err))

    def _lose(self, reason: str) -> None:
        self.__exit__()
        # A signal to all steps of the job ends the probe as well.
        if self._number > SAMPLES:
            self._starts = 0
        self._asked, self._number = 0.0, 0
        # The program's own step may start slowly.
        self._next = time.monotonic() + self._interval * 2**self._starts
        if self._starts == _STARTS:
            self._say(f"unknown: the nodes cannot be asked for their GPUs: {reason}")

    def _ask(self, now: float) -> None:
        if self._probing is None:
            self._starts += 1
            self._probing = self._start()
            self._reader = SampleReader()
            self._board = Board(self._probing.hosts, idle_below=_IDLE_BELOW)
        self._number += 1
        self._probing.step.send(b"%d\n" % self._number)
        self._asked = now

    def _read(
        self, now: float, state: str, more: Sequence[Finding], *, has_steps: bool
    ) -> None:
        probing, board = self._probing, self._board
        if probing is None:
            return
        count = 0

        def take(line: str) -> None:
            nonlocal count
            count += 1
            if sample := self._reader.feed(line):
                board.take(sample, time.monotonic())

        probing.step.read(take, at(now + _SLICE))
        patience = 2 * self._interval + PATIENCE
        is_whole = board.has_answers(self._number, now, patience)
        # Lines that are not read yet are no silence.
        if not is_whole and (count or now - self._asked < self._limit()):
            return
        if now >= self._first:
            longer = (now - self._began) / _SHARE
            self._interval = min(_INTERVAL, max(self._interval, longer))
        self._next, self._asked = max(now, self._asked + self._interval), 0.0
        views = board.views(now, patience)
        self._history.add(views)
        if self._number == 1:  # rates and idle GPUs need two samples
            return
        start = _LONG_START if self._history.has_opened else _OPENED
        health = self._history.health(
            views,
            probing.asked_gpus,
            is_whole=is_whole,
            may_start=not has_steps and now - self._began < start,
        )
        findings = [NodeFinding(finding) for finding in more]
        health = health._replace(findings=(*health.findings, *findings))
        for line in self._log.lines(health, state, is_due=now >= self._first):
            self._say(line)

    def _limit(self) -> float:
        # The first answers of a large job come late, because its step starts slowly.
        return _INTERVAL if self._number == 1 else PATIENCE
