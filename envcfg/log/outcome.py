"""What ended a job first at the head of its findings, and what to do next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from envcfg.findings import Finding
from envcfg.log.cause import First
from envcfg.log.found import Locate, ends
from envcfg.log.job import Job
from envcfg.log.numbers import count_of
from envcfg.log.rulebook import Rule
from envcfg.log.summary import said
from envcfg.log.verdict import Cause, LogReport, Next

_WITHOUT = "restart without"  # the nodes that failed
_USUAL = "restart"


def leads(first: First | None, job: Job) -> bool:
    """Return whether *first* is the cause, and no error of the network before it.

    What only follows from another end is none where there is an error of the network.
    """
    if first is None:
        return False
    errors = [
        each.first.spot
        for each in job.occurrences.values()
        if each.rule.severity == "error"
        and not each.rule.consequence
        and not each.rule.ends
        and each.rule.event is None
    ]
    if first.rule.consequence:
        return not errors
    return all(first.sighting.spot <= spot for spot in errors)


def chained(
    findings: Sequence[Finding], first: First, job: Job, locate: Locate
) -> list[Finding]:
    """Return *findings* with *first* at their head; what lines tell of others follows."""
    head = Finding(
        rule=first.rule.id,
        severity="error",
        subject=first.who.words,
        message=first.says,
        fix=first.rule.fix,
        source=first.rule.source,
        why=first.rule.meaning,
        evidence=locate([first.sighting])[0],
    )
    others = [each for each in findings if each.rule != head.rule]
    follow = [
        each._replace(cause=False) if each.rule in job.occurrences else each
        for each in others
        if each.severity == "error"
    ]
    return [head, *follow, *(each for each in others if each.severity != "error")]


def of_network(
    findings: Sequence[Finding], rules: Mapping[str, Rule], first: First | None
) -> list[Finding]:
    """Return what tells of the network, and not of how the program ended.

    Args:
        findings: all of the job.
        rules: by id.
        first: what ended the job before any error of its network, if that is known. What
            PyTorch throws as NCCL has failed tells of the network.
    """
    own = first if first and not first.rule.consequence else None
    return [
        each
        for each in findings
        if not ends(rules, each)
        and not (own and (each.rule == own.rule.id or not each.cause))
    ]


def with_cause(
    report: LogReport, rules: Mapping[str, Rule], first: First | None
) -> LogReport:
    """Return *report* with the cause, what follows from it, and what to do next.

    Args:
        report: on a job that is broken.
        rules: by id.
        first: what ended the job before any error of its network, if that is known.
    """
    head = next(each for each in report.findings if each.severity == "error")
    frame = first.frame if first else None
    cause = Cause(
        rule=head.rule,
        message=first.words if first else said(head),
        ranks=first.who.ranks if first else (),
        nodes=first.who.hosts if first else (),
        file=frame.file if frame else "",
        line=frame.line if frame else None,
        function=frame.function if frame else "",
        others=first.others if first else "",
        evidence=head.evidence,
    )
    rule = rules.get(head.rule)
    action = (rule and rule.next) or _USUAL
    if action == _WITHOUT and not cause.nodes:
        action = _USUAL
    repeats = first.repeats if first else 0
    again = (
        f"{count_of(repeats + 1, 'attempt')} of this log ended so: " if repeats else ""
    )
    step = Next(
        action=action,
        nodes=cause.nodes if action == _WITHOUT else (),
        reason=again + cause.message,
        fingerprint=first.fingerprint if first else head.rule,
        repeats=repeats,
    )
    follow = tuple(each.rule for each in report.findings if not each.cause)
    return report._replace(cause=cause, consequences=follow, next=step)
