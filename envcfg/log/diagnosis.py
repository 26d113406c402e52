"""From RAS, Flight Recorder and Inspector to findings, and to the verdict with them.

They tell of a hang, or of speed, and nothing of which network a job used: with them a
verdict gets worse, never better.
"""

from __future__ import annotations

from collections.abc import Mapping

from envcfg.characters import one_line
from envcfg.findings import Finding
from envcfg.log.numbers import first_of
from envcfg.log.rulebook import Rule
from envcfg.log.sidecar_evidence import of_answers, of_dumps, of_speeds
from envcfg.log.sidecars import Traces
from envcfg.log.verdict import EFFECT, WORST_FIRST, LogReport, Unknown, Verdict

_MOST = 5  # files that cannot be read, by name
_NO_LINES = "no-nccl-lines"


def with_traces(
    report: LogReport, traces: Traces, rules: Mapping[str, Rule], *, alone: bool
) -> LogReport:
    """Return *report* with what *traces* tell.

    Args:
        report: on the log.
        traces: the files beside it.
        rules: their words, by id.
        alone: there is no log, and *report* is on nothing.
    """
    said = [
        *of_answers(traces.answers),
        *of_dumps(traces),
        *of_speeds(traces.speeds),
    ]
    found = [
        Finding(
            rule=each.rule,
            severity=rules[each.rule].severity or "note",
            subject=one_line(each.subject),
            message=one_line(each.message),
            fix=rules[each.rule].fix,
            source=rules[each.rule].source,
            why=rules[each.rule].meaning,
            evidence=each.evidence,
            cause=each.cause,
        )
        for each in said
    ]
    open_ = [(each.rule, each.doubt) for each in said if each.doubt]
    for name, why in list(traces.unread.items())[:_MOST]:
        open_.append(("trace-unread", f"what {one_line(name)} says: {one_line(why)}"))
    if traces.nameless:
        names = first_of([one_line(each) for each in traces.nameless])
        open_.append(("trace-rank", f"whose dump it is: {names}"))
    doubts = [Unknown(what, rules[rule].fix or "") for rule, what in open_]
    open_questions = [*doubts, *report.unknowns]
    if alone:
        what = "which network the job used: there is no log"
        own = [each for each in report.unknowns if each.remedy != rules[_NO_LINES].fix]
        open_questions = [*doubts, *own, Unknown(what, rules["trace-alone"].fix or "")]
    first = next((each for each in report.findings if each.severity == "error"), None)
    bad = [each for each in found if each.severity in EFFECT]
    # Where a dump or RAS names who is missing, what the log tells of who waits follows.
    explained = {name for each in bad for name in rules[each.rule].explains}
    findings = [
        each._replace(cause=each.cause and each.rule not in explained)
        for each in report.findings
    ]
    effects: list[Verdict] = [EFFECT.get(each.severity, "ok") for each in found]
    if doubts or alone:
        effects.append("inconclusive")
    verdict = min([*effects, report.verdict], key=WORST_FIRST.index)
    if first and first.rule in explained:
        # What files tell explains what the log does.
        cause = min(bad, key=_weight)
        words = f"{report.verdict}: {cause.subject}: {cause.message}"
        summary = f"{words}; the log: {report.summary.partition(': ')[2]}"
    elif verdict == report.verdict and not alone:
        summary = report.summary
    else:
        same = [each for each in found if EFFECT.get(each.severity) == verdict]
        same.sort(key=lambda each: not each.cause)
        words = "" if same else open_questions[0].what
        for each in same[:1]:
            words = f"{each.subject}: {each.message}"
        network = "" if alone else f"; network {report.summary}"
        summary = f"{verdict}: {words}{network}"
    files = (traces.answers, traces.dumps, traces.unread, traces.nameless)
    return report._replace(
        verdict=verdict,
        summary=summary,
        findings=tuple(sorted([*found, *findings], key=_weight)),
        unknowns=tuple(open_questions),
        coverage=report.coverage._replace(
            files=report.coverage.files + sum(map(len, files)) + traces.inspected,
            size=report.coverage.size + traces.size,
        ),
    )


def _weight(finding: Finding) -> tuple[bool, int]:
    return not finding.cause, ("error", "warning", "note").index(finding.severity)
