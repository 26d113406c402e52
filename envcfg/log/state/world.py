"""The world of a job: its size, the process of each rank, the number of nodes."""

from collections import Counter
from itertools import pairwise
from typing import NamedTuple

from envcfg.log.expectations import Expectations
from envcfg.log.names import NAMES_NETWORK, is_older, longest_end
from envcfg.log.state.groups import RankGroup, connected, groups_of
from envcfg.log.state.job_state import JobLog
from envcfg.log.state.process import Communicator, Process
from envcfg.log.state.traffic import Entity

# Versions before this one print the same words as the oldest. Only versions that print
# the network's name can be recognised.
_SAME_WORDS = "2.8"


class World(NamedTuple):
    """The largest communicator of a job."""

    size: int | None  # number of its ranks; None if the log does not show it
    # Ranks with lines, rising; then processes without a rank.
    entities: tuple[Entity, ...]
    present: tuple[int, ...]  # numbers of the ranks with lines, rising
    missing: tuple[int, ...]  # numbers of the ranks without lines, rising
    hosts: tuple[str, ...]  # nodes with lines, sorted
    # Nodes as NCCL counts them, else the hosts with lines; None: unknown.
    node_count: int | None
    # True if it spans several nodes; None if the log does not show it.
    multi: bool | None
    # True if its NCCL is too old to name the network, which is then derived.
    silent: bool = False
    # The processes of each attempt, if the log separates attempts.
    parts: tuple[frozenset[Process], ...] = ()
    # True if its processes may be of several attempts or jobs, not told apart.
    blurred: bool = False
    partial: tuple[RankGroup, ...] = ()  # other communicators with missing ranks
    # Id and size of communicators that were complete on some rank.
    finished: frozenset[tuple[str | None, int]] = frozenset()
    islands: int = 1  # number of communicators of this size that only smaller ones join
    alike: tuple[Process, ...] = ()  # processes that cannot be told apart from others
    # Processes that use NCCL and have no rank in any communicator.
    idle: tuple[Process, ...] = ()
    torn: int = 0  # number of torn lines: facts that few ranks lack may be in them

    @property
    def complete(self) -> bool:
        """Whether every rank of the world has its own lines."""
        return bool(self.size) and not self.missing

    @property
    def attempts(self) -> int:
        """The number of starts, each by other processes."""
        return max(1, len(self.parts))

    @property
    def starts(self) -> "list[World]":
        """The world of each start, of which all processes can be compared.

        Processes of other communicators, or that cannot be told apart, are of no start.
        """
        processes = {entity.process for entity in self.entities}
        others = {
            e.process
            for e in self.entities
            if e.rank is None and e.process.communicators
        }
        starts = self.parts if self.attempts > 1 else (processes - others,)
        return [
            self._replace(
                entities=tuple(e for e in self.entities if e.process in start)
            )
            for start in (() if self.blurred else starts)
        ]


def world_of(job: JobLog, expect: Expectations) -> World:
    """Return the world of *job*; ``expect.ranks`` replaces a size that the log lacks.

    The size comes first, because everything else refers to communicators of that size.
    These give each process its rank; those without a common process are attempts. A rank
    is missing if one attempt lacks it, because attempts prove nothing about each other.
    While ranks are missing, each process with lines may be one of them; else only those
    with lines about the network count.
    """
    processes = job.everyone
    size = _size(processes)
    entities = _ranks(processes, size)
    groups = groups_of(processes)
    attempts = connected([group for group in groups if group.nranks == size])
    missing = _missing(entities, attempts, max(size or 0, expect.ranks or 0))
    placed = {id(entity.process) for entity in entities}
    rest = [process for process in processes if id(process) not in placed]
    is_open = size is None or bool(missing)
    counted = [
        process
        for process in rest
        if not _DECIDING.isdisjoint(process.seen) or (is_open and process.has_lines)
    ]
    ranks = sorted({entity.rank for entity in entities if entity.rank is not None})
    hosts = _hosts(processes)
    counts = (comm.nodes for p in processes for comm in p.communicators.values())
    nodes = max(filter(None, counts), default=None)  # as NCCL counts them
    # Processes with lines on nodes of the job and without a communicator.
    idle = [
        process
        for process in (rest if size else ())
        if process.has_lines and not process.communicators and process.host in hosts
    ]
    world = World(
        size=size,
        entities=(*entities, *(Entity(None, process) for process in counted)),
        present=tuple(ranks),
        missing=tuple(missing),
        hosts=tuple(hosts),
        node_count=nodes or (len(hosts) or None),
        multi=_is_multi(
            processes, nodes, hosts, is_complete=bool(ranks) and not missing
        ),
        silent=_silent(processes),
        idle=tuple(idle),
        torn=job.torn,
    )
    return _with_groups(world, groups, attempts)


def _size(processes: list[Process]) -> int | None:
    """Return the number of ranks in the largest communicator; None if no line shows it."""
    sizes = [comm.nranks for p in processes for comm in p.communicators.values()]
    # A torn log may lack the communicator, but edges and tables show ranks too.
    sizes += [edge.nranks for p in processes for edge in p.edges if edge.nranks]
    sizes += [rank + 1 for p in processes for rank in p.rows]
    return max(sizes, default=None)


