"""Open questions: the facts that a log does not show, most important first."""

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from envcfg.common.characters import one_line
from envcfg.log.judge.reasons import Member
from envcfg.log.numbers import (
    count_of,
    grouped,
    named,
    number_ranges,
    ranks_of,
    said_of,
)
from envcfg.log.read.rulebook import LogRule
from envcfg.log.state.job_state import JobLog
from envcfg.log.state.traffic import Entity
from envcfg.log.state.world import World
from envcfg.log.verdict import OpenQuestion

_NO_LINES = "no-nccl-lines"
_WIDE = 160  # characters of a quoted line
# Kinds of the room of a job. Pairs of ranks are missing: only the picture uses them.
_KEPT = {
    "process": "processes",
    "line": "notable lines",
    "channel": "channels",
    "communicator": "communicators",
}


def unknowns_of(
    job: JobLog,
    world: World,
    symptoms: Sequence[Member],
    rules: Mapping[str, LogRule],
) -> tuple[OpenQuestion, ...]:
    """Return the facts that the log does not show, most important first."""
    # Gaps come first: they explain most doubts about single ranks.
    questions = [*_gaps(job, world), *_doubts(job)]
    doubts = [
        (e, symptom) for e, symptom in symptoms if symptom.verdict == "inconclusive"
    ]
    for (name, detail), same in grouped(
        doubts, lambda row: (row[1].rule, row[1].detail)
    ).items():
        people = [entity for entity, _ in same if entity]
        text = said_of(named(entity.rank for entity in people), detail)
        questions.append((name, f"{who(people)} {text}"))
    return tuple(
        OpenQuestion(question, rules[name].fix or "") for name, question in questions
    )


def _gaps(job: JobLog, world: World) -> Iterator[tuple[str, str]]:
    """Yield the rule and the words of each gap in the log.

    Without any usable line of NCCL one question is enough, because all others would
    follow from it. Otherwise each kind of lost or doubtful line is a question.
    """
    people = job.everyone
    informs = any(p.informed or p.networks for p in people)
    if job.quoted and not informs:
        yield "lines-quoted", "all lines of NCCL in the log are quoted"
        return
    if not job.records and not any(p.seen for p in people):
        question = "the log has no line of NCCL or RCCL"
        rules = job.rulebook.rules.values()
        # A rule may know why there are no lines, such as a failed start of the
        # container.
        for rule in (e for e in rules if e.id in job.occurrences):
            if _NO_LINES in rule.explains:
                yield rule.id, f"{question}: {rule.meaning}"
                return
        parts = [
            f"{'standard input' if name == '-' else os.path.basename(name)} is {kind}"
            for name, kind in job.kinds.items()
        ]
        words = ", ".join(parts[:3])
        if words and not job.tails:
            reasons = "a wrong path, a full quota, or the job did not start"
            yield "log-empty", f"{words}: {reasons}"
            return
        yield _NO_LINES, f"{question}: {words}" if words else question
        return
    if not informs:
        yield "no-info-lines", "NCCL wrote warnings only, no INFO line"
    for rule in job.doubted:
        yield "outlived", f"whether this did harm, as steps follow it: {rule.meaning}"
    if job.deduplicated:
        lines = count_of(job.deduplicated, "line")
        yield "deduplicated", f"Ray left out {lines} that other workers wrote too"
    if job.cut:
        lines = count_of(job.cut, "line")
        yield "line-cut", f"the end of {lines} that is longer than can be looked at"
    if beyond := [kind for kind in _KEPT if kind in job.room.refused]:
        kinds = " and ".join(_KEPT[kind] for kind in beyond)
        yield "room-spent", f"the log has more {kinds} than check-log keeps"
    yield from _absent(world)


def _doubts(job: JobLog) -> Iterator[tuple[str, str]]:
    """Yield the first line that may show an end of the job."""
    for sighting in job.doubts[:1]:
        many = f" (1 of {len(job.doubts)} such lines)" if job.doubts[1:] else ""
        words = one_line(sighting.text.strip()[:_WIDE])
        yield "outlived", f"whether the job ended at this line{many}: {words}"


def _absent(world: World) -> Iterator[tuple[str, str]]:
    """Yield the ranks, of the world or of other communicators, that are not in the log."""
    total = max((*world.present[-1:], *world.missing[-1:]), default=-1) + 1
    if world.size is None:
        yield "world-unknown", "the log does not say how many ranks the job has"
    if world.missing:
        many = count_of(len(world.missing), "rank")
        which = number_ranges(world.missing)
        are = "is" if len(world.missing) == 1 else "are"
        where = "the log"
        if world.islands > 1:
            where = f"all {world.attempts} communicators of that size"
        # Of several attempts, some may have lines of these ranks.
        elif not {*world.missing}.isdisjoint(world.present):
            where = f"all {world.attempts} attempts"
        yield "ranks-missing", f"{many} of {total} {are} not in {where} ({which})"
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
