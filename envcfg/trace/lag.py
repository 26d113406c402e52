"""Which ranks hold the others up, from the Flight Recorder dumps of several.

The ranks of a process group call the same collectives in the same order, so that the first
number which some have called and others have not says who is missing; and a number under
which they called different things says that they took different ways.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from math import prod
from typing import NamedTuple

from envcfg.trace.flight import DEFAULT, FlightDump, FlightEntry

# Of these each rank gives as much as the others; of what has a root, or sizes for each
# rank, it need not. Names of ProcessGroupNCCL.cpp and ProcessGroupGloo.cpp of PyTorch.
_EVEN = frozenset(
    "all_reduce allreduce _all_gather_base all_gather_single _reduce_scatter_base "
    "reduce_scatter_single".split()
)


class GroupLag(NamedTuple):
    """The first collective of a group that has not ended everywhere.

    Attributes:
        group: name of the process group.
        desc: PyTorch's description of it, as in ``default_pg``.
        seq: number of the collective in the group.
        operation: what it is, with sizes, in the words of a rank that called it.
        place: ``FILE:LINE`` of the program where it was called; empty where unknown.
        absent: ranks that did not call it, and how far each is: the ones to look at.
        elsewhere: those of them that wait in another group themselves, and in what.
        waiting: ranks that called it and wait; ``started`` on the GPU, or ``scheduled``.
        done: ranks where it has ended, well or not.
        unseen: ranks of the group without a dump.
        since: when the first called it, in ns since 1970; None where unknown.
        timed_out: PyTorch has given it up on some rank.
    """

    group: str
    desc: str
    seq: int
    operation: str
    place: str
    absent: Mapping[int, int]
    elsewhere: Mapping[int, str]
    waiting: Mapping[int, str]
    done: tuple[int, ...]
    unseen: tuple[int, ...]
    since: int | None
    timed_out: bool


class Step(NamedTuple):
    """What ranks called under one number: *called*, and the *ranks* that did, rising."""

    called: str
    ranks: tuple[int, ...]


class OutOfStep(NamedTuple):
    """The first number of a group under which ranks called different things.

    Attributes:
        group: name of the process group.
        desc: PyTorch's description of it.
        seq: the number.
        differs: ``operation``, ``size`` or ``type``.
        steps: two or more, the most ranks first.
    """

    group: str
    desc: str
    seq: int
    differs: str
    steps: tuple[Step, ...]


# By number; several where they are one launch.
_Calls = Mapping[int, Sequence[FlightEntry]]


class _Group(NamedTuple):
    """A group: *ranks* tell apart those that PyTorch gave one name; none: not known.

    ``split_group`` of older PyTorch counts groups in each process, so that pairs of ranks,
    of which each knows its own alone, all have the same name.
    """

    name: str
    desc: str
    ranks: tuple[int, ...]


class _Member:
    """How far one rank is in one group."""

    def __init__(self, dump: FlightDump, group: _Group) -> None:
        calls: dict[int, list[FlightEntry]] = {}
        for each in dump.entries:
            if each.group == group[:2] and not each.is_p2p:
                calls.setdefault(each.seq, []).append(each)
        self.calls: _Calls = calls
        self.is_lost = dump.is_full and not calls
        self.enqueued = max(calls, default=0)

    def first_open(self, last: int) -> int | None:
        """Return the first number up to *last* that has not ended here."""
        waits = [seq for seq, own in self.calls.items() if not _done(own)]
        waits += [self.enqueued + 1] if self.enqueued < last else []
        return min(waits, default=None)


def _done(calls: Iterable[FlightEntry]) -> bool:
    # Of operations that are launched together only the one that launches them has an end.
    return any(each.done for each in calls)


def lag(dumps: Sequence[FlightDump]) -> tuple[GroupLag, ...]:
    """Return for each group with an open collective who is missing and who waits.

    A dump shows one moment: of a job that runs, ranks may be apart for a while. Groups in
    which a rank is missing that waits nowhere come first, then others with missing ranks.
    """
    found = [each for group in _groups(dumps) for each in _lag(dumps, group)]
    waits = _waits(dumps, found)
    found = [
        each._replace(elsewhere={r: waits[r] for r in each.absent if r in waits})
        for each in found
    ]
    return tuple(sorted(found, key=lambda each: (not each.absent, not _idle(each))))


def follows(lag: GroupLag, lags: Sequence[GroupLag]) -> bool:
    """Return whether others hold up the ranks that are missing from *lag*.

    Where all who are missing wait for each other, none of them follows from another.
    """
    return not _idle(lag) and any(_idle(each) for each in lags)


def _idle(lag: GroupLag) -> set[int]:
    return set(lag.absent) - set(lag.elsewhere)


def _waits(dumps: Sequence[FlightDump], lags: Sequence[GroupLag]) -> dict[int, str]:
    """Return in what each rank waits: a collective, else a send or receive."""
    waits: dict[int, str] = {}
    for each in lags:
        for rank in each.waiting:
            what = f"number {each.seq} of {each.desc or each.group}, {each.operation}"
            waits.setdefault(rank, what)
    for rank, what in open_transfers(dumps).items():
        waits.setdefault(rank, what)
    return waits


def open_transfers(dumps: Sequence[FlightDump]) -> dict[int, str]:
    """Return for each rank the first send or receive that has not ended, in words."""
    found: dict[int, str] = {}
    for dump in dumps:
        together: dict[tuple[tuple[str, str], int], list[FlightEntry]] = {}
        for entry in dump.entries:
            if entry.is_p2p:
                together.setdefault((entry.group, entry.p2p_seq), []).append(entry)
        for (group, _), own in together.items():
            if not any(each.done or each.retired for each in own):
                found.setdefault(dump.rank, f"{own[0].said} of {group[1] or group[0]}")
    return found


def out_of_step(dumps: Sequence[FlightDump]) -> tuple[OutOfStep, ...]:
    """Return for each group the first number that ranks called different things by."""
    return tuple(
        each for group in _groups(dumps) for each in _differences(dumps, group)
    )


def _groups(dumps: Sequence[FlightDump]) -> list[_Group]:
    found = (
        _Group(*entry.group, dump.ranks.get(entry.group[0], ()))
        for dump in dumps
        for entry in dump.entries
        if not entry.is_p2p
    )
    return list(dict.fromkeys(found))


def _members(
    dumps: Sequence[FlightDump], group: _Group
) -> tuple[dict[int, _Member], set[int]]:
    """Return the ranks of a group of which something is known, and the others."""
    ranks = set(group.ranks)
    is_all = group.desc == DEFAULT and not ranks
    members: dict[int, _Member] = {}
    for dump in dumps:
        if dump.ranks.get(group.name, ()) not in ((), group.ranks):
            continue
        member = _Member(dump, group)
        # What has pushed all of it out of a full buffer does not say how far the rank is.
        if not member.is_lost and (member.calls or dump.rank in ranks or is_all):
            members[dump.rank] = member
    return members, ranks - set(members)


def _lag(dumps: Sequence[FlightDump], group: _Group) -> Iterator[GroupLag]:
    members, unseen = _members(dumps, group)
    last = max(each.enqueued for each in members.values())
    opened = [each.first_open(last) for each in members.values()]
    seq = min((each for each in opened if each is not None), default=None)
    if seq is None:
        return
    absent = {r: each.enqueued for r, each in members.items() if each.enqueued < seq}
    calls = {r: each.calls[seq] for r, each in members.items() if seq in each.calls}
    waiting = {rank: own[-1].state for rank, own in calls.items() if not _done(own)}
    entries = [entry for own in calls.values() for entry in own]
    created = [entry.created for entry in entries if entry.created]
    yield GroupLag(
        group=group.name,
        desc=group.desc,
        seq=seq,
        operation=entries[0].said if entries else "",
        place=next((entry.place for entry in entries if entry.place), ""),
        absent=dict(sorted(absent.items())),
        elsewhere={},
        waiting=dict(sorted(waiting.items())),
        # What a full buffer has lost had ended.
        done=tuple(sorted(set(members) - set(absent) - set(waiting))),
        unseen=tuple(sorted(unseen)),
        since=min(created, default=None),
        timed_out=any(entry.timed_out for entry in entries),
    )


def _differences(dumps: Sequence[FlightDump], group: _Group) -> Iterator[OutOfStep]:
    members, _ = _members(dumps, group)
    for seq in sorted({seq for each in members.values() for seq in each.calls}):
        calls = {r: each.calls[seq] for r, each in members.items() if seq in each.calls}
        for differs, key in _KEYS.items():
            if len({key(own) for own in calls.values()}) > 1:
                steps: dict[str, list[int]] = {}
                for rank, own in calls.items():
                    said = ", ".join(each.said for each in own[:3])
                    steps.setdefault(said, []).append(rank)
                ordered = [Step(said, tuple(sorted(r))) for said, r in steps.items()]
                ordered.sort(key=lambda each: -len(each.ranks))
                yield OutOfStep(*group[:2], seq, differs, tuple(ordered))
                return


# In what calls under one number may differ, the plainest difference first.
_KEYS: Mapping[str, Callable[[Sequence[FlightEntry]], object]] = {
    "operation": lambda calls: tuple(each.name for each in calls),
    "size": lambda calls: tuple(
        sum(map(prod, each.input_sizes)) for each in calls if each.name in _EVEN
    ),
    "type": lambda calls: tuple(each.dtypes for each in calls if each.name in _EVEN),
}