def _is_multi(
    processes: list[Process], nodes: int | None, hosts: list[str], *, is_complete: bool
) -> bool | None:
    """Return whether the job spans several nodes; None if the log does not show it.

    Two nodes in the log prove several; one node proves one only if no rank is missing.
    """
    if (nodes or len(hosts)) > 1 or any(process.channels for process in processes):
        return True
    return False if nodes == 1 or (is_complete and len(hosts) == 1) else None


def _with_groups(
    world: World, groups: list[RankGroup], attempts: list[list[RankGroup]]
) -> World:
    """Return *world* with the facts from its communicators and smaller groups.

    Communicators of the world's size show the processes of one attempt. Smaller ones are
    then judged by attempts: they may join several worlds, and ranks that they lack may be
    ranks of the world with other names.
    """
    largest = [group for group in groups if group.nranks == world.size]
    smaller = [group for group in groups if group.nranks != world.size]
    parts = tuple(
        frozenset(process for group in attempt for process in group.holders)
        for attempt in attempts
    )
    home = {process: index for index, part in enumerate(parts) for process in part}
    on_two_nodes = any(
        first.rank == second.rank is not None
        and first.process.host != second.process.host
        for first, second in pairwise(world.entities)
    )
    told_apart = [g for g in groups if g.comm_id or g.nranks == world.size]
    homes = {
        group: {home.get(process) for process in group.holders} for group in smaller
    }
    return world._replace(
        parts=parts,
        blurred=any(
            not group.comm_id and (group.doubled or group.is_mixed) for group in largest
        )
        or (len(attempts) < 2 and on_two_nodes),
        # A group with an id inside one attempt only uses other names for known ranks.
        partial=tuple(
            group
            for group in smaller
            if group.absent > 0
            and not (
                group.comm_id and None not in homes[group] and len(homes[group]) == 1
            )
        ),
        finished=frozenset((g.comm_id, g.nranks) for g in groups if g.finished),
        islands=max([1, *(len(group - {None}) for group in homes.values())]),
        alike=tuple(process for group in told_apart for process in group.alike),
    )


def _missing(
    entities: list[Entity], attempts: list[list[RankGroup]], total: int
) -> list[int]:
    """Return the ranks without lines, of any attempt: attempts do not prove each other."""
    if len(attempts) < 2:
        # Tables and labels also name ranks, but not their attempt.
        ranks = {entity.rank for entity in entities}
        return [rank for rank in range(total) if rank not in ranks]
    counts = Counter(
        rank for part in attempts for rank in set().union(*(g.ranks for g in part))
    )
    return [rank for rank in range(total) if counts[rank] < len(attempts)]


def _hosts(processes: list[Process]) -> list[str]:
    """Return the nodes with their own lines.

    The first line of a process may have torn text glued to its node's name; later lines
    of the process show the correct name.
    """
    hosts: dict[int, set[str]] = {}
    for process in processes:
        if process.host and process.pid is not None and process.records:
            hosts.setdefault(process.pid, set()).add(process.host)
    return sorted(
        {
            name
            for names in hosts.values()
            for name in names
            if not longest_end(name[1:], names)
        }
    )


def _silent(processes: list[Process]) -> bool:
    versions = {version for p in processes for version in p.versions.get("nccl", ())}
    if not versions and not any(process.networks for process in processes):
        # Usually one process prints its version; wording reveals those of the others.
        words = {
            dialect for p in processes for dialect in p.dialects if dialect[0] == "nccl"
        }
        versions = {last for _, text in words if (last := text.partition("-")[2])}
        return any(is_older(version, _SAME_WORDS) for version in versions)
    return bool(versions) and all(
        is_older(version, NAMES_NETWORK) for version in versions
    )


# Events that show that a process takes part in the network.
_DECIDING = frozenset(
    "channel communicator error-trace gdr-off network network-assigned plugin-failed "
    "plugin-loaded plugin-missing plugin-unsupported provider socket-interfaces".split()
)


def world_communicators(process: Process, size: int | None) -> list[Communicator]:
    """Return the parts of *process* in communicators as large as the world."""
    communicators = process.communicators.values()
    return [comm for comm in communicators if comm.nranks == size]


def _ranks(processes: list[Process], size: int | None) -> list[Entity]:
    """Return the ranks that processes hold: by communicator, table of ranks, label, or
    channels."""
    # A communicator is the strongest evidence; a channel is the weakest.
    comms = [comm for p in processes for comm in p.communicators.values()]
    sizes = {comm.nranks for comm in comms}
    entities: dict[tuple[int, int], Entity] = {}
    for process in processes:
        for comm in world_communicators(process, size):
            key = comm.rank, id(process)
            entities[key] = Entity(comm.rank, process, comm.device)
    contained = {id(entity.process) for entity in entities.values()}
    for process in processes:
        # In channels of a smaller communicator, ranks have other numbers.
        own = {comm.nranks for comm in process.communicators.values()}
        for edge in process.edges if sizes == {size} >= own else ():
            if edge.own < (size or 0):
                entities.setdefault((edge.own, id(process)), Entity(edge.own, process))
        if id(process) in contained:
            continue
        for rank, device in process.rows.items():
            if process.records:
                entities[rank, id(process)] = Entity(rank, process, device)
        label = process.label if process.label_is_rank and not process.rows else None
        if label is not None and process.pid is not None and label < (size or 0):
            entities[label, id(process)] = Entity(label, process)
    return sorted(
        entities.values(),
        key=lambda entity: (entity.rank or 0, entity.process.pid or 0),
    )
