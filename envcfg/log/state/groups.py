"""The processes that share a communicator, as far as their lines show it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import permutations
from typing import TypeVar

from envcfg.log.numbers import grouped
from envcfg.log.read.process_facts import Spot
from envcfg.log.state.process import Communicator, Process

Thing = TypeVar("Thing")
_COMPARED = 256  # the largest number of processes that keep their own lines
_PAIRS = 1024  # the largest number of channels with all lines read
_LOCAL = ("P2P", "SHM")  # transports within a node


class RankGroup:
    """The facts about one communicator in the log.

    Communicators without an id form one group for each size, because the log does not
    separate them.
    """

    def __init__(self, comm_id: str | None, nranks: int) -> None:
        """Begin without ranks."""
        self.comm_id = comm_id  # None before NCCL 2.18, and after ncclCommSplit
        self.nranks = nranks  # number of ranks of the communicator
        self.ranks: set[int] = set()  # ranks with lines
        # The processes of these ranks, each with its own ranks.
        self.holders: dict[Process, set[int]] = {}
        # Processes with two ranks on one GPU: containers that share a host name and
        # process ids.
        self.alike: list[Process] = []
        self.finished = False  # True if a rank reported that the communicator is up
        self.doubled = False  # True if several processes hold the same rank
        self.left = True  # True if only the ends of ranks are in the log

    def add(self, process: Process, comms: Sequence[Communicator]) -> None:
        """Add the parts of one process."""
        ranks = {comm.rank for comm in comms}
        self.holders[process] = ranks
        self.doubled |= not ranks.isdisjoint(self.ranks)
        self.ranks |= ranks
        self.finished |= any(comm.is_up for comm in comms)
        self.left &= all(comm.only_left for comm in comms)
        devices: dict[int, int] = {}
        for comm in comms:
            first_rank = devices.setdefault(comm.device or 0, comm.rank)
            # One GPU holds one rank, so a second one belongs to another process.
            if comm.device is not None and first_rank != comm.rank:
                self.alike.append(process)
                return

    def join(self, second: RankGroup) -> None:
        """Add *second*, a part of the same communicator."""
        self.ranks |= second.ranks
        self.holders |= second.holders
        self.alike += second.alike

    @property
    def absent(self) -> int:
        """The number of ranks without lines."""
        return self.nranks - len(self.ranks)

    @property
    def is_mixed(self) -> bool:
        """Whether its processes cannot all be of one job.

        Ranks of one communicator wait for each other: none is up before the first line of
        another. They agree on the transport between two ranks: those of one node do not use
        shared memory with another node, and a sender has a receiver.
        """
        # Later processes share the kept lines of earlier ones.
        few = len(self.holders) <= _COMPARED
        # Ranks of a smaller communicator have other numbers there.
        alone = all(len(process.communicators) == 1 for process in self.holders)
        return few and (self._is_apart() or (alone and self._is_contradictory()))

    def _is_apart(self) -> bool:
        spans = [span for span in map(_span_of, self.holders) if span]
        mixed = any(a[0] < b[0] < a[1] for a, b in permutations(spans, 2))
        # Logs of single ranks, one after another, have no common order.
        if len(spans) < len(self.holders) or not mixed:
            return False
        return any(
            min(end for _, end in own) < max(begin for begin, _ in own)
            for own in grouped(spans, lambda span: span[0].source).values()
        )

    def _is_contradictory(self) -> bool:
        hosts = {
            rank: process.host
            for process, ranks in self.holders.items()
            for rank in ranks
        }
        pairs: dict[bool, set[tuple[int, int]]] = {True: set(), False: set()}
        for process, ranks in self.holders.items():
            for edge in process.edges:
                ends = edge.sender, edge.receiver
                if edge.own not in ranks or not hosts.keys() >= set(ends):
                    continue
                if edge.kind in _LOCAL and hosts[ends[0]] != hosts[ends[1]]:
                    return True
                if edge.kind.startswith("NET/"):
                    pairs[edge.own == edge.sender].add(ends)
        # Of very many channels, some lines are not read; an excerpt may lack one direction.
        is_whole = all(pairs.values()) and sum(map(len, pairs.values())) < _PAIRS
        return is_whole and pairs[True] != pairs[False]


def _span_of(process: Process) -> tuple[Spot, Spot] | None:
    """Return the first and the last of the kept lines of *process* in its only source."""
    spots = [sighting.spot for sighting in process.seen.values()]
    if len(process.sources) != 1 or len(spots) < 2:
        return None
    return min(spots), max(spots)


def groups_of(processes: Iterable[Process]) -> list[RankGroup]:
    """Return the communicators that *processes* take part in."""
    groups: dict[tuple[str | None, int], RankGroup] = {}
    for process in processes:
        parts = grouped(
            process.communicators.values(), lambda comm: (comm.comm_id, comm.nranks)
        )
        for key, comms in parts.items():
            if key not in groups:
                groups[key] = RankGroup(*key)
            groups[key].add(process, comms)
    alike = grouped(groups.values(), lambda group: group.nranks)
    for key, group in list(groups.items()):
        if group.comm_id is not None:
            continue
        # A line about the end of a communicator lacks its id, as does a cut line. It
        # belongs to the communicator that lacks these ranks.
        homes = [
            candidate
            for candidate in alike[group.nranks]
            if candidate.comm_id is not None
            and group.ranks.isdisjoint(candidate.ranks)
            and group.holders.keys().isdisjoint(candidate.holders)
        ]
        if len(homes) == 1:
            homes[0].join(groups.pop(key))
    return list(groups.values())


def connected(groups: Sequence[RankGroup]) -> list[list[RankGroup]]:
    """Return *groups* in parts, so that no two parts share a process.

    The parts are attempts of a job that was started again, or jobs in one log.
    """
    head_of = connect(group.holders for group in groups)
    parts = grouped(groups, lambda group: head_of(next(iter(group.holders))))
    return list(parts.values())


def connect(sets: Iterable[Iterable[Thing]]) -> Callable[[Thing], Thing]:
    """Return a function that is equal for things that *sets* connect.

    It returns one of the connected things; without any set, the thing itself.
    """
    heads: dict[Thing, Thing] = {}

    def head_of(thing: Thing) -> Thing:
        while (above := heads.get(thing, thing)) != thing:
            heads[thing] = heads.get(above, above)
            thing = above
        return thing

    for first, *others in sets:
        for other in others:
            heads[head_of(other)] = head_of(first)
    return head_of
