"""The ranks that hold the others up, from several Flight Recorder dumps.

The ranks of a process group call the same collectives in the same order. The first number
that only some ranks have called therefore names the missing ranks. Different operations
under one number show that ranks took different paths in the program.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from math import prod
from typing import NamedTuple

from envcfg.log.collective.collective_front import Front, GroupProgress, front_of
from envcfg.log.collective.flight_recorder import DEFAULT, FlightDump, FlightEntry
from envcfg.log.numbers import collect

# Every rank gives the same number of elements to these; operations with a root or with
# sizes per rank may differ. Names: ProcessGroupNCCL.cpp and ProcessGroupGloo.cpp, PyTorch.
_EVEN = frozenset(
    "all_reduce allreduce _all_gather_base all_gather_single _reduce_scatter_base "
    "reduce_scatter_single".split()
)


class GroupLag(NamedTuple):
    """The first collective of a group that has not ended everywhere."""

    group: str  # name of the process group
    desc: str  # PyTorch's description of it, as in `default_pg`
    seq: int
    operation: str  # its name and sizes, as a rank that called it reports them
    place: str  # `FILE:LINE` of the program with the call; empty if unknown
    # Ranks that did not call it, with their last number: the suspects.
    absent: Mapping[int, int]
    # Absent ranks that wait in another operation, with the operation.
    elsewhere: Mapping[int, str]
    # Ranks that called it and wait; `started` on the GPU, or `scheduled`.
    waiting: Mapping[int, str]
    done: tuple[int, ...]  # ranks on which it has ended, successfully or not
    # Ranks of the group without a dump, or with a dump that lost the group.
    unseen: tuple[int, ...]
    # Ranks of the group without a dump, if most others wait for them.
    silent: tuple[int, ...]
    since: int | None  # time of the first call, in ns since 1970; None if unknown
    timed_out: bool  # True if PyTorch gave it up on a rank

    @property
    def behind(self) -> tuple[int, ...]:
        """The ranks that hold up the others, as far as this group shows.

        These did not call the collective; else it has ended on all other ranks only; else
        these have no dump.
        """
        parts = tuple(self.absent), tuple(self.waiting), self.done
        front = Front(self.seq, *parts)
        return front.behind or (self.silent if self.waiting else ())


class OutOfStep(NamedTuple):
    """The first number of a group under which ranks called different things."""

    group: str
    desc: str  # PyTorch's description of it
    seq: int  # the number
    differs: str  # `operation`, `size` or `type`
    # Two or more, each with its sorted ranks, the most ranks first.
    calls: tuple[tuple[str, tuple[int, ...]], ...]


_PEER = re.compile(r"(?:->|<-)(\d{1,9})")  # the other rank of a transfer, in its group

# By number; several entries under one number belong to one launch.
_Calls = Mapping[int, Sequence[FlightEntry]]


class _Group(NamedTuple):
    """A group: *ranks* separate groups to which PyTorch gave one name; empty if unknown.

    ``split_group`` of older PyTorch counts groups in each process. Pairs of ranks that
    only know their own group then all have the same name.
    """

    name: str
    desc: str
    ranks: tuple[int, ...]


class _RankProgress:
    """The progress of one rank in one group."""

    def __init__(self, dump: FlightDump, group: _Group) -> None:
        calls = collect(
            (entry.seq, entry)
            for entry in dump.entries
            # Sends and receives have their own numbers, which the group does not count.
            if entry.group == group[:2] and not entry.is_p2p
        )
        self.calls: _Calls = calls
        # A full buffer without calls of the group has lost them: progress is unknown.
        self.is_lost = dump.is_full and not calls
        # If operations are launched together, only the launching one records an end.
        waits = [n for n, own in calls.items() if not any(call.done for call in own)]
        self.progress = GroupProgress(max(calls, default=0), min(waits, default=None))


def lag(
    dumps: Sequence[FlightDump], everyone: Iterable[int] = ()
) -> tuple[GroupLag, ...]:
    """Return the missing and the waiting ranks of each group with an open collective.

    A dump shows one moment: ranks of a running job may be apart for a while. Groups with a
    rank that holds up others and waits nowhere come first, then others with such ranks.

    Args:
        dumps: of several ranks of one job.
        everyone: all ranks of the job; gloo does not record the members of its groups.
    """
    group_lags = [
        group_lag
        for group in _groups(dumps)
        for group_lag in _lag(dumps, group, frozenset(everyone))
    ]
    fronts = _fronts(dumps)
    group_lags = [
        group_lag._replace(
            elsewhere={r: _words(fronts[r]) for r in group_lag.absent if r in fronts}
        )
        for group_lag in group_lags
    ]
    first = culprits(dumps, group_lags)
    return tuple(
        sorted(
            group_lags,
            key=lambda group_lag: (
                not group_lag.behind,
                first.isdisjoint(group_lag.behind),
            ),
        )
    )


def culprits(dumps: Sequence[FlightDump], lags: Sequence[GroupLag]) -> set[int]:
    """Return the ranks of all groups that hold up others and that no rank holds up.

    If all of them wait for each other, each is a cause.
    """
    lag_of = {
        (group_lag.group, group_lag.desc, rank): group_lag
        for group_lag in lags
        for rank in (*group_lag.waiting, *group_lag.done)
    }
    ranks = {dump.rank: dump.ranks for dump in dumps}
    holders: dict[int, set[int]] = {}
    for rank, front in _fronts(dumps).items():
        if front.is_p2p:
            peers = _PEER.findall(front.name)
            members = ranks[rank].get(front.group[0]) or tuple(ranks)
            holders[rank] = {
                members[int(peer)] for peer in peers if int(peer) < len(members)
            } & set(ranks)
        elif group_lag := lag_of.get((*front.group, rank)):
            holders[rank] = set(group_lag.behind)
    held_up = set().union(*holders.values())
    # A rank that waits where the others are done holds itself up.
    roots = {r for r in held_up if r not in holders or r in holders[r]}
    return roots or held_up


def united(lags: Iterable[GroupLag]) -> list[GroupLag]:
    """Return *lags* with one for parallel groups that stopped at the same collective."""
    parts: dict[object, GroupLag] = {}
    for group_lag in lags:
        kind = bool(group_lag.absent), bool(group_lag.behind)
        operation = group_lag.operation.partition(" ")[0]
        key = group_lag.desc, group_lag.seq, operation, kind
        first = parts.setdefault(key, group_lag)
        if first is not group_lag:
            parts[key] = first._replace(
                absent={**first.absent, **group_lag.absent},
                elsewhere={**first.elsewhere, **group_lag.elsewhere},
                waiting={**first.waiting, **group_lag.waiting},
                done=(*first.done, *group_lag.done),
                unseen=(*first.unseen, *group_lag.unseen),
                silent=(*first.silent, *group_lag.silent),
                timed_out=first.timed_out or group_lag.timed_out,
            )
    return list(parts.values())


def _fronts(dumps: Iterable[FlightDump]) -> dict[int, FlightEntry]:
    """Return the first operation of each rank that has not ended: the rank waits in it."""
    opened = {dump.rank: next(_open_entries(dump), None) for dump in dumps}
    return {rank: entry for rank, entry in opened.items() if entry}


def _open_entries(dump: FlightDump) -> Iterator[FlightEntry]:
    def launch(entry: FlightEntry) -> tuple[object, ...]:
        return entry.group, entry.is_p2p, entry.p2p_seq if entry.is_p2p else entry.seq

    # Operations of one launch end together: one that ended closes all of them. A retired
    # transfer is not open: it ended, or PyTorch gave it up.
    ended = {
        launch(entry)
        for entry in dump.entries
        if entry.done or (entry.is_p2p and entry.retired)
    }
    return (entry for entry in dump.entries if launch(entry) not in ended)


def _words(entry: FlightEntry) -> str:
    group = entry.group[1] or entry.group[0]
    if entry.is_p2p:
        return f"{entry.text} of {group}"
    return f"number {entry.seq} of {group}, {entry.text}"


def open_transfers(dumps: Sequence[FlightDump]) -> dict[int, str]:
    """Return for each rank the first send or receive that has not ended, in words."""
    transfers: dict[int, str] = {}
    for dump in dumps:
        for entry in _open_entries(dump):
            if entry.is_p2p:
                transfers.setdefault(dump.rank, _words(entry))
    return transfers


def out_of_step(dumps: Sequence[FlightDump]) -> tuple[OutOfStep, ...]:
    """Return for each group the first number with different operations."""
    return tuple(
        difference
        for group in _groups(dumps)
        for difference in _differences(dumps, group)
    )


def _groups(dumps: Sequence[FlightDump]) -> list[_Group]:
    groups = (
        _Group(*entry.group, dump.ranks.get(entry.group[0], ()))
        for dump in dumps
        for entry in dump.entries
        if not entry.is_p2p
    )
    return list(dict.fromkeys(groups))


def _members(
    dumps: Sequence[FlightDump], group: _Group
) -> tuple[dict[int, _RankProgress], set[int]]:
    """Return the members of a group with known progress, and the other ranks."""
    ranks = set(group.ranks)
    is_all = group.desc == DEFAULT and not ranks
    members: dict[int, _RankProgress] = {}
    for dump in dumps:
        # A dump with other ranks under this name describes another group.
        if dump.ranks.get(group.name, ()) not in ((), group.ranks):
            continue
        member = _RankProgress(dump, group)
        # A full buffer that lost all calls of the group does not show the rank's progress.
        if not member.is_lost and (member.calls or dump.rank in ranks or is_all):
            members[dump.rank] = member
    return members, ranks - set(members)


def _lag(
    dumps: Sequence[FlightDump], group: _Group, everyone: frozenset[int]
) -> Iterator[GroupLag]:
    members, unseen = _members(dumps, group)
    if group.desc == DEFAULT:
        unseen |= everyone - set(members)
    numbers = sorted({seq for member in members.values() for seq in member.calls})
    # A rank without any call is behind from the first number that a dump shows.
    has_none = not all(member.calls for member in members.values())
    progress = {rank: member.progress for rank, member in members.items()}
    front = front_of(progress, numbers, numbers[0] if has_none else None)
    # Without an open collective the group does not hold anything up.
    if front is None:
        return
    seq = front.seq
    calls = {
        r: member.calls[seq] for r, member in members.items() if seq in member.calls
    }
    entries = [entry for own in calls.values() for entry in own]
    created = [entry.created for entry in entries if entry.created]
    silent = unseen - {dump.rank for dump in dumps}
    yield GroupLag(
        group=group.name,
        desc=group.desc,
        seq=seq,
        operation=entries[0].text if entries else "",
        place=next((entry.place for entry in entries if entry.place), ""),
        absent={rank: progress[rank].called for rank in front.absent},
        elsewhere={},
        waiting={rank: calls[rank][-1].state for rank in front.waiting},
        # A full buffer loses the oldest calls, and those had ended.
        done=front.done,
        unseen=tuple(sorted(unseen)),
        # Files may be missing by accident, but the ranks of a live job are all asked.
        silent=tuple(sorted(silent))
        if everyone or len(silent) < len(front.waiting)
        else (),
        since=min(created, default=None),
        timed_out=any(entry.timed_out for entry in entries),
    )


def _differences(dumps: Sequence[FlightDump], group: _Group) -> Iterator[OutOfStep]:
    members, _ = _members(dumps, group)
    for seq in sorted({seq for member in members.values() for seq in member.calls}):
        calls = {
            r: member.calls[seq] for r, member in members.items() if seq in member.calls
        }
        for differs, key in _KEYS.items():
            if len({key(own) for own in calls.values()}) > 1:
                steps = collect(
                    (", ".join(entry.text for entry in own[:3]), rank)
                    for rank, own in calls.items()
                )
                ordered = [(call, tuple(sorted(r))) for call, r in steps.items()]
                ordered.sort(key=lambda step: -len(step[1]))
                yield OutOfStep(*group[:2], seq, differs, tuple(ordered))
                # Later numbers differ only because this one did.
                return


# Properties that may differ under one number, the plainest first.
_KEYS: Mapping[str, Callable[[Sequence[FlightEntry]], object]] = {
    "operation": lambda calls: tuple(call.name for call in calls),
    "size": lambda calls: tuple(
        sum(map(prod, call.input_sizes)) for call in calls if call.name in _EVEN
    ),
    "type": lambda calls: tuple(call.dtypes for call in calls if call.name in _EVEN),
}
