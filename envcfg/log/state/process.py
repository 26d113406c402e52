"""One process: the facts from its lines, in any order."""

from collections.abc import Mapping
from operator import attrgetter
from sys import intern
from typing import Any, NamedTuple

from envcfg.log.read.process_facts import Room, Sighting, with_one
from envcfg.log.verdict import GivenUpCollective

GAVE_UP = frozenset(  # files of NCCL from which an error goes to the program
    f"{name}.{end}"
    for name in ("group", "init", "enqueue", "bootstrap", "collectives")
    for end in ("cc", "cu")
)
MOST_RANKS = 1 << 20  # ranks of a job; a larger number is torn, mistyped or made up


def card_key(network: str, nic: int, gpu: str) -> str:
    """Return the key of the line that shows that a GPU uses a NIC."""
    return f"card {network}/{nic} {gpu}"


class Edge(NamedTuple):
    """The connection from one rank of a communicator to another."""

    sender: int
    receiver: int
    kind: str
    gdr: bool | None
    own: int
    nranks: int | None


class RaisedWarning:
    """A warning, and the files through which an error was passed up after it."""

    def __init__(
        self, shape: str, sighting: Sighting, *, harmless: bool, over: bool
    ) -> None:
        """Begin with the warning."""
        self.shape = shape  # its first words, without numbers
        self.sighting = sighting  # its line
        # True if the warning is harmless while the process continues.
        self.harmless = harmless
        # True if a communicator was destroyed before: the program was at its end.
        self.over = over
        # Files of NCCL's source; empty if no error was passed up.
        self.files: set[str] = set()


class Communicator:
    """The part of one rank in a communicator."""

    __slots__ = ("bus", "comm_id", "device", "nodes", "nranks", "phases", "rank")

    def __init__(self, rank: int, nranks: int) -> None:
        """Begin with the *rank* among *nranks*."""
        self.rank = rank
        self.nranks = nranks
        self.device: int | None = None
        self.comm_id: str | None = None
        self.bus: str | None = None  # of its GPU
        self.nodes: int | None = None
        self.phases: frozenset[str] = frozenset()

    @property
    def is_up(self) -> bool:
        """Whether it reported a complete start."""
        return "Init COMPLETE" in self.phases

    @property
    def only_left(self) -> bool:
        """Whether the log shows only the end of the communicator."""
        return bool(self.phases) and not any("Init" in phase for phase in self.phases)

    @property
    def only_began(self) -> bool:
        """Whether the log shows only that the communicator began to start."""
        return self.phases == {"Init START"}


# One shared empty table, because most processes never fill most of theirs.
_NONE: dict[Any, Any] = {}


