"""What only all ranks together show of who takes part, how far each came, and who lags.

Who lags, the lines of PyTorch's watchdog tell: each rank that gives a collective up says
its number, what it is, and how far the rank came. The ranks of a group call the same
collectives in the same order: who stands at another number than most, called something
else under one, or says nothing, holds the others up.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from envcfg.log.expectations import Expectations
from envcfg.log.facts import Sighting
from envcfg.log.job import Job
from envcfg.log.numbers import count_of, ranks_of, said_of
from envcfg.log.process import GAVE_UP, Process
from envcfg.log.rank import Symptom
from envcfg.log.reasons import reasons_of, warned_symptoms
from envcfg.log.traffic import Entity
from envcfg.log.verdict import Waiting
from envcfg.log.world import World, world_communicators

Found = tuple[Entity | None, Symptom]
_CARRIERS = frozenset(
    f"{name}.{end}"
    for name in ("net", "proxy", "transport", "generic")
    for end in ("cc", "cu")
)
_FAULTS = {"1", "2", "6"}  # CUDA, a system call or the network, a remote rank failed
_SMALLER = "began with a smaller communicator and did not finish it"
_DEFAULT = ("", "0", "0(default_pg)", "default_pg")  # names of the group of all ranks
_PAIRS = ("SEND", "RECV", "RECVANYSOURCE", "COALESCED", "UNKNOWN")
# Of these each rank gives as much as the others.
_EVEN = ("ALLREDUCE", "_ALLGATHER_BASE", "_REDUCE_SCATTER_BASE", "ALLREDUCE_COALESCED")
_MOST = 3  # groups that are told of


def member_symptoms(job: Job, world: World, expect: Expectations) -> list[Found]:
    """Return what is wrong with the ranks as a whole, or how far some of them came."""
    return [
        *_size(world, expect),
        *_unclear(world),
        *_alike(world),
        *_incomplete(world),
        *(_idle(each) for each in world.idle),
        *_traces(job, world),
        *warned_symptoms(job, world),
    ]


def _size(world: World, expect: Expectations) -> Iterator[Found]:
    holders = [entity for entity in world.entities if entity.rank is not None]
    if world.size == 1 and len({id(entity.process) for entity in holders}) > 1:
        many = count_of(len(holders), "process", "processes")
        detail = f"{many}, each a world of 1 rank"
        yield None, Symptom("worlds-of-one", "broken", detail, _first(holders))
    elif expect.ranks and world.size and world.size != expect.ranks:
        detail = f"{count_of(world.size, 'rank')} instead of {expect.ranks}"
        yield None, Symptom("ranks-unexpected", "broken", detail, _first(holders))


def _first(entities: list[Entity]) -> Sighting | None:
    return next((each.process.seen.get("communicator") for each in entities), None)


def _unclear(world: World) -> Iterator[Found]:
    if world.islands > 1:
        detail = (
            f"joins {world.islands} communicators of {count_of(world.size or 0, 'rank')} "
            "by smaller ones, so that the number of its ranks is not shown"
        )
        yield None, Symptom("world-unclear", "inconclusive", detail)
    if world.blurred:
        detail = (
            "has several processes for one rank, whose attempts cannot be told apart"
        )
        yield None, Symptom("attempts-blurred", "inconclusive", detail)


def _alike(world: World) -> Iterator[Found]:
    alike = {id(process) for process in world.alike}
    for entity in world.entities:
        if id(entity.process) in alike:
            name = f"{entity.process.host}:{entity.process.pid}"
            detail = f"cannot be told apart: several processes are called {name}"
            yield entity, Symptom("processes-alike", "inconclusive", detail)


def _incomplete(world: World) -> Iterator[Found]:
    held = [world_communicators(each.process, world.size) for each in world.entities]
    finished = any(comm.is_up for comms in held for comm in comms)
    began = [comms for comms in held if any(comm.only_began for comm in comms)]
    # All meet at the end: where lines are torn, what few lack stands in them.
    torn = finished and 0 < len(began) <= world.torn
    for entity, comms in zip(world.entities, held, strict=True):
        if finished and entity.rank is not None and not comms:
            # Its rank is known by a label or a table only.
            detail = "do not appear in the communicator of all ranks"
            yield entity, Symptom("init-incomplete", "inconclusive", detail)
        for comm in entity.process.communicators.values():
            whole = comm.nranks == world.size
            if whole and entity.rank not in (None, comm.rank):
                continue
            # All ranks meet at the end: one that finished speaks for all of a small one.
            done = (not whole or torn) and (comm.comm_id, comm.nranks) in world.finished
            if comm.only_began and not done:
                detail = _stage(entity.process) if whole else _SMALLER
                yield entity, Symptom("init-incomplete", "inconclusive", detail)
                break


def _idle(process: Process) -> Found:
    sighting = process.seen.get("bootstrap")
    detail = "set NCCL up" if sighting else "wrote lines of NCCL"
    detail += " and joined no communicator"
    return Entity(None, process), Symptom(
        "never-joined", "inconclusive", detail, sighting
    )


def _stage(process: Process) -> str:
    if "trees" in process.seen:
        return "stopped after the trees were connected"
    if "rings" in process.seen:
        return "stopped between rings and trees"
    if process.channels or process.edges:
        return "stopped while channels were connected"
    return "began to initialise and did not finish"


def _traces(job: Job, world: World) -> Iterator[Found]:
    """Errors that went up through NCCL without a line that says why."""
    rules = (each.rule for each in job.occurrences.values())
    if any(rule.severity == "error" and not rule.ends for rule in rules):
        return  # the reason is there
    if reasons_of(job):
        return  # a warning tells it, of another process if not of this one
    for entity in world.entities:
        process = entity.process
        sighting = process.seen.get("error-trace")
        if sighting and job.outlives(
            job.rulebook.rules["failed-silently"], sighting.spot
        ):
            continue
        codes = {code for file, code in process.traces if file in _CARRIERS | GAVE_UP}
        if not process.has_ended and any(file in GAVE_UP for file, _ in process.traces):
            detail = "NCCL gave up and does not say why"
            yield entity, Symptom("failed-silently", "broken", detail, sighting)
        elif codes & _FAULTS:
            detail = "handed up an error that the log does not explain"
            yield entity, Symptom("error-unexplained", "inconclusive", detail, sighting)


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
    hosts = {e.rank: e.process.host for e in world.entities if e.rank is not None}
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
