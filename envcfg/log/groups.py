"""Which processes share a communicator, as far as their lines tell."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

from envcfg.log.numbers import grouped
from envcfg.log.process import Communicator, Process

Thing = TypeVar("Thing")


class Group:
    """All that the log shows of one communicator.

    Those without an id are one group for each size: the log does not tell them apart.

    Attributes:
        comm_id: None before NCCL 2.18, and where ncclCommSplit made it.
        nranks: ranks of the communicator.
        ranks: those that were seen.
        holders: the processes that hold them.
        alike: processes of which one and the same GPU holds two ranks: containers that
            share a host name and process ids.
        finished: some rank said that the communicator is up.
        doubled: several processes hold one and the same rank.
        left: all that was seen of it is how ranks left it.
    """

    def __init__(self, comm_id: str | None, nranks: int) -> None:
        """Begin with nobody."""
        self.comm_id = comm_id
        self.nranks = nranks
        self.ranks: set[int] = set()
        self.holders: set[Process] = set()
        self.alike: list[Process] = []
        self.finished = False
        self.doubled = False
        self.left = True

    def add(self, process: Process, comms: Sequence[Communicator]) -> None:
        """Take in the parts of one process."""
        ranks = {comm.rank for comm in comms}
        self.holders.add(process)
        self.doubled |= not ranks.isdisjoint(self.ranks)
        self.ranks |= ranks
        self.finished |= any(comm.is_up for comm in comms)
        self.left &= all(comm.only_left for comm in comms)
        devices: dict[int, int] = {}
        for comm in comms:
            held = devices.setdefault(comm.device or 0, comm.rank)
            if comm.device is not None and held != comm.rank:
                self.alike.append(process)
                return

    def join(self, other: Group) -> None:
        """Take in *other*, which is a part of the same communicator."""
        self.ranks |= other.ranks
        self.holders |= other.holders
        self.alike += other.alike

    @property
    def absent(self) -> int:
        """How many ranks were not seen."""
        return self.nranks - len(self.ranks)


def groups_of(processes: Iterable[Process]) -> list[Group]:
    """Return the communicators that *processes* take part in."""
    groups: dict[tuple[str | None, int], Group] = {}
    for process in processes:
        parts = grouped(
            process.communicators.values(), lambda comm: (comm.comm_id, comm.nranks)
        )
        for key, comms in parts.items():
            if key not in groups:
                groups[key] = Group(*key)
            groups[key].add(process, comms)
    alike = grouped(groups.values(), lambda group: group.nranks)
    for key, group in list(groups.items()):
        if group.comm_id is not None:
            continue
        # A line on the end of a communicator does not tell its id, nor does a line that is
        # cut: it is of the one that lacks these ranks.
        homes = [
            each
            for each in alike[group.nranks]
            if each.comm_id is not None
            and group.ranks.isdisjoint(each.ranks)
            and group.holders.isdisjoint(each.holders)
        ]
        if len(homes) == 1:
            homes[0].join(groups.pop(key))
    return list(groups.values())


def connected(groups: Sequence[Group]) -> list[list[Group]]:
    """Return *groups* in parts, so that no two parts share a process.

    The parts are attempts of a job that was started again, or jobs in one log.
    """
    heads: dict[Process, Process] = {}
    for group in groups:
        first, *others = group.holders
        for process in others:
            heads[head_of(process, heads)] = head_of(first, heads)
    parts = grouped(groups, lambda group: head_of(next(iter(group.holders)), heads))
    return list(parts.values())


def head_of(one: Thing, heads: dict[Thing, Thing]) -> Thing:
    """Return what stands for all that *one* is connected with, as far as *heads* tells."""
    while (above := heads.get(one, one)) != one:
        heads[one] = heads.get(above, above)
        one = above
    return one
