"""What is known of one process: facts that its lines add up to, in any order."""

from functools import lru_cache
from sys import intern
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
}
MANY = 4096  # of one kind in one process
_TEXT = 400  # characters of a line that are kept as evidence
GAVE_UP = frozenset(  # files of NCCL from which an error goes to the program
    f"{name}.{end}"
    for name in ("group", "init", "enqueue", "bootstrap", "collectives")
    for end in ("cc", "cu")
)
MOST_RANKS = 1 << 20  # of a job; a larger number is torn, mistyped or made up


class Spot(NamedTuple):
    """Where a line is: the source, the block of it, and the line within the block."""

    source: int
    block: int
    line: int


class Sighting(NamedTuple):
    """A line that shows something."""

    spot: Spot
    text: str


class Room:
    """The room that a job has left.

    Attributes:
        refused: how many of each kind there was no room for.
    """

    def __init__(self) -> None:
        """Begin with all of it."""
        self._left = dict(MOST)
        self._shown: dict[str, tuple[int, Sighting]] = {}
        self.refused: dict[str, int] = {}

    def sighting(self, key: str, new: Sighting) -> Sighting:
        """Return *new*, or an older one of *key* where many processes have one each."""
        count, last = self._shown.get(key, (0, new))
        last = new if count < MANY >> 4 else last
        self._shown[key] = count + 1, last
        return last

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


class Edge(NamedTuple):
    """How one rank of a communicator sends to another."""

    sender: int
    receiver: int
    kind: str
    gdr: bool | None
    own: int
    nranks: int | None


class Raised:
    """A warning, and the files through which an error went up behind it.

    Attributes:
        shape: its first words, without numbers.
        sighting: its line.
        harmless: what it says is harmless where the process goes on.
        over: a communicator had been put away before: the program was at its end.
        files: of NCCL's source; none yet where nothing went up.
    """

    def __init__(
        self, shape: str, sighting: Sighting, *, harmless: bool, over: bool
    ) -> None:
        """Begin with the warning."""
        self.shape = shape
        self.sighting = sighting
        self.harmless = harmless
        self.over = over
        self.files: set[str] = set()


class Communicator:
    """One rank's part in a communicator."""

    __slots__ = ("comm_id", "device", "nodes", "nranks", "phases", "rank")

    def __init__(self, rank: int, nranks: int) -> None:
        """Begin with the *rank* among *nranks*."""
        self.rank = rank
        self.nranks = nranks
        self.device: int | None = None
        self.comm_id: str | None = None
        self.nodes: int | None = None
        self.phases: frozenset[str] = frozenset()

    @property
    def is_up(self) -> bool:
        """Whether it said that its start is complete."""
        return "Init COMPLETE" in self.phases

    @property
    def only_left(self) -> bool:
        """Whether the end of its part is all that it said."""
        return bool(self.phases) and not any("Init" in each for each in self.phases)

    @property
    def only_began(self) -> bool:
        """Whether the begin of its start is all that it said."""
        return self.phases == {"Init START"}


class Process:
    """One process (host and pid) and everything that its lines said.

    Attributes are sets and first sightings, so that the order of lines does not matter.
    """

    # Of tens of thousands of processes, their dicts would be a third of the memory.
    __slots__ = tuple(
        (
            "host pid label label_is_rank records informed networks channels "
            "ways edges communicators rows providers ports loaded package "
            "reason requested interfaces versions dialects ring_gdr nic_gdr "
            "rings trees masks settings seen sources traces warned raised steps "
            "room"
        ).split()
    )

    def __init__(self, host: str, pid: int | None, room: Room | None = None) -> None:
        """Begin with nothing known; *room* is that of its job."""
        self.room = room or Room()
        self.host = host
        self.pid = pid
        self.label: int | None = None
        self.label_is_rank = False
        self.records = 0
        self.informed = False
        self.networks: dict[str, frozenset[int | None]] = {}
        self.channels: dict[tuple[int, str], list[int]] = {}
        # Send or receive, and whether with GPU RDMA.
        self.ways: frozenset[tuple[str | None, bool]] = frozenset()
        self.edges: frozenset[Edge] | set[Edge] = frozenset()
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
        self.dialects: frozenset[tuple[str, str]] = frozenset()
        self.ring_gdr: frozenset[str] = frozenset()
        self.nic_gdr: dict[tuple[str, str], bool] = {}
        self.rings = 0
        self.trees = 0
        self.masks: dict[int | None, str] = {}
        self.settings: dict[str, str] = {}
        self.seen: dict[str, Sighting] = {}
        self.sources: set[int] = set()
        self.traces: frozenset[tuple[str, str]] = frozenset()
        self.warned: dict[int | None, Raised] = {}
        self.raised: dict[int | None, Raised] = {}
        self.steps: frozenset[int | None] = frozenset()

    @property
    def key(self) -> tuple[str, int | None]:
        """By what it is told from others: host and pid."""
        return self.host, self.pid

    @property
    def is_anyone(self) -> bool:
        """Whether its lines may be those of many processes, which name none."""
        return self.pid is None and self.label is None

    @property
    def has_ended(self) -> bool:
        """Whether it has put a communicator away."""
        return any(
            phase.startswith(("Destroy", "Abort"))
            for comm in self.communicators.values()
            for phase in comm.phases
        )

    def warn(self, device: int | None, warning: Raised) -> None:
        """Take in a warning; the first one counts, and a harmless one the least."""
        known = self.warned.get(device)
        if known is None and not self.room.takes("line", len(self.warned)):
            return
        if known is None or (known.harmless and not warning.harmless):
            self.warned[device] = warning

    def trace(self, device: int | None, file: str, code: str) -> None:
        """Take in that an error went up through a *file* of NCCL's source."""
        self.traces = with_one(self.traces, (file, code))
        if warning := self.warned.get(device):
            self.raised.setdefault(device, warning).files.add(file)

    def go_on(self, device: int | None) -> None:
        """Take in that it does something new, whatever it warned of before.

        Of several GPUs each goes on by itself. What was said before the process chose its
        GPU belongs to any.
        """
        if device not in self.steps:
            self.steps = with_one(self.steps, device)
        for known in filter(None, (self.warned, self.raised)):
            for other in [
                key for key in known if key == device or key not in self.steps
            ]:
                del known[other]

    def keep(self, key: str, sighting: Sighting) -> None:
        """Keep the first sighting of *key*."""
        if key not in self.seen and self.room.takes("line", len(self.seen)):
            self.seen[intern(key)] = self.room.sighting(key, sighting)


def clip(text: str) -> str:
    """Cut a line to what a person reads."""
    return text if len(text) <= _TEXT else text[: _TEXT - 3] + "..."
