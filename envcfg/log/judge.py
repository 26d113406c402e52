"""The verdict of a job: every rank's verdict, and what only all of them together show."""

from collections.abc import Sequence
from typing import NamedTuple

from envcfg.findings import Finding
from envcfg.log import checks
from envcfg.log.batches import PART, parts_of, with_part
from envcfg.log.catalogue import look_up, warned
from envcfg.log.cause import first_end
from envcfg.log.expectations import Expectations
from envcfg.log.found import Locate, findings_of
from envcfg.log.job import Job
from envcfg.log.membership import lag_symptoms, member_symptoms, waiting_of
from envcfg.log.numbers import grouped, said_of
from envcfg.log.outcome import chained, leads, of_network, with_cause
from envcfg.log.rank import Symptom, judge_rank
from envcfg.log.reasons import Reasons
from envcfg.log.summary import ending, job_report, summarize, transports_of
from envcfg.log.traffic import Entity, is_one_way
from envcfg.log.unknowns import unknowns_of
from envcfg.log.verdict import (
    EFFECT,
    Coverage,
    JobReport,
    LogReport,
    RankReport,
    Verdict,
    is_worse,
)
from envcfg.log.world import World, world_of


class Read(NamedTuple):
    """What was read: how many files, and bytes after decompression."""

    files: int
    size: int


def judge(job: Job, expect: Expectations, locate: Locate, read: Read) -> LogReport:
    """Return what *job* comes to.

    Args:
        job: everything that its lines said.
        expect: what the log must show.
        locate: gives file and line of sightings, all at once.
        read: how much was read.
    """
    report, world = _judge_whole(job, expect, locate, read)
    for part in parts_of(job, world) if report.verdict != "broken" else ():
        # A part is another job, or another attempt: of the world's size it says nothing.
        alone = judge(part, expect._replace(ranks=None), locate, read)
        report = with_part(report, part, alone, job.rulebook.rules[PART].fix or "")
    return report