class Process:
    """One process (host and pid) and the facts from its lines.

    Attributes are sets and first sightings, so that the order of lines does not matter.
    Facts that most processes share are stored once.
    """

    # With tens of thousands of processes, dicts would take a third of the memory.
    __slots__ = tuple(
        (
            "host pid label label_is_rank records facts channels edges communicators rows "
            "masks warned raised room waits writer form restarts is_bare"
        ).split()
    )
    # Network, number of the NIC and PCI bus of the GPU, by channels.
    cards: frozenset[tuple[str, int, str]]
    dialects: frozenset[tuple[str, str]]
    informed: bool
    interfaces: Mapping[str, tuple[str, ...]]
    loaded: Mapping[str, str]
    networks: Mapping[str, frozenset[int | None]]
    nic_gdr: Mapping[tuple[str, str], bool]
    package: tuple[str, str] | None
    ports: int | None
    providers: Mapping[str, int | None]
    reason: str | None
    requested: str | None
    ring_gdr: frozenset[str]
    seen: Mapping[str, Sighting]
    settings: Mapping[str, str]
    sources: frozenset[int]
    traces: frozenset[tuple[str, str]]
    versions: Mapping[str, frozenset[str]]
    # Send or receive, and whether with GPU RDMA.
    ways: frozenset[tuple[str | None, bool]]

    def __init__(self, host: str, pid: int | None, room: Room | None = None) -> None:
        """Begin without facts; *room* limits the facts of all processes of the job."""
        self.room = room or Room()
        self.host = host
        self.pid = pid
        self.label: int | None = None
        self.label_is_rank = False
        self.writer = self.form = (
            ""  # the launcher's name for the process, and the form of the name
        )
        self.records = 0
        # Starts after the first one, in containers with equal host names and pids, and
        # whether the last of these starts has no line about the network.
        self.restarts, self.is_bare = 0, False
        self.facts = self.room.facts
        self.channels: dict[tuple[int, str], list[int]] = _NONE
        self.edges: tuple[Edge, ...] | set[Edge] = ()
        self.communicators: dict[str, Communicator] = _NONE
        self.rows: dict[int, int | None] = _NONE
        self.masks: dict[int | None, str] = _NONE
        self.warned: dict[int | None, RaisedWarning] = _NONE
        self.raised: dict[int | None, RaisedWarning] = _NONE
        self.waits: dict[tuple[str, int], GivenUpCollective] = _NONE

    @property
    def has_lines(self) -> bool:
        """Whether the log has lines of this process itself, with its pid."""
        return self.pid is not None and self.records > 0

    def add(self, name: str, item: object) -> None:
        """Add *item* to a set of facts."""
        values = getattr(self.facts, name)
        if item not in values:
            self.know(name, with_one(values, item))

    def own(self, name: str) -> dict[Any, Any]:
        """Return the table *name* for changes: it is created when it is first needed."""
        if getattr(self, name) is _NONE:
            setattr(self, name, {})
        table: dict[Any, Any] = getattr(self, name)
        return table

    def know(
        self, name: str, value: object, key: object = None, *, alike: bool = True
    ) -> None:
        """Store a fact: *value* under *name*, or in its table under *key*.

        Args:
            name: of the attribute.
            value: the new value.
            key: key in the table; None: the attribute is no table.
            alike: True if other processes get the same fact from the same line.
        """
        facts = self.facts
        # Equal processes walk through the same steps, and share each result.
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
        """The identity of the process: host and pid."""
        return self.host, self.pid

    @property
    def is_anyone(self) -> bool:
        """Whether its lines may be from many processes, because they name none."""
        return self.pid is None and self.label is None

    @property
    def has_ended(self) -> bool:
        """Whether it has destroyed or aborted a communicator."""
        return any(
            phase.startswith(("Destroy", "Abort"))
            for comm in self.communicators.values()
            for phase in comm.phases
        )

    def start(self, count: int) -> None:
        """Store that the process set NCCL up, which a process does once.

        If it began before, the *count* of this start is added.
        """
        if self.communicators and not self.is_anyone:
            self.restarts += count
            self.is_bare = True

    def warn(self, device: int | None, warning: RaisedWarning) -> None:
        """Store a warning; the first one is kept, unless only that one is harmless."""
        raised = self.warned.get(device)
        if raised is None and not self.room.takes("line", len(self.warned)):
            return
        if raised is None or (raised.harmless and not warning.harmless):
            self.own("warned")[device] = warning

    def trace(self, device: int | None, file: str, code: str) -> None:
        """Store that an error was passed up through a *file* of NCCL's source."""
        warning = self.warned.get(device)
        if warning:
            self.own("raised").setdefault(device, warning).files.add(file)
        # A harmless warning is passed up too, and the process continues without it.
        if not (warning and warning.harmless) or file in GAVE_UP:
            self.add("traces", (file, code))

    def go_on(self, device: int | None) -> None:
        """Store that the process made progress, even after warnings.

        Each GPU makes progress by itself. Warnings before the process chose its GPU belong
        to any of them.
        """
        self.add("devices", device)
        devices = self.facts.devices
        for by_device in filter(None, (self.warned, self.raised)):
            for second in [
                key for key in by_device if key == device or key not in devices
            ]:
                del by_device[second]

    def keep(self, key: str, sighting: Sighting) -> None:
        """Keep the first sighting of *key*."""
        facts = self.facts
        if key in facts.seen:
            return
        # Another process with the same facts has already taken this step.
        if (after := facts.steps.get(key)) is not None:
            self.facts = after
            return
        sighting_kept, is_usual = self.room.sighting(key, sighting)
        if is_usual or self.room.takes("line", len(facts.seen)):
            self.know("seen", sighting_kept, intern(key), alike=is_usual)
        if is_usual and self.facts.is_shared:
            facts.steps[key] = self.facts


for _name in Process.__annotations__:  # facts that processes with the same lines share
    setattr(Process, _name, property(attrgetter(f"facts.{_name}")))
