"""Warnings that an error went up behind: they are its reason, whatever their words.

NCCL says of each function through which an error goes up where that is (``proxy.cc:700 ->
2``). It does so for what it only tries, too; then the process goes on, and tells what it
does next.
"""

from collections.abc import Iterator
from typing import NamedTuple

from envcfg.log.job import Job
from envcfg.log.process import GAVE_UP, Process, Raised
from envcfg.log.rank import Symptom
from envcfg.log.traffic import Entity
from envcfg.log.world import World

RULE = "warning-then-failed"
_WORDS = 100  # characters of a warning that a finding repeats
_WARN = "NCCL WARN "


class Reason(NamedTuple):
    """A warning that an error followed, and the processes in which it did."""

    words: str
    raised: Raised
    processes: tuple[Process, ...]


def reasons_of(job: Job) -> dict[str, Reason]:
    """Return the warnings that errors followed, by their shape.

    Where an error says by itself what it is, warnings before it are none of its reasons.
    """
    found: dict[str, Reason] = {}
    for process in job.everyone:
        if process.host in job.first_errors or process.is_anyone:
            continue
        for raised in process.raised.values():
            if raised.over or (raised.harmless and not raised.files & GAVE_UP):
                continue
            known = found.get(raised.shape, Reason(_words(raised), raised, ()))
            holders = (*known.processes, process)
            found[raised.shape] = known._replace(processes=holders)
    if not found and not job.first_errors and _is_asked_for(job):
        first = next(_warnings(job), None)
        return {first.shape: Reason(_words(first), first, ())} if first else {}
    return found


def warned_symptoms(job: Job, world: World) -> Iterator[tuple[Entity | None, Symptom]]:
    """Yield a symptom for each process that gave up behind a warning."""
    entities = {id(entity.process): entity for entity in world.entities}
    for reason in reasons_of(job).values():
        detail = f"warned, and an error followed: {reason.words}"
        symptom = Symptom(RULE, "broken", detail, reason.raised.sighting)
        if not reason.processes:
            yield None, symptom._replace(detail=f"NCCL {detail}")
        for process in reason.processes:
            yield entities.get(id(process), Entity(None, process)), symptom


def _warnings(job: Job) -> Iterator[Raised]:
    """Yield the warnings that may be a reason: those that no rule knows come first."""
    for shape, (_, sighting) in job.unknown.items():
        yield Raised(shape, sighting, harmless=False, over=False)
    for process in job.everyone:
        for warning in process.warned.values():
            if not (warning.harmless or warning.over):
                yield warning


def _words(raised: Raised) -> str:
    words = raised.sighting.text.partition(_WARN)[2] or raised.sighting.text
    return words.strip()[:_WORDS]


def _is_asked_for(job: Job) -> bool:
    """Return whether there is an error that only says that a warning tells its reason."""
    rule = job.rulebook.rules.get(RULE)
    return rule is not None and not job.occurrences.keys().isdisjoint(rule.explains)
