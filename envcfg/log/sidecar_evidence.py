"""What answers of RAS and Flight Recorder dumps tell of a hang, the Inspector of speed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from envcfg.characters import one_line
from envcfg.findings import Evidence
from envcfg.log.numbers import count_of, first_of, ranks_of, said_of
from envcfg.log.sidecars import Answer, Said, Traces, are_apart

if TYPE_CHECKING:
    from envcfg.trace.flight import FlightDump
    from envcfg.trace.inspector import Speed
    from envcfg.trace.lag import GroupLag
    from envcfg.trace.ras import Laggard
    from envcfg.trace.ras_records import RasComm, RasRank

_MOST = 5  # findings of one kind; of ranks that are behind, the farthest come first


def of_answers(answers: Sequence[Answer]) -> Iterator[Said]:
    """Yield what answers of RAS tell, the oldest of them first.

    What is given up or has failed stays so; how far ranks are, the last one tells.
    """
    from envcfg.trace.ras import laggards

    found: dict[tuple[str, str], Said] = {}
    for answer in answers:
        in_comms = (
            each for comm in answer.report.comms for each in _of_comm(answer, comm)
        )
        for each in (*_silent(answer, dead=True), *in_comms):
            found.setdefault((each.rule, each.subject), each)
    for last in answers[-1:]:
        for each in _silent(last, dead=False):
            found[each.rule, each.subject] = each
        late = laggards(last.report)
        if last.report.whole and not (found or late):
            many = len(last.report.comms) or sum(
                each.comms for each in last.report.groups
            )
            what = f"{count_of(many, 'communicator')}: all ranks answer, none is behind"
            shown = _line(last, "NCCL version", "nccl_version")
            yield Said("ras-even", "job", what, shown)
        yield from found.values()
        for lag in late[:_MOST]:
            before = [each for each in answers[:-1] if are_apart(each, last)]
            stuck = any(_is_same(lag, each) for each in before)
            yield _behind(last, lag, stuck=stuck)


def _silent(answer: Answer, *, dead: bool) -> Iterator[Said]:
    report = answer.report
    named = [each for each in report.silent if each.dead == dead]
    many = max(report.dead if dead else report.missing, len(named))
    if many:
        what = "are given up by NCCL" if dead else "did not answer NCCL in time"
        where = first_of({f"process {each.pid} on {each.host}" for each in named})
        written = (
            (f"Process {named[0].pid} ", f'"pid": {named[0].pid},') if named else ()
        )
        yield Said(
            "ras-dead" if dead else "ras-silent",
            where if len(named) == many else count_of(many, "process", "processes"),
            said_of(many, what),
            _line(answer, *written),
        )


def _of_comm(answer: Answer, comm: RasComm) -> Iterator[Said]:
    failed = [each for each in comm.ranks if each.error]
    if failed or comm.failed:
        errors = first_of({each.error for each in failed}) or "an error"
        yield Said(
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
                yield Said(
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


def _behind(answer: Answer, lag: Laggard, *, stuck: bool) -> Said:
    share = lag.share
    who = _ranks(share.ranks) or count_of(share.count, "rank")
    launched = f"have launched {share.value} of {lag.most} {lag.operation}"
    what = said_of(share.count, launched)
    where = f"in communicator {lag.comm.hash}"
    first = share.ranks[0].rank if share.ranks else -1
    evidence = _line(answer, f"Rank {first} ", f'"rank": {first},', lag.operation)
    if stuck:
        return Said("ras-stuck", who, f"{what} {where}, as an answer before", evidence)
    doubt = f"whether the job hangs: {who} {what}"
    return Said("ras-behind", who, f"{what} {where}", evidence, doubt)


def _ranks(ranks: Sequence[RasRank]) -> str:
    hosts = {each.host for each in ranks if each.host}
    return ranks_of({each.rank for each in ranks}, hosts) if ranks else ""


def _line(answer: Answer, *texts: str) -> Evidence | None:
    """Return the first line of an answer that holds one of *texts*, in their order."""
    for text in filter(None, texts):
        at = answer.text.find(text)
        if at >= 0:
            start = answer.text.rfind("\n", 0, at) + 1
            line = answer.text[start : start + 400].partition("\n")[0].strip()
            return Evidence(answer.name, answer.text.count("\n", 0, start) + 1, line)
    return None


def of_dumps(traces: Traces) -> Iterator[Said]:
    """Yield what the Flight Recorder dumps of several ranks tell."""
    from envcfg.trace.lag import follows, lag, open_transfers, out_of_step

    dumps = [dump for _, dump in traces.dumps.values()]
    steps = out_of_step(dumps)
    for step in steps[:_MOST]:
        usual, other = step.steps[:2]
        yield Said(
            "flight-out-of-step",
            ranks_of(other.ranks),
            f"called {other.called} as number {step.seq} of "
            f"{_group(step.group, step.desc)}, {ranks_of(usual.ranks)} {usual.called}",
            _place(traces, other.ranks, step.group, step.seq),
        )
    # What hangs from there on follows from it.
    known = {(each.group, each.desc) for each in steps}
    opened = lag(dumps)
    for each in [each for each in opened if (each.group, each.desc) not in known][
        :_MOST
    ]:
        yield _lagging(traces, each)._replace(cause=not follows(each, opened))
    waits = {rank for each in opened for rank in each.waiting}
    transfers = {r: what for r, what in open_transfers(dumps).items() if r not in waits}
    for rank, what in list(transfers.items())[:_MOST] if not steps else ():
        message = f"in {what}, which did not end"
        doubt = "" if opened else f"whether the job hangs in {what}"
        yield Said("flight-open", f"rank {rank}", message, doubt=doubt)
    if dumps and not (steps or opened or transfers):
        calls = max(len(dump.entries) for dump in dumps)
        what = f"{count_of(calls, 'operation')} recorded, none of them open"
        yield Said("flight-even", ranks_of([each.rank for each in dumps]), what)


def _lagging(traces: Traces, lag: GroupLag) -> Said:
    group = _group(lag.group, lag.desc)
    what = f"number {lag.seq} of {group}" + (
        f", {lag.operation}" if lag.operation else ""
    )
    waiting = ranks_of(tuple(lag.waiting) or lag.done)
    evidence = _place(traces, tuple(lag.waiting), lag.group, lag.seq)
    doubt = ""
    if lag.unseen:
        doubt = f"where {ranks_of(lag.unseen)} of {group} are: no dump"
    if not lag.absent:
        message = f"in {what}, which did not end"
        rule = "flight-timeout" if lag.timed_out else "flight-open"
        doubt = doubt or ("" if lag.timed_out else f"whether the job hangs in {what}")
        return Said(rule, waiting, message, evidence, doubt)
    reached = sorted(set(lag.absent.values()))
    last = f"{reached[0]}" if len(reached) == 1 else f"{reached[0]}-{reached[-1]}"
    waits = said_of(len(lag.waiting or lag.done), "wait")
    called = said_of(len(lag.absent), f"did not call {what}")
    message = f"{called}; the last was {last}, and {waiting} {waits}"
    for other in list(lag.elsewhere.values())[:1]:  # where they wait themselves
        same = [rank for rank, each in lag.elsewhere.items() if each == other]
        message += f"; {ranks_of(same)} {said_of(len(same), 'wait')} in {other}"
    rule = "flight-timeout" if lag.timed_out else "flight-behind"
    return Said(rule, ranks_of(tuple(lag.absent)), message, evidence, doubt)


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


def of_speeds(speeds: Sequence[Speed]) -> Iterator[Said]:
    """Yield how fast the largest messages were, as the Inspector measured them."""
    largest: dict[tuple[str, str], Speed] = {}
    for each in speeds:  # the largest messages come first, and tell most of a network
        largest.setdefault((each.comm, each.name), each)
    for speed in list(largest.values())[:_MOST]:
        size = f"{speed.bytes} B"
        for unit, name in ((1 << 10, "KiB"), (1 << 20, "MiB"), (1 << 30, "GiB")):
            if speed.bytes >= unit:
                size = f"{speed.bytes / unit:.4g} {name}"
        what = f"{speed.name} of {size}"
        name = speed.comm_name or f"communicator {speed.comm}"
        times = count_of(speed.count, "time")
        said = f"{what}: {speed.busbw:.4g} GB/s on the bus, {times}"
        yield Said("inspector-speed", name, said)
        if speed.slow:
            hosts = {host for _, host, _ in speed.slow if host}
            who = ranks_of([rank for rank, _, _ in speed.slow], hosts)
            least = min(busbw for _, _, busbw in speed.slow)
            said = f"{what}: down to {least:.4g} GB/s"
            said += f", where the median is {speed.busbw:.4g}"
            yield Said("inspector-slow", who, said)
