"""All ranks of a job: the verdict of each alone, and then with the evidence of the job."""

from collections.abc import Sequence
from functools import partial

from envcfg.log.bugs import Bugs
from envcfg.log.expectations import Expectations
from envcfg.log.judge.rank import Symptom, judge_rank
from envcfg.log.judge.reasons import Member, Reasons
from envcfg.log.numbers import grouped, said_of
from envcfg.log.state.job_state import JobLog
from envcfg.log.state.traffic import Entity, is_one_way
from envcfg.log.state.world import World
from envcfg.log.verdict import RankReport, is_worse

Judged = tuple[Entity, RankReport, list[Symptom]]


def judge_ranks(world: World, expect: Expectations, bugs: Bugs) -> list[Judged]:
    """Return each rank of *world* with its report and symptoms; without those that a bug
    of envcfg stops."""
    one_way = is_one_way(world.entities) and not expect.gdr

    def judge_one(entity: Entity) -> Judged:
        return entity, *judge_rank(entity, world, expect, one_way=one_way)

    rows = (
        bugs.attempt("the network of a rank", partial(judge_one, entity), None)
        for entity in world.entities
    )
    judged = [row for row in rows if row]
    return _without_torn(judged, world)


def told_of(judged: Sequence[Judged], world: World) -> list[Member]:
    """Return the symptoms that count, each with its rank.

    If every rank has its own lines, lines without a process may be words of a script or a
    person, and are only a doubt.
    """
    symptoms: list[Member] = []
    for entity, _, own in judged:
        lines = own
        if world.complete and entity.rank is None:
            lines = [symptom for symptom in own if symptom.verdict != "inconclusive"]
            if lines and entity.process.pid is None:
                lines = [symptom for symptom in own if symptom.rule == "prefix-missing"]
        symptoms += [(entity, symptom) for symptom in lines]
    return symptoms


def rank_reports(
    job: JobLog,
    world: World,
    judged: Sequence[Judged],
    together: Sequence[Member],
    reasons: Reasons,
) -> list[RankReport]:
    """Return the report of each rank; evidence of the job replaces it if it is worse."""
    shared = grouped(together, lambda member: member[0])
    broken = {
        process.key: reasons.words(occurrence.rule.id, [process]).meaning
        for occurrence in job.occurrences.values()
        if occurrence.rule.severity == "error" and not occurrence.rule.ends
        for process in occurrence.processes.values()
    }
    reports = []
    for entity, report, _ in judged:
        is_kept = report.verdict == "degraded" and entity.process.pid is not None
        # Without a rank such lines are kept only if they show a problem of a process.
        if world.complete and entity.rank is None and not is_kept:
            continue
        worst, reason = report.verdict, report.reason
        if error := broken.get(entity.process.key):
            worst, reason = "broken", error
        for _, symptom in shared.get(entity, ()):
            if is_worse(symptom.verdict, worst):
                worst, reason = symptom.verdict, said_of(1, symptom.text)
        # Of thousands of ranks, few reports change; the others are kept once.
        is_same = (worst, reason) == (report.verdict, report.reason)
        own = report if is_same else report._replace(verdict=worst, reason=reason)
        reports.append(own)
    return reports


def worst_of_each(reports: Sequence[RankReport]) -> tuple[RankReport, ...]:
    """Return the worst report of each rank, because a log may hold several attempts."""
    of_rank: dict[int, RankReport] = {}
    for report in reports:
        if is_worse(report.verdict, of_rank.setdefault(report.rank, report).verdict):
            of_rank[report.rank] = report
    of_rank.pop(-1, None)
    return tuple(of_rank[rank] for rank in sorted(of_rank))


# Missing facts that come from one line: if it is torn, the rank may still be fine.
_ON_A_LINE = {"network-unknown", "provider-unknown"}


def _without_torn(judged: Sequence[Judged], world: World) -> list[Judged]:
    """Return *judged* without doubts that a torn line explains, if channels are complete.

    All other ranks must be certain and use one network, and no more ranks may lack a line
    than lines are torn. A rank with GPU RDMA on its channels cannot use a TCP provider.
    """
    doubtful = [
        row for row in judged if _ON_A_LINE & {symptom.rule for symptom in row[2]}
    ]
    ways = {(r.network, r.provider) for _, r, _ in judged if r.verdict == "ok"}
    if not world.complete or len(ways) != 1 or len(doubtful) > world.torn:
        return list(judged)
    network, provider = ways.pop()
    sure = {"verdict": "ok", "reason": "", "network": network, "provider": provider}

    def mended(first: Judged) -> Judged:
        entity, report, symptoms = first
        local = entity.process.edges and not entity.process.channels
        torn = symptoms and all(symptom.rule in _ON_A_LINE for symptom in symptoms)
        if torn and (report.gdr == "yes" or local):
            return entity, report._replace(**sure), []  # type: ignore[arg-type]
        return first

    return list(map(mended, judged))