def _judge_whole(
    job: Job, expect: Expectations, locate: Locate, read: Read
) -> tuple[LogReport, World]:
    """Return the report on all lines together, and the ranks that it is of.

    First each rank by itself, then what only all of them together show, and reasons for
    both. The verdict on the network is made without what ended the program; where that is
    known it leads the summary, as the reader wants to know it first.
    """
    job.settle()
    world = world_of(job, expect)
    one_way = is_one_way(world.entities) and not expect.gdr
    judged = [
        (entity, *judge_rank(entity, world, expect, one_way=one_way))
        for entity in world.entities
    ]
    judged = _without_torn(judged, world)
    symptoms: list[tuple[Entity | None, Symptom]] = []
    for holder, _, found in judged:
        told = found
        if world.complete and holder.rank is None:
            # Where all ranks have lines of their own, lines without a process may be words
            # of a script or a person: what they say is a doubt, and no more.
            told = [each for each in found if each.verdict != "inconclusive"]
            if told and holder.process.pid is None:
                told = [each for each in found if each.rule == "prefix-missing"]
        symptoms += [(holder, each) for each in told]
    together = [
        *member_symptoms(job, world, expect),
        *checks.job_symptoms(job, world, expect),
        *lag_symptoms(job, world),
    ]
    reasons = Reasons(job.everyone, job.rulebook.rules)
    for at, (entity, symptom) in enumerate(together):
        spot = symptom.sighting.spot if symptom.sighting else None
        rule = job.rulebook.rules[symptom.rule]
        if symptom.verdict == "broken" and job.outlives(rule, spot):
            less = symptom._replace(rule="outlived", verdict="inconclusive")
            together[at] = entity, less
    symptoms = reasons.with_reasons([*symptoms, *together])
    shared = grouped(together, lambda each: each[0])
    broken = {
        process.key: reasons.words(occurrence.rule.id, [process]).meaning
        for occurrence in job.occurrences.values()
        if occurrence.rule.severity == "error" and not occurrence.rule.ends
        for process in occurrence.processes.values()
    }
    reports = []
    for entity, one, _ in judged:
        kept = one.verdict == "degraded" and entity.process.pid is not None
        if world.complete and entity.rank is None and not kept:
            continue
        # What the job shows of its rank counts, if that is worse.
        worst, reason = one.verdict, one.reason
        if error := broken.get(entity.process.key):
            worst, reason = "broken", error
        for _, symptom in shared.get(entity, ()):
            if is_worse(symptom.verdict, worst):
                worst, reason = symptom.verdict, said_of(1, symptom.said)
        reports.append(one._replace(verdict=worst, reason=reason))
    # The worst of each rank: a log may hold a job that was started twice.
    of_rank: dict[int, RankReport] = {}
    for each in reports:
        if is_worse(each.verdict, of_rank.setdefault(each.rank, each).verdict):
            of_rank[each.rank] = each
    of_rank.pop(-1, None)
    rules = job.rulebook.rules
    findings = findings_of(job, world, symptoms, reasons, expect, locate)
    unknowns = unknowns_of(job, world, symptoms, rules)
    first = first_end(job, world)
    if first and leads(first, job):
        findings = chained(findings, first, job, locate)
        # Of a job without a line of NCCL, what it died of is the answer.
        unknowns = unknowns if job.records else ()
    else:
        first = None
    overview = job_report(job, world, reports)
    alone = of_network(findings, rules, first)
    network = _job_verdict(alone, reports, unknowns, overview)
    report = LogReport(
        verdict=_job_verdict(findings, reports, unknowns, overview),
        network_verdict=network,
        summary="",
        job=overview,
        ranks=tuple(of_rank[rank] for rank in sorted(of_rank)),
        transports=transports_of(world),
        findings=tuple(findings),
        unknowns=unknowns,
        waiting=waiting_of(job),
        coverage=Coverage(
            read.files,
            read.size,
            job.records,
            sum(
                count
                for count, seen in job.unknown.values()
                if not look_up(warned(seen))
            ),
        ),
    )
    said = summarize(
        report._replace(verdict=network, findings=tuple(alone)), world, symptoms, rules
    )
    if first:
        parts = [f"broken: {first.words}", first.others]
        # What PyTorch throws as NCCL has failed says it of the network, too.
        twice = first.rule.consequence and network == "broken"
        parts += [f"network {said}"] if job.records and not twice else []
        said = "; ".join(filter(None, parts))
    elif report.verdict != network:
        said = f"{report.verdict}: {ending(findings, rules)}; network {said}"
    if report.verdict == "broken":
        report = with_cause(report, rules, first)
    return report._replace(summary=said), world


_Judged = tuple[Entity, RankReport, list[Symptom]]
# What one line tells, of a rank whose channels show that it takes part.
_ON_A_LINE = {"network-unknown", "provider-unknown"}


def _without_torn(judged: Sequence[_Judged], world: World) -> list[_Judged]:
    """Return *judged* without doubts of ranks whose line was torn, and channels tell all.

    All others must be sure, and of one network, and no more ranks may lack a line than
    lines are torn. With GPU RDMA on its channels a rank cannot have a provider of TCP.
    """
    doubtful = [
        each for each in judged if _ON_A_LINE & {found.rule for found in each[2]}
    ]
    ways = {(r.network, r.provider) for _, r, _ in judged if r.verdict == "ok"}
    if not world.complete or len(ways) != 1 or len(doubtful) > world.torn:
        return list(judged)
    network, provider = ways.pop()
    sure = {"verdict": "ok", "reason": "", "network": network, "provider": provider}

    def mended(one: _Judged) -> _Judged:
        entity, report, found = one
        local = entity.process.edges and not entity.process.channels
        torn = found and all(each.rule in _ON_A_LINE for each in found)
        if torn and (report.gdr == "yes" or local):
            return entity, report._replace(**sure), []  # type: ignore[arg-type]
        return one

    return list(map(mended, judged))


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
    if "mixed" in (overview.network, overview.provider):
        return "inconclusive"
    if unknowns or not reports or any(each.verdict != "ok" for each in reports):
        return "inconclusive"
    return "ok"
