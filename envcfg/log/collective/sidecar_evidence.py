"""Evidence of hangs from files beside a log: RAS and Flight Recorder."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from envcfg.common.characters import one_line
from envcfg.common.findings import EvidenceLine
from envcfg.log.collective.sidecars import RasReply, TraceFinding, Traces, are_apart
from envcfg.log.numbers import count_of, first_of, ranks_of, said_of

if TYPE_CHECKING:
    from envcfg.log.collective.flight_recorder import FlightDump
    from envcfg.log.collective.lagging_ranks import GroupLag
    from envcfg.log.collective.ras import Laggard
    from envcfg.log.collective.ras_records import RasComm, RasRank

_SHORT = 2.0  # seconds of a wait that are no hang
_MOST = 5  # findings of one kind; the ranks farthest behind come first


def of_answers(answers: Sequence[RasReply]) -> Iterator[TraceFinding]:
    """Yield the evidence in answers of RAS, oldest first.

    Dead processes and errors are final; progress is read from the last answer.
    """
    from envcfg.log.collective.ras import laggards

    by_subject: dict[tuple[str, str], TraceFinding] = {}
    for answer in answers:
        in_comms = (
            evidence
            for comm in answer.report.comms
            for evidence in _of_comm(answer, comm)
        )
        for finding in (*_silent(answer, dead=True), *in_comms):
            by_subject.setdefault((finding.rule, finding.subject), finding)
    for last in answers[-1:]:
        for finding in _silent(last, dead=False):
            by_subject[finding.rule, finding.subject] = finding
        # Only the newest silence counts: a process may answer again.
        late = laggards(last.report)
        # An incomplete answer cannot prove that all ranks answer.
        if last.report.is_complete and not (by_subject or late):
            many = len(last.report.comms) or sum(
                comms for comms, _ in last.report.groups
            )
            message = (
                f"{count_of(many, 'communicator')}: all ranks answer, none is behind"
            )
            evidence = _line(last, "NCCL version", "nccl_version")
            yield TraceFinding("ras-even", "job", message, evidence)
        yield from by_subject.values()
        for lag in late[:_MOST]:
            # Two answers close in time prove nothing: ranks need time to move.
            stuck = any(are_apart(a, last) and _is_same(lag, a) for a in answers[:-1])
            yield _behind(last, lag, stuck=stuck)


def _silent(answer: RasReply, *, dead: bool) -> Iterator[TraceFinding]:
    report = answer.report
    ras_processes = [
        ras_process for ras_process in report.silent if ras_process.dead == dead
    ]
    # RAS may count more processes than it lists.
    many = max(report.dead if dead else report.missing, len(ras_processes))
    if many:
        message = "are lost for NCCL" if dead else "did not answer NCCL in time"
        where = first_of(
            {
                f"process {ras_process.pid} on {ras_process.host}"
                for ras_process in ras_processes
            }
        )
        written = (
            (f"Process {ras_processes[0].pid} ", f'"pid": {ras_processes[0].pid},')
            if ras_processes
            else ()
        )
        yield TraceFinding(
            "ras-dead" if dead else "ras-silent",
            where
            if len(ras_processes) == many
            else count_of(many, "process", "processes"),
            said_of(many, message),
            _line(answer, *written),
        )


def _of_comm(answer: RasReply, comm: RasComm) -> Iterator[TraceFinding]:
    failed = [rank for rank in comm.ranks if rank.error]
    if failed or comm.failed:
        errors = first_of({ras_rank.error for ras_rank in failed}) or "an error"
        yield TraceFinding(
            "ras-error",
            _ranks(failed) or f"communicator {comm.hash}",
            f"{errors} in communicator {comm.hash} of {comm.size or 'some'} ranks",
            _line(answer, "reported ", " error", '"async_error": '),
        )
    for spread in comm.spreads:
        # Ranks that all left a communicator ended in order: only a mixture is a fault.
        states = {share.value: share for share in spread.shares}
        for state in ("ABORT", "NOCOMM"):
            if state in states and len(states) > 1:
                share = states[state]
                verb = "have aborted" if state == "ABORT" else "know nothing of"
                yield TraceFinding(
                    "ras-left",
                    _ranks(share.ranks) or count_of(share.count, "rank"),
                    said_of(share.count, f"{verb} communicator {comm.hash}")
                    + ", which others still use",
                    _line(answer, f"status {state}", '"abort_flag": true', comm.hash),
                )


def _is_same(lag: Laggard, before: RasReply) -> bool:
    """Return whether ranks were as far behind in an earlier answer."""
    from envcfg.log.collective.ras import laggards

    # The ranks of the earlier answer may be more, because some have moved since.
    return any(
        laggard.key == lag.key
        and {rank.rank for rank in laggard.share.ranks}
        >= {r.rank for r in lag.share.ranks}
        for laggard in laggards(before.report)
    )


def _behind(answer: RasReply, lag: Laggard, *, stuck: bool) -> TraceFinding:
    share = lag.share
    subject = _ranks(share.ranks) or count_of(share.count, "rank")
    launched = f"have launched {share.value} of {lag.most} {lag.operation}"
    message = said_of(share.count, launched)
    where = f"in communicator {lag.comm.hash}"
    first = share.ranks[0].rank if share.ranks else -1
    # The line of the rank is the best evidence, else that of the operation.
    evidence = _line(answer, f"Rank {first} ", f'"rank": {first},', lag.operation)
    if stuck:
        return TraceFinding(
            "ras-stuck", subject, f"{message} {where}, as an answer before", evidence
        )
    doubt = f"whether the job hangs: {subject} {message}"
    return TraceFinding("ras-behind", subject, f"{message} {where}", evidence, doubt)


def _ranks(ranks: Sequence[RasRank]) -> str:
    hosts = {rank.host for rank in ranks if rank.host}
    return ranks_of({rank.rank for rank in ranks}, hosts) if ranks else ""


def _line(answer: RasReply, *texts: str) -> EvidenceLine | None:
    """Return the first line of an answer that holds one of *texts*, in their order."""
    for text in filter(None, texts):
        position = answer.text.find(text)
        if position >= 0:
            start = answer.text.rfind("\n", 0, position) + 1
            line = answer.text[start : start + 400].partition("\n")[0].strip()
            return EvidenceLine(
                answer.name, answer.text.count("\n", 0, start) + 1, line
            )
    return None


def of_dumps(traces: Traces) -> Iterator[TraceFinding]:
    """Yield the evidence in the Flight Recorder dumps of several ranks."""
    from envcfg.log.collective.lagging_ranks import culprits, lag, out_of_step, united

    dumps = [dump for _, dump in traces.dumps.values()]
    steps = out_of_step(dumps)
    for step in steps[:_MOST]:
        (usual_call, usual), (call, ranks) = step.calls[:2]
        yield TraceFinding(
            "flight-out-of-step",
            ranks_of(ranks),
            f"called {call} as number {step.seq} of "
            f"{_group(step.group, step.desc)}, {ranks_of(usual)} {usual_call}",
            _place(traces, ranks, step.group, step.seq),
        )
    # Later hangs in this group are a consequence of the difference.
    groups = {(step.group, step.desc) for step in steps}
    lags = [late for late in lag(dumps) if (late.group, late.desc) not in groups]
    opened = united(lags)
    waits = {rank for open_lag in opened for rank in open_lag.waiting}
    transfers = _transfers(dumps, waits)
    # Culprits of all groups come first, in one finding; the groups then follow.
    first = culprits(dumps, lags) if waits else set()
    leading = [*_leading(opened, first)]
    if first:
        united_finding = _united(traces, leading, first, transfers)
        yield united_finding._replace(cause=not steps)
    further = [open_lag for open_lag in opened if open_lag not in leading[:1]]
    for group_lag in [late for late in further if late.behind or not first][:_MOST]:
        yield _lagging(traces, group_lag)._replace(cause=not (first or steps))
    for rank, operation in list(transfers.items())[:_MOST] if not steps else ():
        message = f"in {operation}, which did not end"
        # A send alone may just be running; an open collective confirms the hang.
        doubt = "" if opened else f"whether the job hangs in {operation}"
        yield TraceFinding(
            "flight-open", f"rank {rank}", message, doubt=doubt, cause=not first
        )
    if dumps and not (steps or opened or transfers):
        calls = max(len(dump.entries) for dump in dumps)
        operation = f"{count_of(calls, 'operation')} recorded, none of them open"
        yield TraceFinding(
            "flight-even", ranks_of([dump.rank for dump in dumps]), operation
        )


def _transfers(dumps: Sequence[FlightDump], waits: set[int]) -> dict[int, str]:
    """Return the open transfer of each rank, without ranks that wait in a collective."""
    from envcfg.log.collective.lagging_ranks import open_transfers

    return {r: words for r, words in open_transfers(dumps).items() if r not in waits}


def _leading(lags: Sequence[GroupLag], first: set[int]) -> Iterator[GroupLag]:
    """Yield the groups that show the culprits *first*, the most and oldest at first."""
    open_ranks = set(first)
    never = float("inf")
    ordered = sorted(
        lags, key=lambda each: (-len(open_ranks & {*each.behind}), each.since or never)
    )
    for group_lag in ordered:
        if group_lag.waiting and not open_ranks.isdisjoint(group_lag.behind):
            open_ranks -= set(group_lag.behind)
            yield group_lag


def _united(
    traces: Traces,
    lags: Sequence[GroupLag],
    first: set[int],
    transfers: Mapping[int, str],
) -> TraceFinding:
    """Return one finding for the culprits *first* of all groups."""
    if not lags:  # they hold up others only by transfers, which no group counts
        message = f"{said_of(len(first), 'are')} in no open operation"
        for rank, words in list(transfers.items())[:1]:
            message += f", and rank {rank} waits in {words}"
        return TraceFinding("flight-behind", ranks_of(first), message)
    main, *further_findings = [
        _lagging(traces, group_lag) for group_lag in lags[:_MOST]
    ]
    further = [
        f"; {finding.subject}: {finding.message}" for finding in further_findings
    ]
    ranks = first.intersection({rank for late in lags for rank in late.behind})
    return main._replace(
        subject=ranks_of(ranks), message=main.message + "".join(further)
    )


def _lagging(traces: Traces, lag: GroupLag) -> TraceFinding:
    group = _group(lag.group, lag.desc)
    operation = f"number {lag.seq} of {group}" + (
        f", {lag.operation}" if lag.operation else ""
    )
    waiting = ranks_of(tuple(lag.waiting) or lag.done)
    evidence = _place(traces, tuple(lag.waiting), lag.group, lag.seq)
    ranks = lag.behind
    waits = f"{waiting} {said_of(len(lag.waiting or lag.done), 'wait')}"
    doubt = ""
    # A rank without a dump may be the one that holds the others up.
    if lag.unseen and not ranks:
        doubt = f"where {ranks_of(lag.unseen)} of {group} are: no dump"
    # All ranks with a dump called it, and it ended on none of them.
    if not ranks:
        message = f"in {operation}, which did not end"
        rule = "flight-timeout" if lag.timed_out else "flight-open"
        doubt = doubt or (
            "" if lag.timed_out else f"whether the job hangs in {operation}"
        )
        return TraceFinding(rule, waiting, message, evidence, doubt)
    rule = "flight-timeout" if lag.timed_out else "flight-behind"
    if lag.absent:
        message = said_of(len(ranks), f"did not call {operation}")
        reached = sorted(set(lag.absent.values()) - {0})
        if reached:
            last = (
                f"{reached[0]}" if len(reached) == 1 else f"{reached[0]}-{reached[-1]}"
            )
            message += f"; the last was {last}"
        message += f", and {waits}"
    elif lag.done:
        rule = "flight-stuck"
        message = said_of(len(ranks), f"are still in {operation}")
        message += f", which has ended on {ranks_of(lag.done)}"
    else:
        message = f"{said_of(len(ranks), 'have')} no dump, and {waits} in {operation}"
    for place in list(lag.elsewhere.values())[:1]:  # the group in which they wait
        same = [
            rank
            for rank, place_of_rank in lag.elsewhere.items()
            if place_of_rank == place
        ]
        message += f"; {ranks_of(same)} {said_of(len(same), 'wait')} in {place}"
    # Ranks of a running job are apart for a moment, as a dump on request may show.
    waited = (traces.written or 0) - (lag.since or 0) / 1e9
    is_moment = bool(traces.written and lag.since) and 0 <= waited < _SHORT
    if not lag.waiting or is_moment:
        rule, doubt = (
            "flight-open",
            f"whether the job hangs: {ranks_of(ranks)} {message}",
        )
    return TraceFinding(rule, ranks_of(ranks), message, evidence, doubt)


def _group(name: str, desc: str) -> str:
    return desc if desc and desc != "undefined" else f"group {name}"


def _place(
    traces: Traces, ranks: Sequence[int], group: str, seq: int
) -> EvidenceLine | None:
    """Return the place at which the first of *ranks* called a collective, with the file."""
    # The user finds the dump of the lowest rank first in the folder.
    name, dump = traces.dumps.get(min(ranks, default=-1), ("", None))
    for entry in dump.entries if dump else ():
        if (entry.group[0], entry.seq, entry.is_p2p) == (group, seq, False):
            where = f" at {entry.place}" if entry.place else ""
            words = one_line(f"{entry.text}, {entry.state}{where}")
            return EvidenceLine(name, 1, words)
    return None
