"""What only all ranks together show of who takes part, and how far each of them came."""

from __future__ import annotations

from collections.abc import Iterator

from envcfg.log.expectations import Expectations
from envcfg.log.facts import Sighting
from envcfg.log.job import Job
from envcfg.log.numbers import count_of
from envcfg.log.process import GAVE_UP, Process
from envcfg.log.rank import Symptom
from envcfg.log.reasons import reasons_of, warned_symptoms
from envcfg.log.traffic import Entity
from envcfg.log.world import World, world_communicators

Found = tuple[Entity | None, Symptom]
_CARRIERS = frozenset(
    f"{name}.{end}"
    for name in ("net", "proxy", "transport", "generic")
    for end in ("cc", "cu")
)
_FAULTS = {"1", "2", "6"}  # CUDA, a system call or the network, a remote rank failed
_SMALLER = "began with a smaller communicator and did not finish it"


def member_symptoms(job: Job, world: World, expect: Expectations) -> list[Found]:
    """Return what is wrong with the ranks as a whole, or how far some of them came."""
    return [
        *_size(world, expect),
        *_unclear(world),
        *_alike(world),
        *_incomplete(world),
        *_idle(world),
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


def _idle(world: World) -> Iterator[Found]:
    for process in world.idle:
        sighting = process.seen.get("bootstrap")
        detail = "set NCCL up" if sighting else "wrote lines of NCCL"
        detail += " and joined no communicator"
        entity = Entity(None, process)
        yield entity, Symptom("never-joined", "inconclusive", detail, sighting)


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
