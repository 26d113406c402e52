"""Who is who: the size of the world, which process holds which rank, how many nodes."""

from collections import Counter
from typing import NamedTuple

from envcfg.log.expectations import Expectations
from envcfg.log.groups import Group, connected, groups_of
from envcfg.log.job import Job
from envcfg.log.names import NAMES_NETWORK, is_older, longest_end
from envcfg.log.process import Communicator, Process
from envcfg.log.traffic import Entity

# Versions before this one say how processes find each other as the oldest ones do. Those of
# them that name the network are told from the others by doing so.
_SAME_WORDS = "2.8"


class World(NamedTuple):
    """The largest communicator of a job.

    Attributes:
        size: its ranks; None where the log does not tell.
        entities: ranks that were seen, rising; processes without a rank behind them.
        seen: numbers of the ranks that were seen, rising.
        missing: numbers of those that were not, rising.
        hosts: nodes that were seen, sorted.
        node_count: nodes as NCCL counts them, else as many as were seen; None: unknown.
        multi: whether it spans several nodes; None where the log does not tell.
        silent: its NCCL is too old to name the network; what it sets up tells it.
        parts: the processes of each attempt, where the log tells them apart.
        blurred: it was begun several times, and the log does not tell them apart.
        partial: other communicators of which ranks were not seen.
        finished: id and size of communicators that came up on some rank.
        islands: how many communicators of this size are joined only by smaller ones.
        alike: processes that cannot be told apart from others.
        torn: lines that are pieces of two: what so many ranks lack may stand in them.
        idle: processes that speak as NCCL and hold no rank of any communicator.
    """

    size: int | None
    entities: tuple[Entity, ...]
    seen: tuple[int, ...]
    missing: tuple[int, ...]
    hosts: tuple[str, ...]
    node_count: int | None
    multi: bool | None
    silent: bool = False
    parts: tuple[frozenset[Process], ...] = ()
    blurred: bool = False
    partial: tuple[Group, ...] = ()
    finished: frozenset[tuple[str | None, int]] = frozenset()
    islands: int = 1
    alike: tuple[Process, ...] = ()
    idle: tuple[Process, ...] = ()
    torn: int = 0

    @property
    def complete(self) -> bool:
        """Whether every rank of the world has lines of its own."""
        return bool(self.size) and not self.missing

    @property
    def attempts(self) -> int:
        """How often it was begun, each time by other processes."""
        return max(1, len(self.parts))


def world_of(job: Job, expect: Expectations) -> World:
    """Return the world of *job*; ``expect.ranks`` makes up for a log that does not tell.

    The size comes first, as all else is asked of communicators of that size: which process
    holds which rank, and which of them share a process; those that do not are attempts. A
    rank is missing where one of the attempts lacks it, as one proves nothing of another.
    Who else counts depends on that. While ranks are missing, each process that speaks may
    be one of them; else only those that say something of the network.
    """
    processes = job.everyone
    known = [comm for each in processes for comm in each.communicators.values()]
    sizes = [comm.nranks for comm in known]
    sizes += [edge.nranks for p in processes for edge in p.edges if edge.nranks]
    sizes += [rank + 1 for p in processes for rank in p.rows]
    size = max(sizes, default=None)
    entities = _ranks(processes, size)
    groups = groups_of(processes)
    attempts = connected([group for group in groups if group.nranks == size])
    missing = _missing(entities, attempts, max(size or 0, expect.ranks or 0))
    placed = {id(entity.process) for entity in entities}
    others = [each for each in processes if id(each) not in placed]
    counted = [
        each
        for each in others
        if not _DECIDING.isdisjoint(each.seen)
        or (each.pid is not None and each.records and (size is None or missing))
    ]
    seen = sorted({entity.rank for entity in entities if entity.rank is not None})
    hosts = _hosts(processes)
    nodes = max((comm.nodes for comm in known if comm.nodes), default=None)
    multi = None
    if (nodes or len(hosts)) > 1 or any(process.channels for process in processes):
        multi = True
    elif nodes == 1 or (seen and not missing and len(hosts) == 1):
        multi = False
    # Those that speak on nodes of the job and take part in no communicator.
    idle = [
        each
        for each in others
        if each.pid is not None and each.records and not each.communicators
        if size and each.host in hosts
    ]
    world = World(
        size=size,
        entities=(*entities, *(Entity(None, each) for each in counted)),
        seen=tuple(seen),
        missing=tuple(missing),
        hosts=tuple(hosts),
        node_count=nodes or (len(hosts) or None),
        multi=multi,
        silent=_silent(processes),
        idle=tuple(idle),
        torn=job.torn,
    )
    return _with_groups(world, groups, attempts)


