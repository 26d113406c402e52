"""What lines taught of processes, and the lines that show it, in bounded room."""

from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple, TypeVar

T = TypeVar("T")

# What is kept of all processes together at most, so that a log that is made up does not
# take all memory. Nothing that a real job says reaches these numbers: 65,536 ranks, each
# with its channels and communicators, are judged whole, and the largest system has 75,264
# GPUs. What is beyond is counted, and the job is then never ok. Each takes up to 500 bytes,
# a process a few thousand.
MOST = {
    "process": 76_000,
    "line": 1 << 20,
    "channel": 1 << 18,
    "communicator": 1 << 18,
    "pair": 1 << 18,
    "step": 1 << 14,  # from facts to facts; without room each process has its own
}
MANY = 4096  # of one kind in one process
_OWN = 32  # processes that keep their own line of a kind: the others share one of these
_TEXT = 400  # characters of a line that are kept as evidence


class Spot(NamedTuple):
    """Where a line is: the source, the block of it, and the line within the block."""

    source: int
    block: int
    line: int


class Sighting(NamedTuple):
    """A line that shows something."""

    spot: Spot
    text: str


class Facts:
    """What the lines of a process taught, in any order of them.

    Processes that said the same share one object, from which a step for each thing that a
    line teaches leads to the next one.

    Attributes:
        is_shared: others may have it too: it never changes.
        steps: by what is learned, the facts with it.
    """

    _TABLES = (
        "interfaces loaded networks nic_gdr providers seen settings versions".split()
    )
    _SETS = "dialects ring_gdr devices sources traces ways".split()
    _WORDS = "package ports reason requested".split()
    __slots__ = ("informed", "is_shared", "steps", *_TABLES, *_SETS, *_WORDS)
    devices: frozenset[int | None]
    seen: Mapping[str, Sighting]

    def __init__(self, other: "Facts | None" = None) -> None:
        """Begin as *other*, and with nothing known without it."""
        self.is_shared = True
        self.steps: dict[object, Facts] = {}
        if other is not None:
            for name in ("informed", *self._TABLES, *self._SETS, *self._WORDS):
                setattr(self, name, getattr(other, name))
            return
        self.informed = False
        for names, nothing in (
            (self._TABLES, {}),
            (self._SETS, frozenset()),
            (self._WORDS, None),
        ):
            for name in names:
                setattr(self, name, nothing)

    def alone(self) -> "Facts":
        """Return the same, for one process that may change it."""
        own = Facts(self)
        own.is_shared = False
        for name in self._TABLES:
            setattr(own, name, dict(getattr(self, name)))
        return own

    def having(self, name: str, key: object, value: object) -> "Facts":
        """Return these facts with *value* under *name*, or in its table under *key*."""
        after = Facts(self)
        if key is not None:
            value = {**getattr(self, name), key: value}
        setattr(after, name, value)
        return after


class Room:
    """The room that a job has left.

    Attributes:
        facts: those of a process that has not spoken.
        refused: how many of each kind there was no room for.
    """

    def __init__(self) -> None:
        """Begin with all of it."""
        self._left = dict(MOST)
        self._shown: dict[str, tuple[int, Sighting]] = {}
        self.facts = Facts()
        self.refused: dict[str, int] = {}

    def sighting(self, key: str, new: Sighting) -> tuple[Sighting, bool]:
        """Return *new*, or an older one of *key* where many processes have one each.

        The second value is whether all others get the same from now on.
        """
        count, last = self._shown.get(key, (0, new))
        if count >= _OWN:
            return last, True
        self._shown[key] = count + 1, new
        return new, False

    def takes(self, kind: str, held: int = 0) -> bool:
        """Return whether there is room for one more of *kind*, and take it.

        Args:
            kind: of ``MOST``.
            held: how many of them the process holds.
        """
        if held < MANY and self._left[kind]:
            self._left[kind] -= 1
            return True
        if kind != "step":
            self.refused[kind] = self.refused.get(kind, 0) + 1
        return False


@lru_cache(maxsize=1 << 12)
def with_one(known: frozenset[T], new: T) -> frozenset[T]:
    """Return *known* and *new*: one object for all processes of which it is the same."""
    return known | {new} if len(known) < MANY >> 4 else known


def clip(text: str) -> str:
    """Cut a line to what a person reads."""
    return text if len(text) <= _TEXT else text[: _TEXT - 3] + "..."
