"""The job as a whole: in records, in a sentence, and the questions that stay open."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from envcfg.common.findings import Finding
from envcfg.log.judge import checks
from envcfg.log.judge.finding_builder import ends
from envcfg.log.judge.rank import Symptom, told_together
from envcfg.log.judge.reasons import Member, followers
from envcfg.log.names import network_group, provider_family
from envcfg.log.numbers import count_of, first_of, said_of
from envcfg.log.read.losses import RULE as LOSS
from envcfg.log.read.rulebook import LogRule
from envcfg.log.state.job_state import JobLog
from envcfg.log.state.traffic import Entity, plugin_state
from envcfg.log.state.world import World
from envcfg.log.verdict import (
    JobReport,
    Loaded,
    LogReport,
    Plugin,
    RankReport,
    Transport,
    errors_of,
)

_TRANSPORTS = 1 << 16  # pairs of ranks in a report; more cannot be drawn


# A value that all ranks share is the job's value; otherwise it is "mixed", "some" or
# "partial". The plug-in is loaded by "all" only if no rank lacks it and each rank reports
# it; a silent rank makes it unknown. The package's name is preferred to the library's,
# because it has a version.
def job_report(job: JobLog, world: World, reports: Sequence[RankReport]) -> JobReport:
    """Return the facts about the job from the *reports* of its ranks."""
    networks = Counter(report.network for report in reports if report.network)
    providers = {report.provider for report in reports if report.provider}
    shares = {report.gdr for report in reports} - {"unknown"}
    states = {report.plugin for report in reports}
    lost = states & {"missing", "failed"}
    loaded: Loaded = "unknown"
    if "loaded" in states and (lost or states == {"loaded"}):
        loaded = "some" if lost else "all"
    elif states and states == lost:
        loaded = "none"
    processes = [entity.process for entity in world.entities]
    packages = sorted({p.package for p in processes if p.package})
    names = sorted({name for p in processes for name in p.loaded if name})
    plugin, version = packages[0] if packages else (names[0] if names else None, None)
    used = {
        use: Counter(name for p in processes for name in p.interfaces.get(use, ()))
        for use in ("bootstrap", "socket")
    }
    progress = job.life.progress
    # A good end is no evidence next to a line that may show another one.
    ended = None if job.doubts or not progress else progress.ended
    return JobReport(
        world_size=world.size,
        ranks_seen=world.present,
        ranks_missing=world.missing,
        nodes=world.hosts,
        node_count=world.node_count,
        network=_single(set(networks), network_group),
        networks=dict(sorted(networks.items())),
        provider=_single(providers, provider_family),
        plugin=Plugin(plugin, version, loaded),
        gdr="partial" if len(shares) > 1 else next(iter(shares), "unknown"),
        interfaces={
            use: tuple(name for name, _ in counted.most_common())
            for use, counted in used.items()
        },
        versions=checks.versions_of(job),
        progress=progress and progress._replace(ended=ended),
    )


def _single(names: set[str], family: Callable[[str], str]) -> str | None:
    if len({family(name) for name in names}) > 1:
        return "mixed"
    return min(names) if names else None


def transports_of(world: World) -> tuple[Transport, ...]:
    """Return the connections between the ranks of the world."""
    held = {(id(entity.process), entity.rank) for entity in world.entities}
    transports = {
        Transport(*edge[:4])
        for entity in world.entities
        for edge in entity.process.edges
        # An edge may belong to a smaller communicator with its own rank numbers.
        if (id(entity.process), edge.own) in held and edge.nranks in (None, world.size)
    }
    ordered = sorted(transports, key=lambda item: (*item[:3], str(item.gdr)))
    return tuple(ordered[:_TRANSPORTS])


def summarize(
    report: LogReport,
    world: World,
    symptoms: Sequence[Member],
    rules: Mapping[str, LogRule],
) -> str:
    """Return the verdict in one sentence that begins with it."""
    if report.verdict == "ok":
        return f"ok: {_good(report, world)}"
    if report.verdict == "broken":
        return f"broken: {said(errors_of(report.findings)[0])}"
    if report.verdict == "degraded":
        bad = [
            (e, symptom)
            for e, symptom in symptoms
            if e and symptom.verdict == "degraded"
        ]
        if not bad:
            finding = next(
                finding for finding in report.findings if finding.severity == "warning"
            )
            return f"degraded: {said(finding)}"
        return f"degraded: {_bad(report, world, bad, rules)}"
    # The open question explains the doubt, and known facts are still useful before it.
    if report.unknowns:
        question = report.unknowns[0].what
        if sentence := _common_network(report, world):
            return f"inconclusive: not proven: {sentence}; {question}"
        progress = report.job.progress
        ended = (
            f"the program ended well ({progress.ended}); "
            if progress and progress.ended
            else ""
        )
        return f"inconclusive: {ended}{question}"
    if report.job.network == "mixed":
        names = " and ".join(report.job.networks)
        return f"inconclusive: several starts or jobs, which used {names}"
    return "inconclusive: the log does not show which network the job used"


def ending(findings: Sequence[Finding], rules: Mapping[str, LogRule]) -> str:
    """Return a sentence on the end of the program, cause first."""
    last_findings = [finding for finding in findings if ends(rules, finding)]
    return said(
        min(
            last_findings,
            key=lambda end: (end.rule == LOSS, rules[end.rule].consequence),
        )
    )


def said(finding: Finding) -> str:
    """Return the subject and message of a finding."""
    about = "" if finding.subject == "job" else f"{finding.subject}: "
    return about + finding.message


def _good(report: LogReport, world: World) -> str:
    many = f"all {len(world.present)} ranks"
    nodes = report.job.node_count
    gdr = {
        "yes": ", with GPU RDMA",
        "no": ", without GPU RDMA",
        "partial": ", with GPU RDMA on some channels",
    }.get(report.job.gdr, "; whether with GPU RDMA is not shown")
    return f"{many}{_used(report.job, nodes, 'use')}{gdr}"


def _used(job: JobReport, nodes: int | None, verb: str) -> str:
    on = f" on {count_of(nodes, 'node')}" if nodes else ""
    return f"{on} {verb} {job.network}{f' over {job.provider}' if job.provider else ''}"


def _common_network(report: LogReport, world: World) -> str:
    """Return a sentence on the common network if no rank is in doubt, else an empty
    text."""
    job = report.job
    # Any doubt about the ranks themselves makes a sentence about all of them wrong.
    unclear = world.alike or world.blurred or world.islands > 1 or world.multi is False
    if unclear or not job.network or "mixed" in (job.network, job.provider):
        return ""
    if any(rank.network is None for rank in report.ranks):
        return ""
    if not report.ranks and not all(e.process.networks for e in world.entities):
        return ""
    rank_count = len({rank.rank for rank in report.ranks}) or len(world.entities)
    noun = ("rank", "ranks") if report.ranks else ("process", "processes")
    gdr = {"yes": " with GPU RDMA", "no": " without GPU RDMA"}.get(job.gdr, "")
    many = f"{'all' if rank_count > 1 else 'the'} {count_of(rank_count, *noun)} seen"
    return f"{many}{_used(job, len(job.nodes), said_of(rank_count, 'use'))}{gdr}"


def _bad(
    report: LogReport,
    world: World,
    symptoms: Sequence[tuple[Entity, Symptom]],
    rules: Mapping[str, LogRule],
) -> str:
    """Return the most frequent problem of the degraded ranks, with its reason.

    One symptom of each rank counts: the worst, or a fallback to sockets, because other
    problems follow from it. The most frequent one is named with its number of ranks. The
    reason follows: the plugin that failed and its hosts, and the most frequent symptom
    that explains it.
    """
    worst: dict[Entity, Symptom] = {}
    for entity, symptom in symptoms:
        if entity not in worst or symptom.rule == "socket-fallback":
            worst[entity] = symptom
    usual = Counter((symptom.rule, symptom.detail) for symptom in worst.values())
    (rule, detail), count = usual.most_common(1)[0]
    same = [e for e in worst.values() if (e.rule, e.detail) == (rule, detail)]
    detail = told_together(same)
    ranked = all(entity.rank is not None for entity in worst) and report.job.world_size
    noun = ("rank", "ranks") if ranked else ("process", "processes")
    many = f"{count} of {count_of(ranked or len(world.entities) or len(worst), *noun)}"
    fallen = [e for e, symptom in worst.items() if symptom.rule == "socket-fallback"]
    tails = []
    for state, words in (("missing", "not found"), ("failed", "failed to start")):
        processes = (e.process for e in fallen if plugin_state(e.process) == state)
        if hosts := {process.host for process in processes if process.host}:
            tails.append(f"plugin {words} on {first_of(hosts)}")
    why = Counter(
        s.detail
        for _, s in symptoms
        if rules[s.rule].says and rule in rules[s.rule].explains
    )
    for reason, holders in why.most_common(1):
        tails.append(f"{'they' if holders > 1 else 'it'} {said_of(holders, reason)}")
    known = {symptom.rule for _, symptom in symptoms}
    tails += [
        finding.message
        for finding in report.findings[:1]
        if finding.rule not in known and rule in followers(finding.rule, rules)
    ]
    return "; ".join([f"{many} {said_of(count, detail)}", *tails])
