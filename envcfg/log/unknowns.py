"""What a log does not show, in questions that stay open, the most important first."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from envcfg.log.job import Job
from envcfg.log.numbers import (
    count_of,
    grouped,
    named,
    number_ranges,
    ranks_of,
    said_of,
)
from envcfg.log.rank import Symptom
from envcfg.log.rulebook import Rule
from envcfg.log.traffic import Entity
from envcfg.log.verdict import Unknown
from envcfg.log.world import World

_NO_LINES = "no-nccl-lines"
# Kinds of the room of a job. Pairs of ranks are none: they are for the report's picture.
_KEPT = {
    "process": "processes",
    "line": "notable lines",
    "channel": "channels",
    "communicator": "communicators",
}


def unknowns_of(
    job: Job,
    world: World,
    symptoms: Sequence[tuple[Entity | None, Symptom]],
    rules: Mapping[str, Rule],
) -> tuple[Unknown, ...]:
    """Return what the log does not show, the most important first."""
    found = [*_gaps(job, world)]
    doubts = [(e, each) for e, each in symptoms if each.verdict == "inconclusive"]
    for (name, detail), same in grouped(
        doubts, lambda each: (each[1].rule, each[1].detail)
    ).items():
        people = [entity for entity, _ in same if entity]
        said = said_of(named(entity.rank for entity in people), detail)
        found.append((name, f"{who(people)} {said}"))
    return tuple(Unknown(what, rules[name].fix or "") for name, what in found)


def _gaps(job: Job, world: World) -> Iterator[tuple[str, str]]:
    people = job.everyone
    if not job.records and not any(p.seen for p in people):
        what = "the log holds no line of NCCL or RCCL"
        rules = job.rulebook.rules.values()
        for rule in (e for e in rules if e.id in job.occurrences):
            if _NO_LINES in rule.explains:
                yield rule.id, f"{what}: {rule.meaning}"
                return
        said = []
        for name, kind in job.kinds.items():
            called = "standard input" if name == "-" else os.path.basename(name)
            said.append(f"{called} is {kind}")
        yield _NO_LINES, f"{what}: {', '.join(said[:3])}" if said else what
        return
    if not any(p.informed or p.networks for p in people):
        yield "no-info-lines", "NCCL wrote warnings only, no INFO line"
    for rule in job.doubted:
        yield "outlived", f"whether this did harm, as steps follow it: {rule.meaning}"
    if job.deduplicated:
        lines = count_of(job.deduplicated, "line")
        yield "deduplicated", f"Ray left out {lines} that other workers wrote too"
    if job.cut:
        lines = count_of(job.cut, "line")
        yield "line-cut", f"the end of {lines} that is longer than can be looked at"
    if beyond := [each for each in _KEPT if each in job.room.refused]:
        kinds = " and ".join(_KEPT[each] for each in beyond)
        yield "room-spent", f"the log has more {kinds} than check-log keeps"
    yield from _absent(world)


def _absent(world: World) -> Iterator[tuple[str, str]]:
    """Yield which ranks, of the world or of other communicators, are not in the log."""
    total = max((*world.seen[-1:], *world.missing[-1:]), default=-1) + 1
    if world.size is None:
        yield "world-unknown", "the log does not say how many ranks the job has"
    if world.missing:
        many = count_of(len(world.missing), "rank")
        which = number_ranges(world.missing)
        are = "is" if len(world.missing) == 1 else "are"
        what = f"{many} of {total} {are} not in the log ({which})"
        if world.attempts > 1:
            parts = "attempts" if world.islands == 1 else "communicators of that size"
            what = (
                f"{many} of {total} not in each of {world.attempts} {parts} ({which})"
            )
        yield "ranks-missing", what
    absent = Counter(group.nranks for group in world.partial)
    for nranks, count in sorted(absent.items()):
        groups = "a communicator" if count == 1 else f"{count} communicators"
        yield "ranks-missing", f"ranks of {groups} of {nranks} are not in the log"


def who(entities: Sequence[Entity]) -> str:
    """Name the ranks, or the processes where ranks are unknown."""
    if ranks := {e.rank for e in entities if e.rank is not None}:
        return ranks_of(ranks)
    if len(entities) == 1:
        return entities[0].subject
    return count_of(len(entities), "process", "processes") if entities else "NCCL"
