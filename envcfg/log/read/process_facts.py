"""Facts about a process with the lines that show them, in bounded memory."""

from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple, TypeVar

T = TypeVar("T")

# Limits for all processes together, so that an invented log cannot fill the memory. No real
# job reaches them: 65,536 ranks with their channels and communicators are judged whole, and
# the largest system has 75,264 GPUs. Items beyond a limit are counted, and the job is then
# never ok. Each item takes up to 500 bytes, a process a few thousand.
MOST = {
    "process": 76_000,
    "line": 1 << 20,
    "channel": 1 << 18,
    "communicator": 1 << 18,
    "pair": 1 << 18,
    "step": 1 << 14,  # steps between facts; beyond it each process has its own facts
}
MANY = 4096  # items of one kind in one process
_OWN = 256  # processes with their own line of a kind; further ones share the last
_TEXT = 400  # characters of a line to keep as evidence


class Spot(NamedTuple):
    """The place of a line: its source, its block, and its line in the block."""

    source: int
    block: int
    line: int


class Sighting(NamedTuple):
    """A line that shows something."""

    spot: Spot
    text: str


class ProcessFacts:
    """The facts from the lines of a process, independent of their order.

    Processes with the same lines share one object. Each fact leads from it by a step to the
    next object.
    """

    _TABLES = (
        "interfaces loaded networks nic_gdr providers seen settings versions".split()
    )
    _SETS = "cards dialects ring_gdr devices sources traces ways".split()
    _WORDS = "package ports reason requested".split()
    __slots__ = ("informed", "is_shared", "steps", *_TABLES, *_SETS, *_WORDS)
    devices: frozenset[int | None]
    seen: Mapping[str, Sighting]

    def __init__(self, second: "ProcessFacts | None" = None) -> None:
        """Begin with the facts of *second*, or without facts."""
        # True if other processes may have it too: it then never changes.
        self.is_shared = True
        self.steps: dict[object, ProcessFacts] = {}  # the next facts, by the added fact
        if second is not None:
            for name in ("informed", *self._TABLES, *self._SETS, *self._WORDS):
                setattr(self, name, getattr(second, name))
            return
        self.informed = False
        for names, nothing in (
            (self._TABLES, {}),
            (self._SETS, frozenset()),
            (self._WORDS, None),
        ):
            for name in names:
                setattr(self, name, nothing)

    def alone(self) -> "ProcessFacts":
        """Return a copy that one process may change."""
        own = ProcessFacts(self)
        own.is_shared = False
        for name in self._TABLES:
            setattr(own, name, dict(getattr(self, name)))
        return own

    def having(self, name: str, key: object, value: object) -> "ProcessFacts":
        """Return these facts with *value* under *name*, or in its table under *key*."""
        after = ProcessFacts(self)
        if key is not None:
            value = {**getattr(self, name), key: value}
        setattr(after, name, value)
        return after


class Room:
    """The number of facts that envcfg may still store for a job."""

    def __init__(self) -> None:
        """Begin with the whole capacity."""
        self._left = dict(MOST)
        self._shown: dict[str, tuple[int, Sighting]] = {}
        self.facts = ProcessFacts()  # facts of a process without lines
        self.refused: dict[str, int] = {}  # number of refused items of each kind

    def sighting(self, key: str, new: Sighting) -> tuple[Sighting, bool]:
        """Return *new*, or an older sighting of *key* if many processes have their own.

        The second value is whether all other processes get the same sighting from now on.
        """
        count, last = self._shown.get(key, (0, new))
        if count >= _OWN:
            return last, True
        self._shown[key] = count + 1, new
        return new, False

    def takes(self, kind: str, contained: int = 0) -> bool:
        """Return whether there is room for one more of *kind*, and reserve it.

        Args:
            kind: of ``MOST``.
            contained: number of them in the process.
        """
        if contained < MANY and self._left[kind]:
            self._left[kind] -= 1
            return True
        # A missing step costs only memory and loses no fact.
        if kind != "step":
            self.refused[kind] = self.refused.get(kind, 0) + 1
        return False


@lru_cache(maxsize=1 << 12)
def with_one(entries: frozenset[T], new: T) -> frozenset[T]:
    """Return *entries* with *new* added, as one object shared by all processes with the
    same set."""
    return entries | {new} if len(entries) < MANY >> 4 else entries


def clip(text: str, width: int = _TEXT) -> str:
    """Shorten a line to *width* characters, or to a readable length."""
    return text if len(text) <= width else text[: width - 3] + "..."
