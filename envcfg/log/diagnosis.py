"""From RAS, Flight Recorder and Inspector to findings, and to the verdict with them.

They tell of a hang, or of speed, and nothing of which network a job used: with them a
verdict gets worse, never better.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from envcfg.characters import one_line
from envcfg.findings import Evidence, Finding
from envcfg.log.numbers import count_of, first_of, number_ranges, said_of
from envcfg.log.rulebook import Rule
from envcfg.log.traces import Answer, Traces, are_apart
from envcfg.log.verdict import WORST_FIRST, LogReport, Unknown, Verdict

if TYPE_CHECKING:
    from envcfg.trace.flight import FlightDump
    from envcfg.trace.inspector import Speed
    from envcfg.trace.lag import GroupLag
    from envcfg.trace.ras import Laggard, RasComm, RasProcess, RasRank

_MOST = 5  # findings of one kind; the farthest apart come first
_EFFECT: Mapping[str, Verdict] = {"error": "broken", "warning": "degraded"}
_NO_LINES = "no-nccl-lines"


class _Said(NamedTuple):
    """A finding before it has its rule's words; *doubt*: the question that it leaves."""

    rule: str
    subject: str
    message: str
    evidence: Evidence | None = None
    doubt: str = ""


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
        *_of_ras(traces.answers),
        *_of_flight(traces),
        *_of_inspector(traces.speeds),
    ]
    found = [_finding(each, rules[each.rule]) for each in said]
    doubts = [
        Unknown(each.doubt, rules[each.rule].fix or "") for each in said if each.doubt
    ]
    doubts += [Unknown(what, rules[rule].fix or "") for rule, what in _doubts(traces)]
    open_questions = [*doubts, *report.unknowns]
    if alone:
        what = "which network the job used: there is no log"
        own = [each for each in report.unknowns if each.remedy != rules[_NO_LINES].fix]
        open_questions = [*doubts, *own, Unknown(what, rules["trace-alone"].fix or "")]
    effects: list[Verdict] = [_EFFECT.get(each.severity, "ok") for each in found]
    if doubts or alone:
        effects.append("inconclusive")
    verdict = min([*effects, report.verdict], key=WORST_FIRST.index)
    return report._replace(
        verdict=verdict,
        summary=_summary(report, verdict, found, open_questions, alone=alone),
        findings=tuple(sorted([*found, *report.findings], key=_weight)),
        unknowns=tuple(open_questions),
        coverage=report.coverage._replace(
            files=report.coverage.files + _files(traces),
            size=report.coverage.size + traces.size,
        ),
    )


def _summary(
    report: LogReport,
    verdict: Verdict,
    found: Sequence[Finding],
    unknowns: Sequence[Unknown],
    *,
    alone: bool,
) -> str:
    if verdict == report.verdict and not alone:
        return report.summary
    bad = [each for each in found if _EFFECT.get(each.severity) == verdict]
    words = f"{bad[0].subject}: {bad[0].message}" if bad else unknowns[0].what
    network = "" if alone else f"; network {report.summary}"
    return f"{verdict}: {words}{network}"


def _files(traces: Traces) -> int:
    many = len(traces.answers) + len(traces.dumps) + len(traces.unread)
    return many + len(traces.nameless) + traces.inspected


def _weight(finding: Finding) -> tuple[bool, int]:
    return not finding.cause, ("error", "warning", "note").index(finding.severity)


def _finding(said: _Said, rule: Rule) -> Finding:
    return Finding(
        rule=rule.id,
        severity=rule.severity or "note",
        subject=one_line(said.subject),
        message=one_line(said.message),
        fix=rule.fix,
        source=rule.source,
        why=rule.meaning,
        evidence=said.evidence,
    )


def _doubts(traces: Traces) -> Iterator[tuple[str, str]]:
    for name, why in list(traces.unread.items())[:_MOST]:
        yield "trace-unread", f"what {one_line(name)} says: {one_line(why)}"
    if traces.nameless:
        names = first_of([one_line(each) for each in traces.nameless])
        yield "trace-rank", f"whose dump it is: {names}"


# RAS


