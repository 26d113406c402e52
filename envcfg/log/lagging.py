"""Who lags, from the lines of PyTorch's watchdog alone.

Each rank that gives a collective up says its number, what it is, and how far the rank came.
The ranks of a group call the same collectives in the same order: who stands at another
number than most, called something else under one, or says nothing, holds the others up.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from envcfg.log.facts import Sighting
from envcfg.log.job import Job
from envcfg.log.numbers import count_of, ranks_of, said_of
from envcfg.log.process import Process
from envcfg.log.rank import Symptom
from envcfg.log.verdict import Waiting
from envcfg.log.world import World

_DEFAULT = ("", "0", "0(default_pg)", "default_pg")  # names of the group of all ranks
_PAIRS = ("SEND", "RECV", "RECVANYSOURCE", "COALESCED", "UNKNOWN")
# Of these each rank gives as much as the others.
_EVEN = ("ALLREDUCE", "_ALLGATHER_BASE", "_REDUCE_SCATTER_BASE", "ALLREDUCE_COALESCED")
_MOST = 3  # groups that are told of


class _Member(NamedTuple):
    wait: Waiting
    process: Process
    sighting: Sighting | None

    @property
    def rank(self) -> int:
        """Its number in the world, as far as its line has it, else in its group."""
        process = self.process
        known = process.label is not None and process.label_is_rank
        return process.label or 0 if known else self.wait.rank


def waiting_of(job: Job) -> tuple[Waiting, ...]:
    """Return where each rank waits, by group and rank."""
    return tuple(
        each.wait._replace(group=name, rank=each.rank)
        for name, members in sorted(_groups(job).items())
        for each in sorted(members, key=lambda each: each.rank)
    )


def lag_symptoms(job: Job, world: World) -> Iterator[tuple[None, Symptom]]:
    """Yield what the watchdog's lines tell of each group, the plainest first.

    A rank that says nothing of one group may wait in another, which is then the cause.
    """
    groups = _groups(job)
    waits = {each.rank for members in groups.values() for each in members}
    hosts = _hosts(world)
    found = [
        _judged(name, members, world, waits, hosts)
        for name, members in groups.items()
        if len(members) > 1  # one alone is compared with nobody
    ]
    order = ("lag-mismatch", "lag-silent", "lag-apart", "lag-even")
    for symptom in sorted(found, key=lambda each: order.index(each.rule))[:_MOST]:
        yield None, symptom


def _groups(job: Job) -> dict[str, list[_Member]]:
    groups: dict[str, list[_Member]] = {}
    for process in job.everyone:
        for wait in process.waits.values():
            if wait.seq is not None and wait.operation not in _PAIRS:
                sighting = process.seen.get("collective")
                name = "" if wait.group in _DEFAULT else wait.group
                groups.setdefault(name, []).append(_Member(wait, process, sighting))
    return groups


def _hosts(world: World) -> dict[int, str]:
    return {e.rank: e.process.host for e in world.entities if e.rank is not None}


def _judged(
    name: str,
    members: Sequence[_Member],
    world: World,
    waits: set[int],
    hosts: dict[int, str],
) -> Symptom:
    """Return what the lines of a group say: who differs, is apart or silent, or nobody.

    What most ranks say is taken for right; the others are named.
    """
    of_group = f" of group {name}" if name else ""
    (usual, _), *_ = Counter(each.wait.seq for each in members).most_common(1)
    here = [each for each in members if each.wait.seq == usual]
    calls = _calls(here)
    what, callers = calls[0]
    number = f"number {usual}{of_group}, {what}"
    if len(calls) > 1:
        other, fewer = calls[1]
        detail = f"{_who(fewer, hosts)} called {other} as number {usual}{of_group}, "
        detail += f"and {_who(callers, hosts)} called {what}"
        return Symptom("lag-mismatch", "broken", detail, fewer[0].sighting)
    others = f"{count_of(len(here), 'rank')} {said_of(len(here), 'wait')} in {number}"
    apart = [each for each in members if each.wait.seq != usual]
    if apart:
        at = ",".join(sorted({str(each.wait.seq) for each in apart}))
        detail = f"{_who(apart, hosts)} {said_of(len(apart), 'wait')} in number {at}"
        return Symptom(
            "lag-apart", "broken", f"{detail}, and {others}", apart[0].sighting
        )
    speaking = {each.rank for each in members}
    silent = set() if name else set(range(world.size or max(speaking) + 1)) - speaking
    silent -= waits
    if silent and len(silent) < len(members):
        where = {hosts[rank] for rank in silent if hosts.get(rank)}
        verb = "says" if len(silent) == 1 else "say"
        detail = f"{ranks_of(silent, where)} {verb} nothing, and {others}"
        return Symptom("lag-silent", "broken", detail, here[0].sighting)
    done = max((each.wait.completed or 0 for each in here), default=0)
    last = f"; the last that ended is number {done}" if done else ""
    detail = f"all {others}{last}"
    if silent:
        many = count_of(len(silent), "other rank says", "other ranks say")
        detail = f"{others}{last}; {many} nothing"
    return Symptom("lag-even", "broken", detail, here[0].sighting)


def _calls(here: Sequence[_Member]) -> list[tuple[str, list[_Member]]]:
    """Return what was called by whom, the most ranks first; sizes where all tell them."""
    sized = all(each.wait.numel_in for each in here if each.wait.operation)
    calls: dict[str, list[_Member]] = {}
    for each in here:
        wait = each.wait
        if wait.operation:
            size = f" of {wait.numel_in}" if sized and wait.operation in _EVEN else ""
            calls.setdefault(wait.operation + size, []).append(each)
    found = sorted(calls.items(), key=lambda each: -len(each[1]))
    return found or [("which is not named", list(here))]


def _who(members: Sequence[_Member], hosts: dict[int, str]) -> str:
    ranks = {each.rank for each in members}
    where = {each.process.host or hosts.get(each.rank, "") for each in members} - {""}
    return ranks_of(ranks, where if len(ranks) <= 4 else ())
