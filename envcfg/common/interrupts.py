"""Signal handling: exit at once and leave no partial file.

Nothing is raised: an exception at any point is lost in some places, and shown as a
traceback in others. Listening for signals is the first action of envcfg. Therefore this
module needs only modules that the interpreter has already loaded.
"""

from __future__ import annotations

import os

from envcfg.common.failure import fail

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
    from types import FrameType
else:
    import _signal as signal  # the module signal needs a millisecond

_ENDING = (
    signal.SIGHUP,
    signal.SIGINT,
    signal.SIGQUIT,
    signal.SIGTERM,
    signal.SIGUSR1,
    signal.SIGUSR2,
)


class Interrupted(KeyboardInterrupt):
    """The exception for a signal, after a call of ``raise_signals``."""

    def __init__(self, number: int = signal.SIGINT) -> None:
        """Store the *number* of the signal."""
        super().__init__(number)
        self.number = number


class _SignalState:
    """The signal state of this process."""

    caught: tuple[int, ...] = ()  # the signals that end the process by `_end`
    # True if they are raised, because more than a process must be cleaned up.
    raises = False
    postponing = 0  # open `PostponedSignals` blocks
    postponed = 0  # the first signal in these blocks; 0: none
    is_over = False  # True if the end has begun


def listen() -> None:
    """Handle the signals of this module, except those that are ignored."""
    _SignalState.caught = tuple(
        number
        for number in _ENDING
        if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler)
    )
    for number in _SignalState.caught:
        signal.signal(number, _end)


def raise_signals(yes: bool = True) -> bool:
    """Raise an exception for each signal, so that callers clean up; False: exit at once.

    Returns:
        the previous state.
    """
    before, _SignalState.raises = _SignalState.raises, yes
    return before


class BlockedSignals:
    """Signals wait while something is written completely."""

    def __enter__(self) -> BlockedSignals:
        """Block the signals."""
        self._before = signal.pthread_sigmask(signal.SIG_BLOCK, _ENDING)
        return self

    def __exit__(self, *_: object) -> None:
        """Unblock the signals."""
        signal.pthread_sigmask(signal.SIG_SETMASK, self._before)

    def finish(self) -> None:
        """Ignore signals from now on, because the work is done."""
        _SignalState.is_over = True
        for number in _SignalState.caught:
            signal.signal(number, signal.SIG_IGN)


class PostponedSignals:
    """Signals wait for the end of a block, which tests for them.

    Unlike in ``BlockedSignals``, they are not blocked in processes started by the block.
    """

    def __enter__(self) -> PostponedSignals:
        """Postpone the signals."""
        _SignalState.postponing += 1
        return self

    @property
    def has_come(self) -> bool:
        """True after a signal has arrived."""
        return bool(_SignalState.postponed)

    def __exit__(self, *_: object) -> None:
        """Handle the postponed signal."""
        _SignalState.postponing -= 1
        if not _SignalState.postponing and (number := _SignalState.postponed):
            _SignalState.postponed = 0
            _end(number, None)


def interruption(number: int) -> tuple[list[str], int]:
    """Return the message and the exit code (128 + number) for a signal."""
    by = "" if number == signal.SIGINT else f" by signal {number}"
    return [f"envcfg: interrupted{by}"], 128 + number


def _end(number: int, _: FrameType | None) -> None:
    """End this process; with ``wrap``, print a script that fails."""
    if _SignalState.is_over:
        return
    if _SignalState.postponing:
        _SignalState.postponed = _SignalState.postponed or number
        return
    if _SignalState.raises:
        raise Interrupted(number)
    _SignalState.is_over = True
    os._exit(fail(*interruption(number)))
