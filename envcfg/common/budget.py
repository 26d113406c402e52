"""Limits for reading untrusted input: images, logs, scripts, dumps.

A hostile text keeps a program busy forever, or takes all memory. A ``Budget`` limits
both, even inside a single regular expression, which checks for signals while it
searches. A timer of the process checks the consumption every few milliseconds of CPU
time.

A reader also limits the input of a pattern (one line, one value). The budget covers
unforeseen cases, and real input never comes near it.
"""

from __future__ import annotations

import os
import threading
import time

from envcfg.common.errors import EXIT_CANNOT, EnvcfgError

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
    from types import FrameType
else:
    import _signal as signal  # the module signal needs a millisecond

_TICK = 0.02  # seconds of processor time between two checks
_MEMORY = "/proc/self/statm"  # its second number is the memory in use, in pages
_PAGE = os.sysconf("SC_PAGE_SIZE")
MB = 1_000_000


class SpentError(EnvcfgError):
    """The limit is exceeded: the input was not read to its end."""

    exit_code = EXIT_CANNOT


class Budget:
    """Limits of CPU time and memory for reading an input, used as ``with budget:``.

    It may be used several times, such as for each file of a command: all uses share the
    limits. Budgets may be nested; each one applies.

    Only the main thread has timers. In any other thread the same code runs without a
    limit. A program that reads untrusted files must do so in its main thread, or in a
    process that it can end. Without /proc, memory is not limited.
    """

    def __init__(self, subject: str, *, seconds: float, megabytes: float) -> None:
        """Store the limits.

        Args:
            subject: the name of the input in errors: a file.
            seconds: of processor time in this thread; waiting for a disk is free.
            megabytes: the allowed growth of the memory of the process.
        """
        self._what = subject
        self._seconds = seconds
        self._bytes = megabytes * MB
        self._used = self._since = 0.0
        self._floor = 0

    def more(self, seconds: float) -> None:
        """Allow *seconds* more, because the input is large."""
        self._seconds += seconds

    def check(self) -> None:
        """Raise if the budget is spent; the timer does so too.

        Raises:
            SpentError: the budget is spent.
        """
        spent = ""
        if self._used + time.thread_time() - self._since > self._seconds:
            spent = f"{self._seconds:g} s of processor time"
        elif _memory() - self._floor > self._bytes:
            spent = f"{self._bytes / MB:.0f} MB of memory"
        if spent:
            msg = f"{self._what}: reading it takes more than {spent}"
            hint = "the file is damaged, or made to keep programs busy"
            raise SpentError(msg, hint=hint)

    def __enter__(self) -> Budget:
        """Start counting."""
        self._since = time.thread_time()
        self._floor = _memory()
        # Python delivers signals in the main thread only.
        if threading.current_thread() is threading.main_thread():
            if not _BudgetState.running:
                _BudgetState.before = signal.signal(signal.SIGPROF, _look)
                _BudgetState.timer = signal.setitimer(signal.ITIMER_PROF, _TICK, _TICK)
            _BudgetState.running.append(self)
        return self

    def __exit__(self, *_: object) -> None:
        """Stop counting; the amount used so far is kept."""
        self._used += time.thread_time() - self._since
        if self in _BudgetState.running:
            _BudgetState.running.remove(self)
            if not _BudgetState.running:
                signal.setitimer(signal.ITIMER_PROF, *_BudgetState.timer)
                # The default is not restored: a last signal on its way to another
                # thread would end the process.
                if callable(_BudgetState.before):
                    signal.signal(signal.SIGPROF, _BudgetState.before)


class _BudgetState:
    """The inputs for which the timer of this process counts, outermost first."""

    running: list[Budget] = []  # noqa: RUF012  # of the process, as its timer is
    # The handler of SIGPROF before; None if it was not set by Python.
    before: signal._HANDLER = None
    timer = (0.0, 0.0)  # its earlier setting


def _look(_: int, frame: FrameType | None) -> None:
    """Raise if a budget is spent, but never while one begins or ends."""
    # An exception inside __enter__ or __exit__ would leave the timer running.
    if frame is None or frame.f_code.co_filename != _look.__code__.co_filename:
        for budget in _BudgetState.running:
            budget.check()


def _memory() -> int:
    """Return the bytes of memory in use; 0 if the system does not report them."""
    try:
        with open(_MEMORY, "rb") as file:
            return int(file.read(64).split()[1]) * _PAGE
    except OSError:
        return 0
