"""The verdict of a job: the verdict of each rank, and checks over all ranks."""

import re
from collections.abc import Sequence

from envcfg.common.characters import one_line
from envcfg.common.findings import Finding
from envcfg.log.bugs import Bugs
from envcfg.log.expectations import Expectations
from envcfg.log.judge import checks
from envcfg.log.judge.attempt_history import attempts_of
from envcfg.log.judge.cause import FirstEnd, first_ends
from envcfg.log.judge.cause_class import class_of
from envcfg.log.judge.finding_builder import Locate, findings_of
from envcfg.log.judge.last_words import RULE as SURVIVED
from envcfg.log.judge.last_words import (
    error_before,
    last_exception,
    last_words,
    words_of,
)
from envcfg.log.judge.membership import lag_symptoms, member_symptoms, waiting_of
from envcfg.log.judge.next_step import next_step, with_bugs, with_unknown
from envcfg.log.judge.open_questions import unknowns_of
from envcfg.log.judge.outcome import (
    cause_of,
    chained,
    is_of_some_nodes,
    leads,
    of_network,
    owner_of,
    with_interface_first,
)
from envcfg.log.judge.ranks import judge_ranks, rank_reports, told_of, worst_of_each
from envcfg.log.judge.reasons import Member, Reasons
from envcfg.log.judge.summary import ending, job_report, summarize, transports_of
from envcfg.log.read.catalogue import look_up, warned
from envcfg.log.read.line_owner import Owner
from envcfg.log.read.losses import RULE as LOSS
from envcfg.log.read.prefix import parse
from envcfg.log.read.process_facts import Sighting
from envcfg.log.state.batches import (
    PART,
    SEVERAL,
    note_of_starts,
    parts_of,
    with_part,
)
from envcfg.log.state.cold_start import RULE as COMPILED
from envcfg.log.state.job_state import JobLog
from envcfg.log.state.world import World, world_of
from envcfg.log.verdict import (
    EFFECT,
    WORST_FIRST,
    Cause,
    Coverage,
    JobReport,
    LogReport,
    NextStep,
    OpenQuestion,
    Plugin,
    RankReport,
    Verdict,
    errors_of,
)


def judge(
    job: JobLog, expect: Expectations, locate: Locate, reading: Coverage
) -> LogReport:
    """Return the report on *job*; after a bug of envcfg only its errors are reported.

    Args:
        job: the facts from its lines.
        expect: expectations that the log must meet.
        locate: returns file and line of sightings, all at once.
        reading: files and bytes that were read.
    """
    bugs = Bugs(job.bugs.found)
    report = bugs.attempt(
        "the job as a whole",
        lambda: _judge_job(job, expect, locate, reading, bugs),
        None,
    )
    return with_bugs(report or _plain_report(job, reading), bugs)


def _judge_job(
    job: JobLog, expect: Expectations, locate: Locate, reading: Coverage, bugs: Bugs
) -> LogReport:
    """Return the report on *job* with its attempts, jobs and first step."""
    report, world = _judge_whole(job, expect, locate, reading, bugs)
    # A broken job needs no further attempts: they cannot improve its verdict.
    for part in parts_of(job, world) if report.verdict != "broken" else ():
        # A part is another job or attempt, so the expected world size does not apply.
        alone = judge(part, expect._replace(ranks=None), locate, reading)
        report = with_part(report, part, alone, job.rulebook.rules[PART].fix or "")
    starts = note_of_starts(job, job.rulebook.rules[SEVERAL])
    # A note if the first step waited for a compiler.
    start = _found_in_lines(job, locate, COMPILED, "the log", job.cold_start.note)
    notes = (*starts, *start)
    return report._replace(findings=(*report.findings, *notes))


def _found_in_lines(
    job: JobLog,
    locate: Locate,
    id_: str,
    subject: str,
    shown: tuple[str, Sighting] | None,
) -> list[Finding]:
    """Return the finding of rule *id_* on *subject*, with the words and line in *shown*."""
    if shown is None:
        return []
    rule, (evidence,) = job.rulebook.rules[id_], locate([shown[1]])
    return [rule.finding(subject, shown[0], evidence=evidence)]


_WIDE = 200  # characters of a quoted line
_CLAUSES = re.compile(r".*[.,;)](?= )")
_OPEN_END = re.compile(r"(?:, [a-z]+)?[:,;]?$")  # what continues in the next line
# A rule whose words only state that a process ended.
_SAYS_NO_MORE = re.compile(r"ended(?!: \{said)")
_NO_PLUGIN = Plugin(None, None, "unknown")
_NOTHING = JobReport(
    None, (), (), (), None, None, {}, None, _NO_PLUGIN, "unknown", {}, {}
)