def _with_groups(
    world: World, groups: list[Group], attempts: list[list[Group]]
) -> World:
    """Return *world* with what its communicators and smaller ones tell.

    Those of its size tell which processes are one attempt. By these the smaller ones are
    judged: whether they join several of that size, and whether ranks that they lack are
    ranks of the world by other names.
    """
    largest = [group for group in groups if group.nranks == world.size]
    smaller = [group for group in groups if group.nranks != world.size]
    parts = tuple(
        frozenset(process for group in attempt for process in group.holders)
        for attempt in attempts
    )
    home = {process: at for at, part in enumerate(parts) for process in part}
    told_apart = [g for g in groups if g.comm_id or g.nranks == world.size]
    homes = {
        group: {home.get(process) for process in group.holders} for group in smaller
    }
    return world._replace(
        parts=parts,
        blurred=any(group.doubled and not group.comm_id for group in largest),
        # Ranks lack that are not among those of a world, by other names.
        partial=tuple(
            group
            for group in smaller
            if group.absent > 0
            and not (
                group.comm_id and None not in homes[group] and len(homes[group]) == 1
            )
        ),
        finished=frozenset((g.comm_id, g.nranks) for g in groups if g.finished),
        islands=max([1, *(len(each - {None}) for each in homes.values())]),
        alike=tuple(process for group in told_apart for process in group.alike),
    )


def _missing(
    entities: list[Entity], attempts: list[list[Group]], total: int
) -> list[int]:
    """Return the ranks without lines, of any attempt: one does not prove another."""
    if len(attempts) < 2:
        # Tables and labels tell ranks, too, though not of which attempt.
        seen = {entity.rank for entity in entities}
        return [rank for rank in range(total) if rank not in seen]
    shown = Counter(
        rank for part in attempts for rank in set().union(*(g.ranks for g in part))
    )
    return [rank for rank in range(total) if shown[rank] < len(attempts)]


def _hosts(processes: list[Process]) -> list[str]:
    """Return the nodes with lines of their own.

    The first line of a process can have torn text glued in front of its node's name; later
    lines of the process tell the name that is meant.
    """
    named: dict[int, set[str]] = {}
    for process in processes:
        if process.host and process.pid is not None and process.records:
            named.setdefault(process.pid, set()).add(process.host)
    return sorted(
        {
            name
            for names in named.values()
            for name in names
            if not longest_end(name[1:], names)
        }
    )


def _silent(processes: list[Process]) -> bool:
    known = {version for p in processes for version in p.versions.get("nccl", ())}
    if not known and not any(process.networks for process in processes):
        # Only one process tells its version. The others tell it by their words.
        words = {each for p in processes for each in p.dialects if each[0] == "nccl"}
        known = {last for _, text in words if (last := text.partition("-")[2])}
        return any(is_older(version, _SAME_WORDS) for version in known)
    return bool(known) and all(is_older(version, NAMES_NETWORK) for version in known)


_DECIDING = frozenset(
    "channel communicator error-trace gdr-off network network-assigned plugin-failed "
    "plugin-loaded plugin-missing plugin-unsupported provider socket-interfaces".split()
)


def world_communicators(process: Process, size: int | None) -> list[Communicator]:
    """Return the parts of *process* in communicators as large as the world."""
    known = process.communicators.values()
    return [comm for comm in known if comm.nranks == size]


def _ranks(processes: list[Process], size: int | None) -> list[Entity]:
    """Return the ranks that processes hold: by communicator, table of ranks, or label."""
    entities: dict[tuple[int, int], Entity] = {}
    for process in processes:
        for comm in world_communicators(process, size):
            key = comm.rank, id(process)
            entities[key] = Entity(comm.rank, process, comm.device)
    held = {id(entity.process) for entity in entities.values()}
    for process in processes:
        if id(process) in held:
            continue
        for rank, device in process.rows.items():
            if process.records:
                entities[rank, id(process)] = Entity(rank, process, device)
        label = process.label if process.label_is_rank and not process.rows else None
        if label is not None and process.pid is not None and label < (size or 0):
            entities[label, id(process)] = Entity(label, process)
    return sorted(
        entities.values(), key=lambda each: (each.rank or 0, each.process.pid or 0)
    )
