"""What a signal does: the process ends at once, and nothing is left half done.

Nothing is raised: an exception that may come anywhere is lost in some places and shown as
a traceback in others. To listen is the first thing that envcfg does, so this module needs
what the interpreter has loaded by itself, and no more.
"""

from __future__ import annotations

import os

from envcfg.failure import fail

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
    from types import FrameType
else:
    import _signal as signal  # without names for numbers, which take a millisecond

_ENDING = (
    signal.SIGHUP,
    signal.SIGINT,
    signal.SIGQUIT,
    signal.SIGTERM,
    signal.SIGUSR1,
    signal.SIGUSR2,
)


class Interrupted(KeyboardInterrupt):
    """A signal, where ``raise_signals`` was called."""

    def __init__(self, number: int = signal.SIGINT) -> None:
        """Keep its *number*."""
        super().__init__(number)
        self.number = number


class _State:
    """What this process does with signals.

    Attributes:
        caught: those that end it by ``_end``.
        raises: they are raised, as there is more to clean up than a process.
        is_over: the end has begun.
    """

    caught: tuple[int, ...] = ()
    raises = False
    is_over = False


def listen() -> None:
    """End by signals as this module says, but for those that are to be ignored."""
    _State.caught = tuple(
        number
        for number in _ENDING
        if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler)
    )
    for number in _State.caught:
        signal.signal(number, _end)


def raise_signals(yes: bool = True) -> bool:
    """Raise them from now on: a process or a terminal must be cared for; or end again.

    Returns:
        what was so before.
    """
    before, _State.raises = _State.raises, yes
    return before


class Held:
    """Signals wait while something is written that must be whole."""

    def __enter__(self) -> Held:
        """Let them wait."""
        self._before = signal.pthread_sigmask(signal.SIG_BLOCK, _ENDING)
        return self

    def __exit__(self, *_: object) -> None:
        """Let them come."""
        signal.pthread_sigmask(signal.SIG_SETMASK, self._before)

    def finish(self) -> None:
        """Ignore them from now on: all that was asked for is done."""
        _State.is_over = True
        for number in _State.caught:
            signal.signal(number, signal.SIG_IGN)


def interruption(number: int) -> tuple[list[str], int]:
    """Return what is said of a signal, and the exit code: 128 + its number."""
    by = "" if number == signal.SIGINT else f" by signal {number}"
    return [f"envcfg: interrupted{by}"], 128 + number


def _end(number: int, _: FrameType | None) -> None:
    """End this process; with ``wrap``, by a script that fails."""
    if _State.is_over:
        return
    if _State.raises:
        raise Interrupted(number)
    _State.is_over = True
    os._exit(fail(*interruption(number)))