def _of_ras(answers: Sequence[Answer]) -> Iterator[_Said]:
    from envcfg.trace.ras import laggards

    if not answers:
        return
    last = answers[-1]  # of several, the latest tells how it is
    report = last.report
    for dead in (True, False):
        named = [each for each in report.silent if each.dead == dead]
        many = max(report.dead if dead else report.missing, len(named))
        if many:
            what = "are given up by NCCL" if dead else "did not answer NCCL in time"
            where = first_of({f"process {each.pid} on {each.host}" for each in named})
            yield _Said(
                "ras-dead" if dead else "ras-silent",
                where if len(named) == many else count_of(many, "process", "processes"),
                said_of(many, what),
                _line(last, *_written(named)),
            )
    for comm in report.comms:
        yield from _of_comm(last, comm)
    if report.whole and not (report.silent or report.missing or report.dead):
        if all(group.problems == () for group in report.groups) and not any(
            comm.problems for comm in report.comms
        ):
            many = len(report.comms) or sum(each.comms for each in report.groups)
            what = f"{count_of(many, 'communicator')}: all ranks answer, none is behind"
            yield _Said(
                "ras-even", "job", what, _line(last, "NCCL version", "nccl_version")
            )
    for lag in laggards(report)[:_MOST]:
        stuck = any(
            _is_same(lag, before) for before in answers[:-1] if are_apart(before, last)
        )
        yield _behind(last, lag, stuck=stuck)


def _written(processes: Sequence[RasProcess]) -> Iterator[str]:
    for each in processes[:1]:
        yield from (f"Process {each.pid} ", f'"pid": {each.pid},')


def _of_comm(answer: Answer, comm: RasComm) -> Iterator[_Said]:
    failed = [each for each in comm.ranks if each.error]
    if failed or "ERROR" in comm.problems:
        errors = first_of({each.error for each in failed}) or "an error"
        yield _Said(
            "ras-error",
            _ranks(failed) or f"communicator {comm.hash}",
            f"{errors} in communicator {comm.hash} of {comm.size or 'some'} ranks",
            _line(answer, "reported ", " error", '"async_error": '),
        )
    for spread in comm.spreads:
        states = {share.value: share for share in spread.shares}
        for state in ("ABORT", "NOCOMM"):
            if state in states and len(states) > 1:
                share = states[state]
                verb = "have aborted" if state == "ABORT" else "know nothing of"
                yield _Said(
                    "ras-left",
                    _ranks(share.ranks) or count_of(share.count, "rank"),
                    said_of(share.count, f"{verb} communicator {comm.hash}")
                    + ", which others still use",
                    _line(answer, f"status {state}", '"abort_flag": true', comm.hash),
                )


def _is_same(lag: Laggard, before: Answer) -> bool:
    """Return whether ranks were as far behind in an earlier answer."""
    from envcfg.trace.ras import laggards

    return any(
        (each.comm.hash, each.operation, each.share.value)
        == (lag.comm.hash, lag.operation, lag.share.value)
        and {rank.rank for rank in each.share.ranks}
        >= {r.rank for r in lag.share.ranks}
        for each in laggards(before.report)
    )


def _behind(answer: Answer, lag: Laggard, *, stuck: bool) -> _Said:
    share = lag.share
    who = _ranks(share.ranks) or count_of(share.count, "rank")
    launched = f"have launched {share.value} of {lag.most} {lag.operation}"
    what = said_of(share.count, launched)
    where = f"in communicator {lag.comm.hash}"
    first = share.ranks[0].rank if share.ranks else -1
    evidence = _line(answer, f"Rank {first} ", f'"rank": {first},', lag.operation)
    if stuck:
        return _Said("ras-stuck", who, f"{what} {where}, as an answer before", evidence)
    doubt = f"whether the job hangs: {who} {what}"
    return _Said("ras-behind", who, f"{what} {where}", evidence, doubt)


def _ranks(ranks: Iterable[RasRank]) -> str:
    known = list(ranks)
    numbers = sorted({each.rank for each in known})
    if not numbers:
        return ""
    hosts = first_of({each.host for each in known if each.host})
    where = f" ({hosts})" if hosts else ""
    return f"rank{'s' if len(numbers) > 1 else ''} {number_ranges(numbers)}{where}"


def _line(answer: Answer, *texts: str) -> Evidence | None:
    """Return the first line of an answer that holds one of *texts*, in their order."""
    for text in filter(None, texts):
        at = answer.text.find(text)
        if at >= 0:
            start = answer.text.rfind("\n", 0, at) + 1
            line = answer.text[start : start + 400].partition("\n")[0].strip()
            return Evidence(answer.name, answer.text.count("\n", 0, start) + 1, line)
    return None


# Flight Recorder


