"""What is known of one process: facts that its lines add up to, in any order."""

from __future__ import annotations

from typing import NamedTuple

_TEXT = 400  # characters of a line that are kept as evidence
MANY = 4096  # of one kind in one process: more is no news
MOST_RANKS = 1 << 22  # of a job; a larger number is torn, mistyped or made up


class Spot(NamedTuple):
    """Where a line is: the source, the block of it, and the line within the block."""

    source: int
    block: int
    line: int


class Sighting(NamedTuple):
    """A line that shows something."""

    spot: Spot
    text: str


class Edge(NamedTuple):
    """How one rank of a communicator sends to another."""

    sender: int
    receiver: int
    kind: str
    gdr: bool | None
    own: int
    nranks: int | None


class Communicator:
    """One rank's part in a communicator."""

    def __init__(self, rank: int, nranks: int) -> None:
        """Begin with the *rank* among *nranks*."""
        self.rank = rank
        self.nranks = nranks
        self.device: int | None = None
        self.comm_id: str | None = None
        self.nodes: int | None = None
        self.phases: set[str] = set()

    @property
    def is_up(self) -> bool:
        """Whether it said that its start is complete."""
        return "Init COMPLETE" in self.phases

    @property
    def only_began(self) -> bool:
        """Whether the begin of its start is all that it said."""
        return self.phases == {"Init START"}


class Process:
    """One process (host and pid) and everything that its lines said.

    Attributes are sets and first sightings, so that the order of lines does not matter.
    """

    def __init__(self, host: str, pid: int | None) -> None:
        """Begin with nothing known."""
        self.host = host
        self.pid = pid
        self.label: int | None = None
        self.label_is_rank = False
        self.records = 0
        self.informed = False
        self.networks: dict[str, set[int | None]] = {}
        self.channels: dict[tuple[int, str], list[int]] = {}
        self.edges: set[Edge] = set()
        self.communicators: dict[str, Communicator] = {}
        self.rows: dict[int, int | None] = {}
        self.providers: dict[str, int | None] = {}
        self.ports: int | None = None
        self.loaded: dict[str, str] = {}
        self.package: tuple[str, str] | None = None
        self.reason: str | None = None
        self.requested: str | None = None
        self.interfaces: dict[str, list[str]] = {}
        self.versions: dict[str, set[str]] = {}
        self.dialects: set[tuple[str, str]] = set()
        self.ring_gdr: set[str] = set()
        self.rings = 0
        self.trees = 0
        self.masks: dict[int | None, str] = {}
        self.settings: dict[str, str] = {}
        self.seen: dict[str, Sighting] = {}
        self.traces: set[tuple[str, str]] = set()

    def keep(self, key: str, sighting: Sighting) -> None:
        """Keep the first sighting of *key*."""
        self.seen.setdefault(key, sighting)


def clip(text: str) -> str:
    """Cut a line to what a person reads."""
    return text if len(text) <= _TEXT else text[: _TEXT - 3] + "..."
