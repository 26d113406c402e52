"""The first end of a process, at the head of the findings of its job."""

import re
from collections.abc import Mapping, Sequence

from envcfg.common.findings import Finding
from envcfg.log.judge.cause import FirstEnd
from envcfg.log.judge.finding_builder import Locate, ends
from envcfg.log.judge.summary import said
from envcfg.log.read.endings import ENDS
from envcfg.log.read.line_owner import Owner, speaker
from envcfg.log.read.prefix import parse
from envcfg.log.read.rulebook import RAISED, LogRule
from envcfg.log.state.job_state import JobLog
from envcfg.log.state.world import World
from envcfg.log.tables import load_table
from envcfg.log.verdict import Cause, errors_of


def leads(first: FirstEnd, job: JobLog) -> bool:
    """Return whether *first* is the cause, without an earlier network error.

    A consequence of another end is no cause if there is a network error.
    """
    errors = [
        occurrence.first.spot
        for occurrence in job.occurrences.values()
        if occurrence.rule.severity == "error"
        and not occurrence.rule.consequence
        and not occurrence.rule.ends
        and occurrence.rule.event not in {*ENDS, RAISED}
    ]
    if first.rule.consequence:
        return not errors
    # What the system reports of a node may come late in the log.
    reports = bool(first.rule.explains)
    return reports or all(first.sighting.spot <= spot for spot in errors)


def chained(
    findings: Sequence[Finding], first: FirstEnd, job: JobLog, locate: Locate
) -> list[Finding]:
    """Return *findings* with *first* at the head, followed by its consequences."""
    (evidence,) = locate([first.sighting])
    owner, says = first.process.words, first.says
    if first.process == Owner():  # "the job" is a word of the sentence
        owner, says = "job", first.words
    head = first.rule.finding(owner, says, "error", evidence=evidence)
    # The head has the rule's words, so a second finding of the rule would repeat them.
    rest = [finding for finding in findings if finding.rule != head.rule]
    # A line about another end is a note if it may only follow, such as a cancellation.
    own = {name: o.given.event in ENDS for name, o in job.occurrences.items()}
    follow = [
        finding._replace(cause=finding.rule not in own and finding.cause)
        if finding.severity == "error" or own.get(finding.rule)
        else finding
        for finding in rest
    ]
    return [head, *sorted(follow, key=lambda finding: finding.severity != "error")]


def owner_of(head: Finding, first: FirstEnd | None, job: JobLog) -> Owner | None:
    """Return the process of the first error, if that names none itself.

    Its line may have a launcher's prefix. Else the ranks that failed wrote it, if each of
    them could have written one of these lines.

    Args:
        head: the first error.
        first: the first end of a process, which only follows from an error.
        job: the lines of the log.
    """
    occurrence = job.occurrences.get(head.rule)
    if occurrence is None or occurrence.rule.class_ == "network":
        return None  # its writer often reports the end of another rank
    text = occurrence.first.text
    record = parse(text)
    if head.subject != "job":
        return Owner(hosts=(record.host,)) if record.host else None
    writer = speaker(text.partition(record.message)[0])
    ended = first.process if first and first.rule.consequence else Owner()
    if writer.ranks and not writer.is_task:
        same = set(writer.ranks) <= set(ended.ranks)
        return writer._replace(hosts=ended.hosts if same else writer.hosts)
    lines = [end for end in job.endings.lines if end.rule.severity == "error"]
    failed = {rank for end in lines for rank in end.who.ranks}
    # Another rank that failed may have written the line, before the first exit was noticed.
    if not ended.ranks or not failed <= set(ended.ranks):
        return None
    if len(ended.ranks) <= occurrence.count:
        return ended
    return Owner(hosts=ended.hosts) if len(ended.hosts) == 1 else None


