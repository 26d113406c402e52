"""What is kept of a job at most, so that a log that is made up does not take all memory.

Nothing that a real job says reaches these numbers: 65,536 ranks, each with its channels
and communicators, are judged whole, and the largest system has 75,264 GPUs. What is
beyond is counted, and the job is then never ok.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TypeVar

T = TypeVar("T")

# Of all processes together: how many of each are kept. Each takes up to 500 bytes, a
# process a few thousand.
MOST = {
    "process": 76_000,
    "line": 1 << 20,
    "channel": 1 << 18,
    "communicator": 1 << 18,
    "pair": 1 << 18,
}
MANY = 4096  # of one kind in one process


class Room:
    """The room that a job has left.

    Attributes:
        refused: how many of each kind there was no room for.
    """

    def __init__(self) -> None:
        """Begin with all of it."""
        self._left = dict(MOST)
        self.refused: dict[str, int] = {}

    def takes(self, kind: str, held: int = 0) -> bool:
        """Return whether there is room for one more of *kind*, and take it.

        Args:
            kind: of ``MOST``.
            held: how many of them the process holds.
        """
        if held < MANY and self._left[kind]:
            self._left[kind] -= 1
            return True
        self.refused[kind] = self.refused.get(kind, 0) + 1
        return False


@lru_cache(maxsize=1 << 12)
def with_one(known: frozenset[T], new: T) -> frozenset[T]:
    """Return *known* and *new*: one object for all processes of which it is the same."""
    return known | {new} if len(known) < MANY >> 4 else known
