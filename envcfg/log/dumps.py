"""What Flight Recorder dumps tell of a hang, and the Inspector's lines of speed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from envcfg.characters import one_line
from envcfg.findings import Evidence
from envcfg.log.numbers import count_of, first_of, number_ranges, said_of
from envcfg.log.traces import Said, Traces

if TYPE_CHECKING:
    from envcfg.trace.flight import FlightDump
    from envcfg.trace.inspector import Speed
    from envcfg.trace.lag import GroupLag

_MOST = 5  # findings of one kind


def of_dumps(traces: Traces) -> Iterator[Said]:
    """Yield what the Flight Recorder dumps of several ranks tell."""
    from envcfg.trace.lag import follows, lag, open_transfers, out_of_step

    dumps = [dump for _, dump in traces.dumps.values()]
    steps = out_of_step(dumps)
    for step in steps[:_MOST]:
        usual, other = step.steps[:2]
        yield Said(
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
        yield _lagging(traces, each)._replace(cause=not follows(each, opened))
    waits = {rank for each in opened for rank in each.waiting}
    transfers = {r: what for r, what in open_transfers(dumps).items() if r not in waits}
    for rank, what in list(transfers.items())[:_MOST] if not steps else ():
        message = f"in {what}, which has not ended"
        yield Said(
            "flight-open",
            _numbers((rank,)),
            message,
            doubt="" if opened else f"whether the job hangs in {what}",
        )
    if dumps and not (steps or opened or transfers):
        calls = max(len(dump.entries) for dump in dumps)
        what = f"{count_of(calls, 'operation')} recorded, none of them open"
        yield Said("flight-even", _numbers([each.rank for each in dumps]), what)


def _lagging(traces: Traces, lag: GroupLag) -> Said:
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
        return Said(rule, waiting, message, evidence, doubt)
    reached = sorted(set(lag.absent.values()))
    last = f"{reached[0]}" if len(reached) == 1 else f"{reached[0]}-{reached[-1]}"
    waits = said_of(len(lag.waiting or lag.done), "wait")
    called = said_of(len(lag.absent), f"have not called {what}")
    message = f"{called}; the last was {last}, and {waiting} {waits}"
    message += f"; {_elsewhere(lag)}" if lag.elsewhere else ""
    rule = "flight-timeout" if lag.timed_out else "flight-behind"
    return Said(rule, _numbers(tuple(lag.absent)), message, evidence, doubt)


def _elsewhere(lag: GroupLag) -> str:
    """Return where ranks wait that others wait for."""
    first, what = next(iter(lag.elsewhere.items()))
    same = [rank for rank, each in lag.elsewhere.items() if each == what] or [first]
    return f"{_numbers(same)} {said_of(len(same), 'wait')} in {what}"


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


def of_speeds(speeds: Sequence[Speed]) -> Iterator[Said]:
    """Yield how fast the largest messages were, as the Inspector measured them."""
    largest: dict[tuple[str, str], Speed] = {}
    for each in speeds:  # the largest messages come first, and tell most of a network
        largest.setdefault((each.comm, each.name), each)
    for speed in list(largest.values())[:_MOST]:
        what = f"{speed.name} of {_size(speed.bytes)}"
        name = speed.comm_name or f"communicator {speed.comm}"
        times = count_of(speed.count, "time")
        yield Said(
            "inspector-speed",
            name,
            f"{what}: {speed.busbw:.4g} GB/s on the bus, {times}",
        )
        if speed.slow:
            who = _numbers([rank for rank, _, _ in speed.slow])
            hosts = first_of({host for _, host, _ in speed.slow if host})
            least = min(busbw for _, _, busbw in speed.slow)
            where = f" ({hosts})" if hosts else ""
            yield Said(
                "inspector-slow",
                f"{who}{where}",
                f"{what}: down to {least:.4g} GB/s, where the median is {speed.busbw:.4g}",
            )


def _size(count: int) -> str:
    for unit, name in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if count >= unit:
            return f"{count / unit:.4g} {name}"
    return f"{count} B"