def _plain_report(job: JobLog, reading: Coverage) -> LogReport:
    """Return the report after a bug: the rules that the lines match, and no more."""
    rules, subject = [own.rule for own in job.occurrences.values()], "job"
    findings = [rule.finding(subject, rule.meaning) for rule in rules]
    effects = {EFFECT.get(finding.severity): finding.message for finding in findings}
    shown = (verdict for verdict in WORST_FIRST if verdict in effects)
    verdict: Verdict = next(shown, "inconclusive")
    words = effects.get(verdict, "see the lines below")
    return LogReport(
        verdict=verdict,
        network_verdict="inconclusive",
        summary=f"{verdict}: {words}",
        job=_NOTHING,
        ranks=(),
        transports=(),
        findings=tuple(findings),
        unknowns=(),
        coverage=reading,
        next=NextStep(reason=words),
    )


# Each rank is judged alone, then all together, then reasons are added to both. The verdict
# on the network ignores what ended the program. A known end leads the summary, because
# readers want to know it first.
def _judge_whole(
    job: JobLog, expect: Expectations, locate: Locate, reading: Coverage, bugs: Bugs
) -> tuple[LogReport, World]:
    """Return the report on all lines together, and the world that it describes."""
    rules = job.rulebook.rules
    job.settle()
    world = world_of(job, expect)
    judged = judge_ranks(world, expect, bugs)
    together = _shown_together(job, world, expect)
    reasons = Reasons(job.everyone, rules)
    symptoms = reasons.with_reasons([*told_of(judged, world), *together])
    reports = rank_reports(job, world, judged, together, reasons)
    findings = findings_of(job, world, symptoms, reasons, expect, locate)
    # A warning on all ranks if a loss is no number until the end of the log.
    findings += _found_in_lines(job, locate, LOSS, "job", job.losses.lost)
    unknowns = unknowns_of(job, world, symptoms, rules)
    ends = first_ends(job, world)
    first, owner, findings = _with_first_end(job, world, ends[-1], findings, locate)
    unknowns, last = _with_last_words(unknowns, job, first, findings)
    overview = job_report(job, world, reports)
    alone = of_network(findings, rules, first)
    draft = LogReport(
        verdict=_job_verdict(findings, reports, unknowns, overview),
        network_verdict=_job_verdict(alone, reports, unknowns, overview),
        summary="",
        job=overview,
        ranks=worst_of_each(reports),
        transports=transports_of(world),
        findings=tuple(findings),
        unknowns=unknowns,
        waiting=waiting_of(job),
        coverage=reading._replace(
            records=job.records,
            unknown_warnings=sum(
                count
                for count, sighting in job.unknown.values()
                if not look_up(warned(sighting))
            ),
        ),
        attempts=attempts_of(job, ends),
    )
    of_alone = draft._replace(verdict=draft.network_verdict, findings=tuple(alone))
    network = summarize(of_alone, world, symptoms, rules)
    summary, cause = _summary(draft, first, network, job), None
    # A cause is only given for a broken job: others did not end by an error.
    if draft.verdict == "broken":
        cause = cause_of(findings, first, owner)
        cause, summary = _with_quote(cause, summary, first, job)
    report = draft._replace(
        summary=summary,
        cause=cause,
        consequences=tuple(f.rule for f in findings if cause and not f.cause),
    )
    step = next_step(
        report,
        rules,
        first.fingerprint if first else "",
        starts_again=job.endings.starts_again,
    )
    # An error as the last words of a program is no proof, but the best answer there is.
    action = rules[SURVIVED].next if last else None
    return with_unknown(report._replace(next=step), action or "unknown", last), world


def _with_last_words(
    unknowns: tuple[OpenQuestion, ...],
    job: JobLog,
    first: FirstEnd | None,
    findings: Sequence[Finding],
) -> tuple[tuple[OpenQuestion, ...], str]:
    """Return *unknowns* after the last words of a job that ended without a known cause.

    The class of these words comes with them; it is empty without any words.
    """
    progress = job.life.progress
    if job.records or (progress and progress.ended):
        return unknowns, ""
    if first:
        return (), ""  # a job without NCCL lines: its end is the answer
    if errors_of(findings):
        return unknowns, ""
    survived = job.rulebook.rules[SURVIVED]
    words, rule = last_words(job)
    if not words:
        return unknowns, ""
    question = OpenQuestion(words, survived.fix or "")
    return (question, *unknowns), class_of(rule or survived, words)


