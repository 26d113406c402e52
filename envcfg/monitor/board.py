"""What is known of all nodes at a moment: the newest sample of each, and rates from two."""

import time
from collections.abc import Iterator, Sequence
from itertools import count
from typing import NamedTuple

from envcfg.probe.gpu import Gpu
from envcfg.probe.runner import Patience, Step, at
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
        for each in self._states.values():
            if number > 1 and not (each.node and now - each.came <= patience):
                continue
            has_gpus = each.gpus is not None and each.gpus.number >= number
            is_late = each.asked is not None
            if not each.node or each.node.number < number or not (is_late or has_gpus):
                return False
        return True

    def has_any(self) -> bool:
        """Tell whether any node has answered."""
        return any(state.node is not None for state in self._states.values())

    def views(self, now: float, patience: float) -> list[NodeView]:
        """Return all nodes in their order; silent are those older than *patience* s."""
        return [self._view(*each, now, patience) for each in self._states.items()]

    def _view(self, host: str, state: _State, now: float, patience: float) -> NodeView:
        sample, answer = state.node, state.gpus
        if sample is None:
            return NodeView(host)
        view = NodeView(
            host,
            sample,
            now - state.came,
            is_silent=now - state.came > patience,
            processor_use=_processor_use(state.before, sample),
            links=tuple(_links(state.before, sample)),
            tool_waits=None if state.asked is None else now - state.asked,
        )
        if answer is None:
            return view
        earlier = state.gpus_before.gpus if state.gpus_before else ()
        was_idle = {each.number: self._is_idle(each) for each in earlier}
        ours = [gpu for gpu in answer.gpus if gpu.is_ours]
        return view._replace(
            allotted=answer.allotted,
            tool=answer.tool,
            gpus=tuple(
                GpuView(gpu, was_idle.get(gpu.number, False) and self._is_idle(gpu))
                for gpu in ours
            ),
            others=len(answer.gpus) - len(ours),
            problem=answer.problem,
        )

    def _is_idle(self, gpu: Gpu) -> bool:
        return gpu.use is not None and gpu.use < self._idle_below


def _processor_use(before: NodeSample | None, now: NodeSample) -> float | None:
    if before is None or None in (before.spent, before.busy, now.spent, now.busy):
        return None
    spent = (now.spent or 0) - (before.spent or 0)
    busy = (now.busy or 0) - (before.busy or 0)
    return min(100.0, 100 * busy / spent) if spent > 0 and busy >= 0 else None


def _links(before: NodeSample | None, now: NodeSample) -> Iterator[Counter]:
    """Yield the counters of *now*, with rates where they were read *before*."""
    seconds = now.time - before.time if before else 0.0
    told = before.counters if before and seconds > 0 else ()
    old = {(each.name, each.is_adapter): each for each in told}
    for each in now.counters:
        if earlier := old.get((each.name, each.is_adapter)):
            received = _rate(earlier.received, each.received, seconds)
            sent = _rate(earlier.sent, each.sent, seconds)
            yield each._replace(received_rate=received, sent_rate=sent)
        else:
            yield each


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

    def answers(now: float) -> float | None:
        """Return until when the answers to the last number are waited for."""
        if board.has_answers(number, now, PATIENCE):
            return None
        return patience.until(now, PATIENCE, has_any=board.has_any())

    for number in count(1):
        began = time.monotonic()
        patience = Patience(_START, began)
        step.ask(number)
        try:
            step.read(take, answers)
            yield time.monotonic()
            step.read(take, at(began + interval))
        except EOFError:
            return
