"""From what lines and ranks showed to findings, with the places of the lines."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence

from envcfg.findings import Evidence, Finding
from envcfg.log.expectations import Expectations
from envcfg.log.facts import Sighting
from envcfg.log.job import Job, Occurrence
from envcfg.log.numbers import first_of, grouped, named, ranks_of, said_of
from envcfg.log.process import Process
from envcfg.log.rank import Symptom, told_together
from envcfg.log.reasons import RULE as WARNED
from envcfg.log.reasons import Reasons
from envcfg.log.rulebook import Rule
from envcfg.log.traffic import Entity
from envcfg.log.world import World
from envcfg.profile.conditions import FACTS, fact_problem
from envcfg.profile.stacks import Job as Known
from envcfg.profile.stacks import known_faults

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
        *_stack_findings(job, expect),
    ]
    seen = [sighting for _, sighting in found if sighting]
    places = dict(zip(seen, locate(seen), strict=True))
    placed = [
        finding._replace(evidence=places[sighting]) if sighting else finding
        for finding, sighting in found
    ]
    return sorted(placed, key=_weight)


def _weight(finding: Finding) -> tuple[bool, int, int]:
    order = ("error", "warning", "note")
    # Errors stay in their order: the first in time is the cause.
    often = 0 if finding.severity == "error" else -finding.count
    return not finding.cause, order.index(finding.severity), often


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
    firsts = _first_errors(job, warned=warned)
    has_cause = bool(firsts) or warned
    rules = job.rulebook.rules
    explained = {name for _, each in symptoms for name in rules[each.rule].explains}
    found: list[Found] = []
    for occurrence in _in_order(job.occurrences.values()):
        rule = occurrence.rule
        if rule.severity is None:
            continue
        holders = occurrence.processes.values()
        words = reasons.words(rule.id, holders)
        follows = rule.severity == "error" and has_cause and occurrence not in firsts
        follows = follows or rule.id in explained
        finding = Finding(
            rule=rule.id,
            severity=rule.severity,
            subject=_subject([(ranks.get(id(each)), each) for each in holders]),
            message=words.meaning,
            fix=words.fix,
            source=words.source,
            count=occurrence.count,
            cause=not follows,
        )
        found.append((finding, occurrence.first))
    return found


def _first_errors(job: Job, *, warned: bool) -> list[Occurrence]:
    """Return the errors that no other explains, the first in time first.

    That is the first of each node, unless lines tell their time: then one that came later
    than another may follow from it. What ended the program is a cause where nothing else
    is.

    Args:
        job: what the log said.
        warned: a warning that no rule knows is a cause, too.
    """
    firsts = list({id(o): o for o in job.first_errors.values()}.values())
    if not firsts and not warned:
        firsts = list({id(o): o for o in job.first_ends.values()}.values())
    firsts = _in_order(firsts)
    if firsts and all(each.time for each in firsts):
        return [each for each in firsts if each.time[:19] == firsts[0].time[:19]]
    return firsts


def _in_order(occurrences: Iterable[Occurrence]) -> list[Occurrence]:
    """Return *occurrences* as they came: by time where all tell it, else as they stand."""
    given = sorted(occurrences, key=lambda each: each.order)
    if all(each.time for each in given):
        return sorted(given, key=lambda each: (each.time[:10], each.time[11:23]))
    return given


def _symptom_findings(
    symptoms: Sequence[tuple[Entity | None, Symptom]],
    rules: dict[str, Rule],
    reasons: Reasons,
) -> list[Found]:
    # The others are only something unknown.
    told = [each for each in symptoms if rules[each[1].rule].severity]
    same = grouped(told, lambda each: (each[1].rule, each[1].detail))
    found: list[Found] = []
    for (name, _), members in same.items():
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
    ranks = {rank for rank, _ in people if rank is not None}
    hosts = {process.host for _, process in people if process.host}
    return ranks_of(ranks, hosts) if ranks else first_of(hosts) or "job"


def _stack_findings(job: Job, expect: Expectations) -> list[Found]:
    """Return what is known of the versions that the log shows.

    A note at most: that these versions can fail does not say that this job has.
    """
    processes = list(job.everyone)
    facts: dict[str, str] = {}
    shown: Sighting | None = None
    for name, seen in _shown_versions(processes).items():
        # Where ranks differ there is a finding already, and no one stack.
        if name in FACTS and len(seen) == 1:
            version, sighting = seen.popitem()
            # What can be compared of it: 1.16.1 of 1.16.1-aws.
            found = re.match(r"[0-9.]*", version)
            number = found[0].strip(".") if found else ""
            if number and fact_problem("plugin", number) is None:
                facts[name], shown = number, shown or sighting
    if not facts:
        return []
    providers = {
        name.partition(";")[0] for each in processes for name in each.providers
    }
    settings = {
        name: value for each in processes for name, value in each.settings.items()
    }
    if nodes := len({each.host for each in processes if each.host and each.pid}):
        facts["nodes"] = str(nodes)
    known = Known(
        facts=facts,
        provider=providers.pop() if len(providers) == 1 else expect.provider,
        env=settings or None,
    )
    return [(each._replace(severity="note"), shown) for each in known_faults(known)]


def _shown_versions(processes: list[Process]) -> dict[str, dict[str, Sighting | None]]:
    """Return the versions by library, each with the line that shows it."""
    found: dict[str, dict[str, Sighting | None]] = {}
    for process in processes:
        for library, versions in process.versions.items():
            for version in versions:
                sighting = process.seen.get(f"version {library} {version}")
                found.setdefault(library, {}).setdefault(version, sighting)
        if process.package:
            sighting = process.seen.get("plugin-package")
            found.setdefault("plugin", {}).setdefault(process.package[-1], sighting)
    return found