def _of_flight(traces: Traces) -> Iterator[_Said]:
    from envcfg.trace.lag import lag, out_of_step

    dumps = [dump for _, dump in traces.dumps.values()]
    steps = out_of_step(dumps)
    for step in steps[:_MOST]:
        usual, other = step.steps[:2]
        yield _Said(
            "flight-out-of-step",
            _numbers(other.ranks),
            f"called {other.called} as number {step.seq} of "
            f"{_group(step.group, step.desc)}, {_numbers(usual.ranks)} {usual.called}",
            _place(traces, other.ranks, step.group, step.seq),
        )
    # What hangs from there on follows from it.
    known = {(each.group, each.desc) for each in steps}
    opened = lag(dumps)
    for each in [each for each in opened if (each.group, each.desc) not in known][
        :_MOST
    ]:
        yield _lagging(traces, each)
    if dumps and not (steps or opened):
        calls = max(len(dump.entries) for dump in dumps)
        what = f"{count_of(calls, 'operation')} recorded, none of them open"
        yield _Said("flight-even", _numbers([each.rank for each in dumps]), what)


def _lagging(traces: Traces, lag: GroupLag) -> _Said:
    group = _group(lag.group, lag.desc)
    what = f"number {lag.seq} of {group}" + (
        f", {lag.operation}" if lag.operation else ""
    )
    waiting = _numbers(tuple(lag.waiting) or lag.done)
    evidence = _place(traces, tuple(lag.waiting), lag.group, lag.seq)
    doubt = ""
    if lag.unseen:
        doubt = f"where {_numbers(lag.unseen)} of {group} are: no dump"
    if not lag.absent:
        message = f"in {what}, which has not ended"
        rule = "flight-timeout" if lag.timed_out else "flight-open"
        doubt = doubt or ("" if lag.timed_out else f"whether the job hangs in {what}")
        return _Said(rule, waiting, message, evidence, doubt)
    reached = sorted(set(lag.absent.values()))
    last = f"{reached[0]}" if len(reached) == 1 else f"{reached[0]}-{reached[-1]}"
    waits = said_of(len(lag.waiting or lag.done), "wait")
    called = said_of(len(lag.absent), f"have not called {what}")
    message = f"{called}; the last was {last}, and {waiting} {waits}"
    rule = "flight-timeout" if lag.timed_out else "flight-behind"
    return _Said(rule, _numbers(tuple(lag.absent)), message, evidence, doubt)


def _numbers(ranks: Sequence[int]) -> str:
    ordered = sorted(ranks)
    return f"rank{'s' if len(ordered) > 1 else ''} {number_ranges(ordered)}"


def _group(name: str, desc: str) -> str:
    return desc if desc and desc != "undefined" else f"group {name}"


def _place(
    traces: Traces, ranks: Sequence[int], group: str, seq: int
) -> Evidence | None:
    """Return where the first of *ranks* called a collective, and the file that says so."""
    held: tuple[str, FlightDump] | None = traces.dumps.get(min(ranks, default=-1))
    for entry in held[1].entries if held else ():
        if (entry.group[0], entry.seq, entry.is_p2p) == (group, seq, False) and held:
            where = f" at {entry.place}" if entry.place else ""
            return Evidence(held[0], 1, one_line(f"{entry.said}, {entry.state}{where}"))
    return None


# Inspector


def _of_inspector(speeds: Sequence[Speed]) -> Iterator[_Said]:
    largest: dict[tuple[str, str], Speed] = {}
    for each in speeds:  # the largest messages come first, and tell most of a network
        largest.setdefault((each.comm, each.name), each)
    for speed in list(largest.values())[:_MOST]:
        what = f"{speed.name} of {_size(speed.bytes)}"
        name = speed.comm_name or f"communicator {speed.comm}"
        times = count_of(speed.count, "time")
        yield _Said(
            "inspector-speed",
            name,
            f"{what}: {speed.busbw:.4g} GB/s on the bus, {times}",
        )
        if speed.slow:
            who = _numbers([rank for rank, _, _ in speed.slow])
            hosts = first_of({host for _, host, _ in speed.slow if host})
            least = min(busbw for _, _, busbw in speed.slow)
            where = f" ({hosts})" if hosts else ""
            yield _Said(
                "inspector-slow",
                f"{who}{where}",
                f"{what}: down to {least:.4g} GB/s, where the median is {speed.busbw:.4g}",
            )


def _size(count: int) -> str:
    for unit, name in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if count >= unit:
            return f"{count / unit:.4g} {name}"
    return f"{count} B"
