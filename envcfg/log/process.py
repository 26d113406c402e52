"""What is known of one process: facts that its lines add up to, in any order."""

from collections.abc import Mapping
from operator import attrgetter
from sys import intern
from typing import Any, NamedTuple

from envcfg.log.facts import Room, Sighting, with_one
from envcfg.log.verdict import Waiting

GAVE_UP = frozenset(  # files of NCCL from which an error goes to the program
    f"{name}.{end}"
    for name in ("group", "init", "enqueue", "bootstrap", "collectives")
    for end in ("cc", "cu")
)
MOST_RANKS = 1 << 20  # of a job; a larger number is torn, mistyped or made up


def _fact(name: str) -> Any:  # noqa: ANN401  # what the class says that it is
    return property(attrgetter(f"facts.{name}"))


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

    def add(self, name: str, item: object) -> None:
        """Learn one more *item* of a set of facts."""
        known = getattr(self.facts, name)
        if item not in known:
            self.know(name, with_one(known, item))

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
            self.add("traces", (file, code))

    def go_on(self, device: int | None) -> None:
        """Take in that it does something new, whatever it warned of before.

        Of several GPUs each goes on by itself. What was said before the process chose its
        GPU belongs to any.
        """
        self.add("devices", device)
        devices = self.facts.devices
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
        facts = self.facts
        if key in facts.seen:
            return
        if (after := facts.steps.get(key)) is not None:
            self.facts = after
            return
        shown, is_usual = self.room.sighting(key, sighting)
        if is_usual or self.room.takes("line", len(facts.seen)):
            self.know("seen", shown, intern(key), alike=is_usual)
        if is_usual and self.facts.is_shared:
            facts.steps[key] = self.facts
