"""The ranks of a group that are behind: one model for watchdog lines and for dumps.

The ranks of a group call the same collectives in the same order. The oldest collective
that has not ended on all ranks decides. Ranks that did not call it hold up the others;
if all called it, those on which it has not ended do. A rank that is ahead is never behind.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple


class GroupProgress(NamedTuple):
    """The progress of a rank in its group."""

    called: int  # number of the last collective that it called
    # Number of the first called one that has not ended; None if all have ended.
    open: int | None


class Front(NamedTuple):
    """The oldest open collective of a group, with the ranks in order."""

    seq: int
    absent: tuple[int, ...]  # ranks that did not call it
    waiting: tuple[int, ...]  # ranks that called it, and on which it has not ended
    done: tuple[int, ...]  # ranks on which it has ended

    @property
    def behind(self) -> tuple[int, ...]:
        """The ranks that hold up the others; empty if all ranks wait."""
        if self.absent or not self.waiting:
            return self.absent
        return self.waiting if self.done else ()

    @property
    def is_desync(self) -> bool:
        """Whether a few ranks have left a collective in which most ranks still wait.

        They may have ended it or missed an earlier one; their numbers do not show which.
        """
        return not self.absent and len(self.waiting) > len(self.done) > 0


def front_of(
    ranks: Mapping[int, GroupProgress],
    numbers: Sequence[int],
    otherwise: int | None = None,
) -> Front | None:
    """Return the oldest open collective of a group; None if all collectives have ended.

    Args:
        ranks: the progress of each rank with a known one.
        numbers: collectives that any of them called, in order.
        otherwise: the collective that counts if none is open.
    """
    # The next number is open on a rank if another rank has already called it.
    opened = [
        number
        for rank in ranks.values()
        for number in (rank.open, next((n for n in numbers if n > rank.called), None))
        if number is not None and rank.called
    ]
    seq = min(opened, default=otherwise)
    if seq is None:
        return None
    absent = {rank for rank, own in ranks.items() if own.called < seq}
    waiting = {rank for rank, own in ranks.items() if own.open == seq} - absent
    done = set(ranks) - absent - waiting
    return Front(seq, *(tuple(sorted(part)) for part in (absent, waiting, done)))
