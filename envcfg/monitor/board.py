"""What is known of all nodes at a moment: the newest sample of each, and rates from two."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from itertools import count
from typing import NamedTuple

from envcfg.probe.gpu import Gpu
from envcfg.probe.runner import Deadline, Patience, Step, at
from envcfg.probe.sample import Counter, GpuSample, NodeSample, Sample, SampleReader


class GpuView(NamedTuple):
    """A GPU and whether it idles: below the limit in this sample and the one before."""

    gpu: Gpu
    is_idle: bool = False


class NodeView(NamedTuple):
    """What is known of a node.

    Attributes:
        sample: the newest; None where it has not answered at all.
        age: seconds since it came.
        is_silent: it should have answered by now.
        processor_use: percent of all cores since the sample before.
        allotted: how many GPUs Slurm says the step has; None where it says nothing.
        tool: what was asked for the GPUs, ``none`` where there is nothing to ask.
        gpus: of this job, as far as the tool can tell.
        others: GPUs of the node that the job does not have.
        problem: what the tool says instead of numbers.
        tool_waits: seconds for which the tool has not answered, if it is late.
    """

    host: str
    sample: NodeSample | None = None
    age: float | None = None
    is_silent: bool = True
    processor_use: float | None = None
    links: tuple[Counter, ...] = ()
    allotted: int | None = None
    tool: str | None = None
    gpus: tuple[GpuView, ...] = ()
    others: int = 0
    problem: str | None = None
    tool_waits: float | None = None


class _State:
    """The last samples of a node, and when they came."""

    def __init__(self) -> None:
        self.node: NodeSample | None = None
        self.before: NodeSample | None = None
        self.came = 0.0
        self.gpus: GpuSample | None = None
        self.gpus_before: GpuSample | None = None
        self.asked: float | None = None  # since when the tool is late

    def has_answered(self, number: int) -> bool:
        if self.node is None or self.node.number < number:
            return False
        late = self.asked is not None
        return late or (self.gpus is not None and self.gpus.number >= number)


class Board:
    """All nodes of a job, or those that were chosen."""

    def __init__(self, hosts: Sequence[str], *, idle_below: float) -> None:
        """Expect *hosts*; a GPU idles below a use of *idle_below* percent."""
        self.hosts = list(hosts)
        self._idle_below = idle_below
        self._states: dict[str, _State] = {host: _State() for host in hosts}

    def take(self, sample: Sample, now: float) -> None:
        """Note a sample that came *now* (seconds of any clock that only goes on)."""
        state = self._states.get(sample.host)
        if state is None:
            return  # no node of this job: a line of somebody else
        if isinstance(sample, NodeSample):
            state.before, state.node, state.came = state.node, sample, now
        elif isinstance(sample, GpuSample):
            state.gpus_before, state.gpus, state.asked = state.gpus, sample, None
        elif state.asked is None:
            state.asked = state.came  # the tick before, which started the tool

    def has_answers(self, number: int, now: float, patience: float) -> bool:
        """Tell whether every node has answered *number*, its GPUs too.

        Who has said nothing for *patience* seconds, or never, is not waited for again.
        """
        return all(
            state.has_answered(number)
            for state in self._states.values()
            if number == 1 or (state.node and now - state.came <= patience)
        )

    def has_any(self) -> bool:
        """Tell whether any node has answered."""
        return any(state.node is not None for state in self._states.values())

    def views(self, now: float, patience: float) -> list[NodeView]:
        """Return all nodes in their order; silent are those older than *patience* s."""
        return [
            self._view(host, state, now, patience)
            for host, state in self._states.items()
        ]

    def _view(self, host: str, state: _State, now: float, patience: float) -> NodeView:
        sample = state.node
        if sample is None:
            return NodeView(host)
        age = now - state.came
        view = NodeView(
            host,
            sample,
            age,
            is_silent=age > patience,
            processor_use=_processor_use(state.before, sample),
            links=_links(state.before, sample),
            tool_waits=None if state.asked is None else now - state.asked,
        )
        answer = state.gpus
        if answer is None:
            return view
        return view._replace(
            allotted=answer.allotted,
            tool=answer.tool,
            gpus=tuple(
                GpuView(gpu, self._is_idle(gpu, state.gpus_before))
                for gpu in answer.gpus
                if gpu.is_ours
            ),
            others=sum(not gpu.is_ours for gpu in answer.gpus),
            problem=answer.problem,
        )

    def _is_idle(self, gpu: Gpu, before: GpuSample | None) -> bool:
        earlier = {each.number: each for each in before.gpus} if before else {}
        twice = (gpu, earlier.get(gpu.number))
        return all(
            each is not None and each.use is not None and each.use < self._idle_below
            for each in twice
        )


def _processor_use(before: NodeSample | None, now: NodeSample) -> float | None:
    if before is None or None in (before.spent, before.busy, now.spent, now.busy):
        return None
    spent = (now.spent or 0) - (before.spent or 0)
    busy = (now.busy or 0) - (before.busy or 0)
    return min(100.0, 100 * busy / spent) if spent > 0 and busy >= 0 else None


def _links(before: NodeSample | None, now: NodeSample) -> tuple[Counter, ...]:
    """Return the counters of *now*, with rates where they were read *before*."""
    old: dict[tuple[str, bool], Counter] = {}
    if before and now.time > before.time:
        old = {(each.name, each.is_adapter): each for each in before.counters}
    seconds = now.time - before.time if before else 0.0
    found = []
    for counter in now.counters:
        earlier = old.get((counter.name, counter.is_adapter))
        found.append(
            counter._replace(
                received_rate=_rate(earlier.received, counter.received, seconds),
                sent_rate=_rate(earlier.sent, counter.sent, seconds),
            )
            if earlier
            else counter
        )
    return tuple(found)


def _rate(before: int, now: int, seconds: float) -> float | None:
    """Return bytes per second; None for a counter that was reset."""
    return (now - before) / seconds if now >= before else None


PATIENCE = 10.0  # seconds after which a node that has answered before is silent
_START = 60.0  # seconds for the first answer: a large job's step starts slowly


def rounds(step: Step, board: Board, interval: float) -> Iterator[float]:
    """Ask all nodes each *interval* seconds; yield the time when the answers are there.

    The time is that of ``time.monotonic``. A node that does not answer holds up one round,
    for ``PATIENCE`` seconds. It is over when the step is.
    """
    reader = SampleReader()

    def take(line: str) -> None:
        if sample := reader.feed(line):
            board.take(sample, time.monotonic())

    for number in count(1):
        began = time.monotonic()
        step.ask(number)
        try:
            step.read(take, _answers(board, number, began))
            yield time.monotonic()
            step.read(take, at(began + interval))
        except EOFError:
            return


def _answers(board: Board, number: int, began: float) -> Deadline:
    """Return until when the answers to *number*, asked at *began*, are waited for."""
    patience = Patience(_START, began)

    def deadline(now: float) -> float | None:
        if board.has_answers(number, now, PATIENCE):
            return None
        return patience.until(now, PATIENCE, has_any=board.has_any())

    return deadline
