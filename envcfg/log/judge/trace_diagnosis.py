"""From RAS and Flight Recorder to findings, and to the verdict with them.

They show hangs, and not the network of a job: they can make a verdict worse, never better.
"""

from collections.abc import Iterable, Mapping, Sequence

from envcfg.common.characters import one_line
from envcfg.common.findings import Finding
from envcfg.log.collective.sidecar_evidence import of_answers, of_dumps
from envcfg.log.collective.sidecars import TraceFinding, Traces
from envcfg.log.judge.finding_builder import weight_of
from envcfg.log.judge.next_step import next_step
from envcfg.log.numbers import first_of
from envcfg.log.read.rulebook import LogRule
from envcfg.log.verdict import (
    EFFECT,
    WORST_FIRST,
    LogReport,
    OpenQuestion,
    Verdict,
    errors_of,
)

_MOST = 5  # unreadable files to name
_NO_LINES = "no-nccl-lines"


def with_traces(
    report: LogReport, traces: Traces, rules: Mapping[str, LogRule], *, alone: bool
) -> LogReport:
    """Return *report* with the evidence in *traces*.

    Args:
        report: on the log.
        traces: the files beside it.
        rules: their words, by id.
        alone: True if there is no log, and *report* is empty.
    """
    evidence = [*of_answers(traces.answers), *of_dumps(traces)]
    trace_findings = [_finding(element, rules[element.rule]) for element in evidence]
    doubts = _doubts(evidence, traces, rules)
    open_questions = [*doubts, *report.unknowns]
    # Without a log, missing NCCL lines do not raise a question.
    if alone:
        question = "which network the job used: there is no log"
        own = [
            unknown
            for unknown in report.unknowns
            if unknown.remedy != rules[_NO_LINES].fix
        ]
        open_questions = [
            *doubts,
            *own,
            OpenQuestion(question, rules["trace-alone"].fix or ""),
        ]
    first = next(iter(errors_of(report.findings)), None)
    bad = [finding for finding in trace_findings if finding.severity in EFFECT]
    # If a dump or RAS names missing ranks, waiting ranks in the log are consequences.
    explained = {name for finding in bad for name in rules[finding.rule].explains}
    findings = [
        finding._replace(cause=finding.cause and finding.rule not in explained)
        for finding in report.findings
    ]
    effects: list[Verdict] = [
        EFFECT.get(finding.severity, "ok") for finding in trace_findings
    ]
    if doubts or alone:
        effects.append("inconclusive")
    verdict = min([*effects, report.verdict], key=WORST_FIRST.index)
    is_explained = first is not None and first.rule in explained
    if is_explained:
        # The files explain the error in the log, so they lead the summary.
        cause = min(bad, key=weight_of)
        words = f"{report.verdict}: {cause.subject}: {cause.message}"
        summary = f"{words}; the log: {report.summary.partition(': ')[2]}"
    elif verdict == report.verdict and not alone:
        summary = report.summary
    else:
        network = "" if alone else f"; network {report.summary}"
        words = _main_words(verdict, trace_findings, open_questions)
        summary = f"{verdict}: {words}{network}"
    files = (traces.answers, traces.dumps, traces.unread, traces.nameless)
    report = report._replace(
        verdict=verdict,
        summary=summary,
        # The cause is then in the files; otherwise the log's own cause stays.
        cause=None if is_explained else report.cause,
        findings=tuple(sorted([*trace_findings, *findings], key=weight_of)),
        unknowns=tuple(open_questions),
        coverage=report.coverage._replace(
            files=report.coverage.files + sum(map(len, files)),
            size=report.coverage.size + traces.size,
        ),
    )
    step = next_step(report, rules, report.next.fingerprint)
    return report._replace(next=step)


def _finding(element: TraceFinding, rule: LogRule) -> Finding:
    return rule.finding(
        one_line(element.subject),
        one_line(element.message),
        evidence=element.evidence,
        cause=element.cause,
    )


def _doubts(
    evidence: Iterable[TraceFinding], traces: Traces, rules: Mapping[str, LogRule]
) -> list[OpenQuestion]:
    """Return the questions that the files leave open, with those on unusable files."""
    open_ = [(element.rule, element.doubt) for element in evidence if element.doubt]
    for name, why in list(traces.unread.items())[:_MOST]:
        open_.append(("trace-unread", f"what {one_line(name)} says: {one_line(why)}"))
    if traces.nameless:
        names = first_of([one_line(name) for name in traces.nameless])
        open_.append(("trace-rank", f"whose dump it is: {names}"))
    return [OpenQuestion(question, rules[rule].fix or "") for rule, question in open_]


def _main_words(
    verdict: Verdict, findings: Iterable[Finding], questions: Sequence[OpenQuestion]
) -> str:
    """Return the words of the first finding that leads to *verdict*, causes first."""
    same = [finding for finding in findings if EFFECT.get(finding.severity) == verdict]
    main = min(same, key=lambda finding: not finding.cause, default=None)
    return f"{main.subject}: {main.message}" if main else questions[0].what
