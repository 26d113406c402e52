"""What is known of one process: facts that its lines add up to, in any order."""

from collections.abc import Mapping
from functools import lru_cache
from operator import attrgetter
from sys import intern
from typing import Any, NamedTuple, TypeVar

from envcfg.log.verdict import Waiting

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
    "step": 1 << 12,  # from facts to facts; without room each process has its own
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


def _fact(name: str) -> Any:  # noqa: ANN401  # what the class says that it is
    return property(attrgetter(f"facts.{name}"))


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
        if count >= MANY >> 4:
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


_NONE: dict[Any, Any] = {}


class Process:
    """One process (host and pid) and everything that its lines said.

    Attributes are sets and first sightings, so that the order of lines does not matter.
    What most processes say alike stands in its facts.
    """

    # Of tens of thousands of processes, their dicts would be a third of the memory.
    __slots__ = tuple(
        (
            "host pid label label_is_rank records facts channels edges communicators rows "
            "masks warned raised room waits"
        ).split()
    )
    dialects: frozenset[tuple[str, str]] = _fact("dialects")
    informed: bool = _fact("informed")
    interfaces: Mapping[str, tuple[str, ...]] = _fact("interfaces")
    loaded: Mapping[str, str] = _fact("loaded")
    networks: Mapping[str, frozenset[int | None]] = _fact("networks")
    nic_gdr: Mapping[tuple[str, str], bool] = _fact("nic_gdr")
    package: tuple[str, str] | None = _fact("package")
    ports: int | None = _fact("ports")
    providers: Mapping[str, int | None] = _fact("providers")
    reason: str | None = _fact("reason")
    requested: str | None = _fact("requested")
    ring_gdr: frozenset[str] = _fact("ring_gdr")
    seen: Mapping[str, Sighting] = _fact("seen")
    settings: Mapping[str, str] = _fact("settings")
    sources: frozenset[int] = _fact("sources")
    traces: frozenset[tuple[str, str]] = _fact("traces")
    versions: Mapping[str, frozenset[str]] = _fact("versions")
    # Send or receive, and whether with GPU RDMA.
    ways: frozenset[tuple[str | None, bool]] = _fact("ways")

    def __init__(self, host: str, pid: int | None, room: Room | None = None) -> None:
        """Begin with nothing known; *room* is that of its job."""
        self.room = room or Room()
        self.host = host
        self.pid = pid
        self.label: int | None = None
        self.label_is_rank = False
        self.records = 0
        self.facts = self.room.facts
        self.channels: dict[tuple[int, str], list[int]] = _NONE
        self.edges: frozenset[Edge] | set[Edge] = frozenset()
        self.communicators: dict[str, Communicator] = _NONE
        self.rows: dict[int, int | None] = _NONE
        self.masks: dict[int | None, str] = _NONE
        self.warned: dict[int | None, Raised] = _NONE
        self.raised: dict[int | None, Raised] = _NONE
        self.waits: dict[tuple[str, int], Waiting] = _NONE

    def own(self, name: str) -> dict[Any, Any]:
        """Return its table *name*, to be changed: none has one before it needs it."""
        if getattr(self, name) is _NONE:
            setattr(self, name, {})
        table: dict[Any, Any] = getattr(self, name)
        return table

    def know(
        self, name: str, value: object, key: object = None, *, alike: bool = True
    ) -> None:
        """Learn a fact: *value* under *name*, or in its table under *key*.

        Args:
            name: of the attribute.
            value: the new one.
            key: of a table; None: *name* is none.
            alike: others learn the same by the same line.
        """
        facts = self.facts
        if facts.is_shared:
            step = name, key, value
            after = facts.steps.get(step) if alike else None
            if after is None and alike and self.room.takes("step"):
                after = facts.steps[step] = facts.having(name, key, value)
            if after is not None:
                self.facts = after
                return
            facts = self.facts = facts.alone()
        if key is None:
            setattr(facts, name, value)
        else:
            getattr(facts, name)[key] = value

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
            self.own("warned")[device] = warning

    def trace(self, device: int | None, file: str, code: str) -> None:
        """Take in that an error went up through a *file* of NCCL's source."""
        warning = self.warned.get(device)
        if warning:
            self.own("raised").setdefault(device, warning).files.add(file)
        # What is harmless goes up through files, too, and the process does without it.
        if not (warning and warning.harmless) or file in GAVE_UP:
            self.know("traces", with_one(self.traces, (file, code)))

    def go_on(self, device: int | None) -> None:
        """Take in that it does something new, whatever it warned of before.

        Of several GPUs each goes on by itself. What was said before the process chose its
        GPU belongs to any.
        """
        devices = self.facts.devices
        if device not in devices:
            devices = with_one(devices, device)
            self.know("devices", devices)
        for known in filter(None, (self.warned, self.raised)):
            for other in [key for key in known if key == device or key not in devices]:
                del known[other]

    def take_in(self, part: "Process") -> None:
        """Take in what lines taught of *part*, whose name is a piece of this one's."""
        facts = self.facts.alone()
        for name in ("networks", "providers", "seen"):
            setattr(facts, name, {**getattr(part, name), **getattr(self, name)})
        self.facts = facts
        self.channels = {**part.channels, **self.channels}
        self.know("sources", self.sources | part.sources)
        self.records += part.records

    def keep(self, key: str, sighting: Sighting) -> None:
        """Keep the first sighting of *key*."""
        if key in self.facts.seen:
            return
        shown, is_usual = self.room.sighting(key, sighting)
        if is_usual or self.room.takes("line", len(self.facts.seen)):
            self.know("seen", shown, intern(key), alike=is_usual)


def clip(text: str) -> str:
    """Cut a line to what a person reads."""
    return text if len(text) <= _TEXT else text[: _TEXT - 3] + "..."
