"""Build findings from the evidence of lines and ranks, with the places of the lines."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from envcfg.common.findings import SEVERITIES, EvidenceLine, Finding
from envcfg.log.expectations import Expectations
from envcfg.log.judge.checks import shown_versions
from envcfg.log.judge.rank import told_together
from envcfg.log.judge.reasons import RULE as WARNED
from envcfg.log.judge.reasons import Member, Reasons, followers
from envcfg.log.numbers import first_of, grouped, named, ranks_of, said_of
from envcfg.log.read.losses import RULE as LOSS
from envcfg.log.read.process_facts import Sighting
from envcfg.log.read.rulebook import LogRule
from envcfg.log.state.job_state import JobLog, Occurrence
from envcfg.log.state.process import Process
from envcfg.log.state.world import World
from envcfg.profile.conditions import FACTS, fact_problem
from envcfg.profile.version_conflicts import KnownJob, known_faults

Locate = Callable[[Sequence[Sighting]], Sequence[EvidenceLine]]
Found = tuple[Finding, Sighting | None]


def findings_of(
    job: JobLog,
    world: World,
    symptoms: Sequence[Member],
    reasons: Reasons,
    expect: Expectations,
    locate: Locate,
) -> list[Finding]:
    """Return the findings: causes first, worst first.

    Args:
        job: the facts from its lines.
        world: its largest communicator.
        symptoms: of ranks, and of the job.
        reasons: reasons of the findings.
        expect: expectations that the log must meet.
        locate: returns file and line of sightings, all at once.
    """
    rules = job.rulebook.rules
    results = [
        *_rule_findings(job, world, symptoms, reasons),
        *_symptom_findings(symptoms, rules, reasons),
        *_stack_findings(job, world, expect),
    ]
    sightings = [sighting for _, sighting in results if sighting]
    places = dict(zip(sightings, locate(sightings), strict=False))
    placed = [
        finding._replace(evidence=places.get(sighting)) if sighting else finding
        for finding, sighting in results
    ]
    return sorted(_with_reasons(placed, rules), key=weight_of)


def _with_reasons(
    findings: Sequence[Finding], rules: Mapping[str, LogRule]
) -> Iterator[Finding]:
    """Yield *findings*: those that others explain only follow from them.

    A reason is as severe as the finding that it explains. A rule that was downgraded for
    this job, because the job went on, explains nothing.
    """
    explained = {
        finding.rule: followers(finding.rule, rules)
        for finding in findings
        if finding.rule in rules and finding.severity == rules[finding.rule].severity
    }
    for finding in findings:
        own = explained.get(finding.rule, ())
        severities = [f.severity for f in findings if f.rule in own]
        yield finding._replace(
            severity=min([finding.severity, *severities], key=SEVERITIES.index),
            cause=finding.cause
            and not any(finding.rule in names for names in explained.values()),
        )


def weight_of(finding: Finding) -> tuple[bool, int, int]:
    """Return the place of a finding in order: causes first, worst first."""
    # Errors keep their order, because the first in time is the cause.
    often = 0 if finding.severity == "error" else -finding.count
    return not finding.cause, SEVERITIES.index(finding.severity), often


def ends(rules: Mapping[str, LogRule], finding: Finding) -> bool:
    """Return whether a finding reports the end or the loss of the program, and nothing
    on its network."""
    rule = rules.get(finding.rule)
    is_end = rule is not None and rule.ends and finding.severity == "error"
    return is_end or finding.rule == LOSS


def _rule_findings(
    job: JobLog,
    world: World,
    symptoms: Sequence[Member],
    reasons: Reasons,
) -> list[Found]:
    ranks = {id(entity.process): entity.rank for entity in world.entities}
    warned = any(symptom.rule == WARNED for _, symptom in symptoms)
    firsts = _first_errors(job, warned=warned)
    has_cause = bool(firsts) or warned
    rules = job.rulebook.rules
    explained = {
        name for _, symptom in symptoms for name in rules[symptom.rule].explains
    }
    built: list[Found] = []
    for occurrence in _in_order(job.occurrences.values()):
        rule = occurrence.rule
        holders = occurrence.processes.values()
        words = reasons.words(rule.id, holders)
        # With a known cause every other error may be its consequence.
        follows = rule.severity == "error" and has_cause and occurrence not in firsts
        follows = follows or rule.id in explained
        finding = Finding(
            rule=rule.id,
            severity=rule.severity or "note",
            subject=_subject([(ranks.get(id(holder)), holder) for holder in holders]),
            message=words.meaning,
            fix=words.fix,
            source=words.source,
            count=occurrence.count,
            cause=not follows,
        )
        built.append((finding, occurrence.first))
    return built


def _first_errors(job: JobLog, *, warned: bool) -> list[Occurrence]:
    """Return the errors without another explanation, the first in time first.

    That is the first error of each node. If lines have times, an error that came later
    than another may follow from it. The end of the program is a cause only if there is no
    other.

    Args:
        job: the facts from its lines.
        warned: True if an unknown warning is a cause too.
    """
    # A line that names the culprits explains the line that only reports the hang.
    reasons = {
        name: occurrence
        for occurrence in job.occurrences.values()
        if occurrence.rule.severity == "error"
        for name in occurrence.rule.explains
    }
    errors = (reasons.get(o.rule.id, o) for o in job.first_errors.values())
    firsts = list({id(o): o for o in errors}.values())
    if not firsts and not warned:
        firsts = list({id(o): o for o in job.first_ends.values()}.values())
    firsts = _in_order(firsts)
    # Errors within one second have no reliable order, because clocks differ.
    if firsts and all(first.time for first in firsts):
        return [first for first in firsts if first.time[:19] == firsts[0].time[:19]]
    return firsts


def _in_order(occurrences: Iterable[Occurrence]) -> list[Occurrence]:
    """Return *occurrences* in order: by time if all lines have one, else by position."""
    ordered = sorted(occurrences, key=lambda occurrence: occurrence.order)
    if all(occurrence.time for occurrence in ordered):
        return sorted(
            ordered,
            key=lambda occurrence: (occurrence.time[:10], occurrence.time[11:23]),
        )
    return ordered


def _symptom_findings(
    symptoms: Sequence[Member],
    rules: dict[str, LogRule],
    reasons: Reasons,
) -> list[Found]:
    # Rules without a severity only raise an open question.
    reported = [symptom for symptom in symptoms if rules[symptom[1].rule].severity]
    same = grouped(reported, lambda row: (row[1].rule, row[1].detail))
    built: list[Found] = []
    for (name, _), members in same.items():
        holders = [entity.process for entity, _ in members if entity]
        rule, words = rules[name], reasons.words(name, holders)
        message = told_together([symptom for _, symptom in members])
        people = [(entity.rank, entity.process) for entity, _ in members if entity]
        sighting = next(
            (symptom.sighting for _, symptom in members if symptom.sighting), None
        )
        finding = words.finding(
            _subject(people),
            said_of(named(rank for rank, _ in people) or 2, message),
            rule.severity,
            count=len(members),
            cause=not reasons.explain(name, holders),
        )._replace(rule=name)
        built.append((finding, sighting))
    return built


def _subject(people: Sequence[tuple[int | None, Process]]) -> str:
    ranks = {rank for rank, _ in people if rank is not None}
    hosts = {process.host for _, process in people if process.host}
    return ranks_of(ranks, hosts) if ranks else first_of(hosts) or "job"


def _stack_findings(job: JobLog, world: World, expect: Expectations) -> list[Found]:
    """Return the findings on the library versions in the log.

    They are notes at most: versions that can fail do not prove that this job did.
    """
    processes = list(job.everyone)
    facts: dict[str, str] = {}
    first_shown: Sighting | None = None
    for name, sightings in shown_versions(processes).items():
        # If ranks differ, another finding reports it, and the stack is not unique.
        if name in FACTS and len(sightings) == 1:
            version, sighting = sightings.popitem()
            # Only the leading numbers can be compared: 1.16.1 of 1.16.1-aws.
            number = re.split(r"[^0-9.]", version)[0].strip(".")
            if number and fact_problem("plugin", number) is None:
                facts[name], first_shown = number, first_shown or sighting
    if not facts:
        return []
    providers = {
        name.partition(";")[0] for process in processes for name in process.providers
    }
    settings = {
        name: value for process in processes for name, value in process.settings.items()
    }
    if world.hosts:
        facts["nodes"] = str(len(world.hosts))
    job_facts = KnownJob(
        facts=facts,
        # Several providers mean several stacks, so the profile's provider is taken.
        provider=providers.pop() if len(providers) == 1 else expect.provider,
        env=settings or None,
    )
    return [
        (fault._replace(severity="note"), first_shown)
        for fault in known_faults(job_facts)
    ]
