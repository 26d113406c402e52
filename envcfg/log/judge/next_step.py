"""The next step after a job: one answer for the text, for JSON and for ``--next``."""

from collections.abc import Mapping, Sequence

from envcfg.log.bugs import REMEDY, Bugs
from envcfg.log.judge.attempt_history import next_by_attempts
from envcfg.log.judge.cause_class import next_of
from envcfg.log.names import is_node_name
from envcfg.log.read.losses import RULE as LOSS
from envcfg.log.read.rulebook import LogRule
from envcfg.log.verdict import (
    Action,
    JobAttempt,
    LogReport,
    NextStep,
    OpenQuestion,
    errors_of,
)

_NO_END = "the network is good; no line says how the job ended"


def next_step(
    report: LogReport,
    rules: Mapping[str, LogRule],
    fingerprint: str = "",
    *,
    starts_again: bool = False,
) -> NextStep:
    """Return the answer that follows from the verdict of *report* and its cause.

    Args:
        report: the answer on a log, complete except for the next step.
        rules: by id; the rule of the cause has the answer.
        fingerprint: of the end of the job; empty: that of the rule.
        starts_again: the log ends with the line by which the job is put back.
    """
    cause, progress = report.cause, report.job.progress
    lost = next((f.message for f in report.findings if f.rule == LOSS), "")
    reason = report.summary.partition(": ")[2] or report.summary
    action: Action = "unknown"
    nodes: tuple[str, ...] = ()
    if report.verdict == "broken":
        id_ = cause.rule if cause else errors_of(report.findings)[0].rule
        fingerprint = fingerprint or id_
        rule = rules.get(id_)
        class_ = cause.class_ if cause else rule.class_ if rule else ""
        action = next_of(rule, class_) if rule else "unknown"
        if cause and action == "restart without":
            nodes = tuple(filter(is_node_name, cause.nodes))
        # Without a node to leave out only a plain restart is possible.
        if action == "restart without" and not nodes:
            action = "restart"
        reason = cause.message if cause else reason
        if cause and action != "wait":
            step, own_nodes, why = next_by_attempts(report.attempts, cause, rules)
            reason = f"{why}: {reason}" if why else reason
            action, nodes = (step, own_nodes) if step else (action, nodes)
        if starts_again:
            action, nodes = "wait", ()
        if lost and action in ("restart", "restart without", "unknown"):
            action, nodes, reason = "fix first", (), f"{reason}; {lost}"
        reason = _with_class(reason, class_)
    elif lost:
        action = "fix first"
    elif progress and progress.ended:
        action, reason = "done", f"the program ended well ({progress.ended})"
    elif report.verdict == "degraded":
        action = "fix first"
    elif report.verdict == "ok":
        reason = _NO_END
    prints = [own.fingerprint for own in report.attempts[:-1]]
    repeats = prints.count(fingerprint) if fingerprint else 0
    return NextStep(action, nodes, reason, fingerprint, repeats)


def _with_class(reason: str, class_: str) -> str:
    """Return *reason* with the class of its cause, if that is known."""
    return f"{reason} ({class_})" if class_ else reason


def with_unknown(report: LogReport, action: Action, class_: str = "") -> LogReport:
    """Return *report* with *action* in place of ``unknown``, as the caller requests, and
    with the class of the last words, if there are any."""
    if report.next.action != "unknown":
        return report
    reason = _with_class(report.next.reason, class_)
    return report._replace(next=report.next._replace(action=action, reason=reason))


def with_earlier(
    report: LogReport, earlier: Sequence[JobAttempt], rules: Mapping[str, LogRule]
) -> LogReport:
    """Return *report* with *earlier* attempts of its job, and the step after all."""
    if not (earlier and report.cause and report.attempts):
        return report
    report = report._replace(attempts=(*earlier, *report.attempts))
    step, starts_again = report.next, report.next.action == "wait"
    step = next_step(report, rules, step.fingerprint, starts_again=starts_again)
    return report._replace(next=step)


def with_doubts(report: LogReport, doubts: Sequence[OpenQuestion]) -> LogReport:
    """Return *report*, not ok and not done, because a part of its job is unread."""
    reason = doubts[0].what
    report = report._replace(unknowns=(*doubts, *report.unknowns))
    # Other answers and verdicts rest on a fault that was seen, and stay correct.
    if report.next.action in ("done", "unknown"):
        unknown = report.next._replace(action="unknown", reason=reason)
        report = report._replace(next=unknown)
    if report.network_verdict == "ok":
        report = report._replace(network_verdict="inconclusive")
    if report.verdict in ("ok", "inconclusive"):
        summary = f"inconclusive: {reason}"
        report = report._replace(verdict="inconclusive", summary=summary)
    return report


def with_bugs(report: LogReport, bugs: Bugs) -> LogReport:
    """Return *report* with *bugs*: it is not ok, and names the parts that are missing."""
    new = [bug for bug in bugs.found if bug not in report.bugs]
    if not new:
        return report
    doubts = [
        OpenQuestion(f"{bug.part}, because of a bug in envcfg: {bug.error}", REMEDY)
        for bug in new
    ]
    return with_doubts(report, doubts)._replace(bugs=(*report.bugs, *new))
