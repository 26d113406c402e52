"""What a command spends on reading what strangers wrote: images, logs, scripts, dumps.

Text that is made for it keeps a program busy for ever, or takes all memory. A ``Budget``
limits both, also inside of one regular expression, which looks for signals while it
searches: a timer of the process asks every few milliseconds of its work what was spent.

A reader also caps what it hands to a pattern (one line, one value): the budget is for what
nobody thought of, and no reader is to come near it with what people really have.
"""

from __future__ import annotations

import os
import threading
import time

from envcfg.errors import EXIT_CANNOT, EnvcfgError

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
    from types import FrameType
else:
    import _signal as signal  # without names for numbers, which take a millisecond

_TICK = 0.02  # seconds of processor time between two looks at what was spent
_MEMORY = "/proc/self/statm"  # its second number is the memory in use, in pages
_PAGE = os.sysconf("SC_PAGE_SIZE")
MB = 1_000_000


class SpentError(EnvcfgError):
    """The budget is spent: what is being read is not read to its end."""

    exit_code = EXIT_CANNOT


class Budget:
    """Limits of processor time and memory for reading *what*, used as ``with budget:``.

    It may be used several times, such as for each file of a command: what is left is left
    for all of them. Budgets may lie within each other; each holds.

    Only the main thread has timers. In any other thread the same code runs without a
    limit, so a program that reads strangers' files does so in its main thread, or in a
    process that it can end. Without /proc, memory is not limited.
    """

    def __init__(
        self, what: str, *, seconds: float, megabytes: float, hint: str | None = None
    ) -> None:
        """Keep the limits.

        Args:
            what: is read, as errors name it: a file.
            seconds: of processor time in this thread; waiting for a disk is none.
            megabytes: by which the memory of the process may grow.
            hint: what to do when it is spent; else what such a file is.
        """
        self._what = what
        self._seconds = seconds
        self._bytes = megabytes * MB
        self._hint = hint or "the file is damaged, or made to keep programs busy"
        self._used = self._since = 0.0
        self._floor = 0

    def more(self, seconds: float) -> None:
        """Allow *seconds* more: the file is as large as to be worth them."""
        self._seconds += seconds

    def check(self) -> None:
        """Raise if it is spent; the timer does so, too.

        Raises:
            SpentError: it is.
        """
        spent = ""
        if self._used + time.thread_time() - self._since > self._seconds:
            spent = f"{self._seconds:g} s of processor time"
        elif _memory() - self._floor > self._bytes:
            spent = f"{self._bytes / MB:.0f} MB of memory"
        if spent:
            msg = f"{self._what}: reading it takes more than {spent}"
            raise SpentError(msg, hint=self._hint)

    def __enter__(self) -> Budget:
        """Begin to count."""
        self._since = time.thread_time()
        self._floor = _memory()
        if threading.current_thread() is threading.main_thread():
            if not _State.running:
                _State.before = signal.signal(signal.SIGPROF, _look)
                _State.timer = signal.setitimer(signal.ITIMER_PROF, _TICK, _TICK)
            _State.running.append(self)
        return self

    def __exit__(self, *_: object) -> None:
        """Stop counting; what was used stays used."""
        self._used += time.thread_time() - self._since
        if self in _State.running:
            _State.running.remove(self)
            if not _State.running:
                signal.setitimer(signal.ITIMER_PROF, *_State.timer)
                # Not back to the default: a last signal, still on its way to another
                # thread, would end the process.
                if callable(_State.before):
                    signal.signal(signal.SIGPROF, _State.before)


class _State:
    """What the timer of this process counts for, the outermost first.

    Attributes:
        running: the budgets.
        before: what SIGPROF did before; None where no Python code set it.
        timer: what the timer was set to.
    """

    running: list[Budget] = []  # noqa: RUF012  # of the process, as its timer is
    before: signal._HANDLER = None
    timer = (0.0, 0.0)


def _look(_: int, frame: FrameType | None) -> None:
    """Raise if a budget is spent, but never while one begins or ends."""
    if frame is None or frame.f_code.co_filename != _look.__code__.co_filename:
        for budget in _State.running:
            budget.check()


def _memory() -> int:
    """Return the bytes of memory in use; 0 where the system does not say."""
    try:
        with open(_MEMORY, "rb") as file:
            return int(file.read(64).split()[1]) * _PAGE
    except OSError:
        return 0