def _shown_together(job: JobLog, world: World, expect: Expectations) -> list[Member]:
    """Return the symptoms that only all ranks together show."""
    together = [
        *member_symptoms(job, world, expect),
        *checks.job_symptoms(job, world, expect),
        *lag_symptoms(job, world),
    ]
    # Copies of a program explain a wrong number of ranks.
    together.sort(key=lambda member: member[1].rule != checks.COPIES)
    # A job that continued after the problem cannot be broken by it.
    for place, (entity, symptom) in enumerate(together):
        spot = symptom.sighting.spot if symptom.sighting else None
        rule = job.rulebook.rules[symptom.rule]
        if symptom.verdict == "broken" and job.outlives(rule, spot):
            less = symptom._replace(rule="outlived", verdict="inconclusive")
            together[place] = entity, less
    return together


def _with_first_end(
    job: JobLog,
    world: World,
    first: FirstEnd | None,
    findings: list[Finding],
    locate: Locate,
) -> tuple[FirstEnd | None, Owner | None, list[Finding]]:
    """Return the end of the job before network errors, and the findings with it first.

    Without such an end the process of the first error comes with them, if it is known.
    """
    if with_interface := with_interface_first(findings, first, job, world):
        return None, None, with_interface
    if first and leads(first, job):
        return first, None, chained(findings, first, job, locate)
    head = next(iter(errors_of(findings)), None)
    if head and (owner := owner_of(head, first, job)):
        # NCCL's own prefix has named the process before.
        owned = head._replace(
            subject=owner.words if head.subject == "job" else head.subject
        )
        return None, owner, [owned if item is head else item for item in findings]
    if not first and (thrown := last_exception(job)):
        rule = job.rulebook.rules[SURVIVED]
        (place,) = locate([thrown.sighting])
        subject = job.endings.process_of(thrown).words
        note = rule.finding(subject, words_of(thrown), evidence=place)
        return None, None, [*findings, note]
    return None, None, findings


def _with_quote(
    cause: Cause, summary: str, first: FirstEnd | None, job: JobLog
) -> tuple[Cause, str]:
    """Return *cause* with its class, and *summary*, both with the line of the log if they
    only have a rule's words."""
    rules, quote, evidence = job.rulebook.rules, "", cause.evidence
    rule = first.rule if first else rules.get(cause.rule)
    if first and first.rule.consequence and _SAYS_NO_MORE.match(first.rule.says):
        lines = job.endings.lines
        exits = {end.sighting.text for end in lines if end.rule.event != "lacking"}
        quote = error_before(job, first.process.ranks, exits)
    elif (
        rule
        and not rule.says
        and evidence
        # Other rules may have better words for it.
        and any(
            words.meaning in cause.message
            for words in rules.values()
            if words is rule or rule.id in words.explains
        )
    ):
        quote = f": {_without_torn_end(one_line(parse(evidence.text).message))}"
    message = cause.message
    if message in summary and quote[2:] not in message:
        message = f"{cause.message}{quote}"
        clause, *_ = cause.message.partition("; ")  # the rest is in the finding
        summary = summary.replace(cause.message, f"{clause}{quote}", 1)
    some = is_of_some_nodes(cause, job)
    rule = rules.get(cause.rule)
    class_ = class_of(rule, message, some_nodes=some) if rule else ""
    return cause._replace(message=message, class_=class_), summary


def _without_torn_end(words: str) -> str:
    """Return *words* up to the end of a clause, if they are long or go on in a new line."""
    words = words.strip()
    if len(words) > _WIDE and (clauses := _CLAUSES.match(words[:_WIDE])):
        words = clauses[0]
    return _OPEN_END.sub("", words[:_WIDE])


def _summary(
    report: LogReport, first: FirstEnd | None, network: str, job: JobLog
) -> str:
    """Return the first line: the end of the program, then the *network*."""
    if first:
        parts = [f"broken: {first.words}", first.other_ranks]
        # PyTorch's error after a failure of NCCL only repeats the network's verdict.
        twice = first.rule.consequence and report.network_verdict == "broken"
        parts += [f"network {network}"] if job.records and not twice else []
        return "; ".join(filter(None, parts))
    if report.verdict != report.network_verdict:
        end = ending(report.findings, job.rulebook.rules)
        return f"{report.verdict}: {end}; network {network}"
    return network


def _job_verdict(
    findings: Sequence[Finding],
    reports: Sequence[RankReport],
    unknowns: Sequence[object],
    overview: JobReport,
) -> Verdict:
    effects = {EFFECT.get(finding.severity) for finding in findings}
    if "broken" in effects:
        return "broken"
    if "degraded" in effects:
        return "degraded"
    # Mixed networks without a finding are unclear, and unclear must not be "ok".
    if "mixed" in (overview.network, overview.provider):
        return "inconclusive"
    if unknowns or not reports or any(report.verdict != "ok" for report in reports):
        return "inconclusive"
    return "ok"