def is_of_some_nodes(cause: Cause, job: JobLog) -> bool:
    """Return whether other nodes than those of *cause* show no error."""
    lines = job.endings.lines
    errors = [end for end in lines if end.rule.severity == "error"]
    failed = {host for end in errors for host in end.who.hosts}
    shown = {host for end in lines for host in end.who.hosts}
    shown |= {process.host for process in job.everyone} - {""}
    return set() < {*cause.nodes} >= failed < shown


def with_interface_first(
    findings: Sequence[Finding], first: FirstEnd | None, job: JobLog, world: World
) -> list[Finding] | None:
    """Return *findings* with a wrong interface at the head, followed by its consequences.

    None if the interface is not the cause. A job on one node, a completed start, a step of
    the program and an unknown warning show this, and so does any end of another kind.

    Args:
        findings: all of the job.
        first: the end of the process that ended first, if that is known.
        job: the lines of the log.
        world: its largest communicator.
    """
    # Rules of wrong interfaces; the ends that these can cause, and the lines that follow
    # from those ends.
    table = load_table("judge/network_ends")
    interfaces, ends_of, follow = table["interfaces"], table["ends"], table["follow"]
    head = next((item for item in findings if item.rule in interfaces), None)
    up = any(comm.is_up for p in job.everyone for comm in p.communicators.values())
    if not head or world.multi is False or up or job.life.progress or job.unknown:
        return None
    errors = _errors(findings, first, job)
    network = [_matches(ends_of, error) for error in errors]
    if not any(network) or not all(
        is_network or _matches(follow, error)
        for is_network, error in zip(network, errors, strict=True)
    ):
        return None
    rest = [
        finding._replace(cause=finding.cause and finding.severity != "error")
        for finding in findings
        if finding is not head
    ]
    return [head._replace(severity="error", cause=True), *rest]


def _errors(
    findings: Sequence[Finding], first: FirstEnd | None, job: JobLog
) -> list[tuple[frozenset[str], str]]:
    """Return the rules and the line of each error, end and exception of the log."""
    lines = [(line.rule.id, line.sighting.text) for line in job.endings.lines]
    lines += [
        (finding.rule, finding.evidence.text if finding.evidence else "")
        for finding in findings
        if finding.severity == "error"
    ]
    lines += [(first.rule.id, first.sighting.text)] if first else []
    exceptions = [
        part.said
        for thrown in job.endings.tracebacks.found
        for part in filter(None, (thrown, thrown.earlier))
    ]
    return [(frozenset([rule]), line) for rule, line in lines] + [
        (frozenset(match.rule.id for match in job.rulebook.matches(text)), text)
        for text in exceptions
    ]


def _matches(table: Mapping[str, str], error: tuple[frozenset[str], str]) -> bool:
    rules, line = error
    return any(rule in table and re.search(table[rule], line) for rule in rules)


def of_network(
    findings: Sequence[Finding], rules: Mapping[str, LogRule], first: FirstEnd | None
) -> list[Finding]:
    """Return the findings on the network, without those on the end of the program.

    Args:
        findings: all of the job.
        rules: by id.
        first: end of the job before any network error, if known. An exception of PyTorch
            after a failure of NCCL is evidence on the network.
    """
    own = first if first and not first.rule.consequence else None
    return [
        finding
        for finding in findings
        if not ends(rules, finding)
        and not (own and (finding.rule == own.rule.id or not finding.cause))
    ]


def cause_of(
    findings: Sequence[Finding], first: FirstEnd | None, owner: Owner | None = None
) -> Cause:
    """Return the cause of the end of a broken job, without its class.

    Args:
        findings: of the job.
        first: end of the job before any network error, if known.
        owner: process of the first error, if *first* is not known.
    """
    process = first.process if first else owner or Owner()
    head = errors_of(findings)[0]
    frame = first.frame if first else None
    return Cause(
        rule=head.rule,
        class_="",
        message=first.words if first else said(head),
        ranks=process.ranks,
        nodes=process.hosts,
        file=frame.file if frame else "",
        line=frame.line if frame else None,
        function=frame.function if frame else "",
        others=first.other_ranks if first else "",
        evidence=head.evidence,
    )
