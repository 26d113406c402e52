"""From what lines and ranks showed to findings, with the places of the lines."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from envcfg.findings import Evidence, Finding
from envcfg.log.errors import first_errors, in_order
from envcfg.log.expectations import Expectations
from envcfg.log.job import Job, Occurrence
from envcfg.log.numbers import first_of, named, number_ranges, said_of
from envcfg.log.process import Process, Sighting
from envcfg.log.rank import Symptom, told_together
from envcfg.log.reasons import Reasons
from envcfg.log.rulebook import Rule
from envcfg.log.stack import stack_findings
from envcfg.log.traffic import Entity
from envcfg.log.warned import RULE as WARNED
from envcfg.log.world import World

Locate = Callable[[Sequence[Sighting]], Sequence[Evidence]]
Found = tuple[Finding, Sighting | None]


def findings_of(
    job: Job,
    world: World,
    symptoms: Sequence[tuple[Entity | None, Symptom]],
    reasons: Reasons,
    expect: Expectations,
    locate: Locate,
) -> list[Finding]:
    """Return the findings: causes first, worst first.

    Args:
        job: everything that its lines said.
        world: its largest communicator.
        symptoms: of ranks, and of the job.
        reasons: for what is found.
        expect: what the log must show.
        locate: gives file and line of sightings, all at once.
    """
    found = [
        *_rule_findings(job, world, symptoms, reasons),
        *_symptom_findings(symptoms, job.rulebook.rules, reasons),
        *stack_findings(job, expect),
    ]
    return sorted(_placed(found, locate), key=_weight)


def ends(rules: Mapping[str, Rule], finding: Finding) -> bool:
    """Return whether a finding says what ended the program, and nothing of its network."""
    known = rules.get(finding.rule)
    return known is not None and known.ends and finding.severity == "error"


def _rule_findings(
    job: Job,
    world: World,
    symptoms: Sequence[tuple[Entity | None, Symptom]],
    reasons: Reasons,
) -> list[Found]:
    ranks = {id(entity.process): entity.rank for entity in world.entities}
    warned = any(symptom.rule == WARNED for _, symptom in symptoms)
    firsts = first_errors(job, warned=warned)
    has_cause = bool(firsts) or warned
    found: list[Found] = []
    for occurrence in in_order(job.occurrences.values()):
        rule = occurrence.rule
        if rule.severity is None:
            continue
        words = reasons.words(rule.id, occurrence.processes.values())
        follows = rule.severity == "error" and has_cause and occurrence not in firsts
        finding = Finding(
            rule=rule.id,
            severity=rule.severity,
            subject=_subject(_people(occurrence, ranks)),
            message=words.meaning,
            fix=words.fix,
            source=words.source,
            count=occurrence.count,
            cause=not follows,
        )
        found.append((finding, occurrence.first))
    return found


def _people(
    occurrence: Occurrence, ranks: dict[int, int | None]
) -> list[tuple[int | None, Process]]:
    return [(ranks.get(id(p)), p) for p in occurrence.processes.values()]


def _symptom_findings(
    symptoms: Sequence[tuple[Entity | None, Symptom]],
    rules: dict[str, Rule],
    reasons: Reasons,
) -> list[Found]:
    grouped: dict[tuple[str, str], list[tuple[Entity | None, Symptom]]] = {}
    for entity, symptom in symptoms:
        if rules[symptom.rule].severity:  # the others are only something unknown
            key = symptom.rule, symptom.detail
            grouped.setdefault(key, []).append((entity, symptom))
    found: list[Found] = []
    for (name, _), members in grouped.items():
        holders = [entity.process for entity, _ in members if entity]
        rule, words = rules[name], reasons.words(name, holders)
        said = told_together([each for _, each in members])
        people = [(entity.rank, entity.process) for entity, _ in members if entity]
        sighting = next((each.sighting for _, each in members if each.sighting), None)
        finding = Finding(
            rule=name,
            severity=rule.severity or "note",
            subject=_subject(people) if people else "job",
            message=said_of(named(rank for rank, _ in people) or 2, said),
            fix=words.fix,
            source=words.source,
            why=words.meaning,
            count=len(members),
            cause=not reasons.explain(name, holders),
        )
        found.append((finding, sighting))
    return found


def _subject(people: Sequence[tuple[int | None, Process]]) -> str:
    ranks = sorted({rank for rank, _ in people if rank is not None})
    named = first_of({process.host for _, process in people if process.host})
    if not ranks:
        return named or "job"
    where = f" ({named})" if named else ""
    return f"rank{'s' if len(ranks) > 1 else ''} {number_ranges(ranks)}{where}"


def _placed(found: Sequence[Found], locate: Locate) -> list[Finding]:
    """Return the findings, with the places of the lines that show them."""
    seen = [sighting for _, sighting in found if sighting]
    places = dict(zip(seen, locate(seen), strict=True))
    return [
        finding._replace(evidence=places[sighting]) if sighting else finding
        for finding, sighting in found
    ]


def _weight(finding: Finding) -> tuple[bool, int, int]:
    order = ("error", "warning", "note")
    # Errors stay in their order: the first in time is the cause.
    often = 0 if finding.severity == "error" else -finding.count
    return not finding.cause, order.index(finding.severity), often
