"""All nodes at one moment: the newest sample of each, and rates from two samples."""

import time
from collections.abc import Iterator, Sequence
from itertools import count
from typing import NamedTuple

from envcfg.common.child_process import ChildProcess
from envcfg.nodes.monitor.rank_view import rank_views
from envcfg.nodes.probe.gpu import Gpu
from envcfg.nodes.probe.runner import Patience, at
from envcfg.nodes.probe.sample import (
    Counter,
    GpuSample,
    NodeSample,
    RankSample,
    Sample,
    SampleReader,
)


class NodeView(NamedTuple):
    """The state of a node."""

    host: str
    # The newest sample; None if the node has never answered.
    sample: NodeSample | None = None
    age: float | None = None  # seconds since it came
    is_silent: bool = True
    processor_use: float | None = None  # percent of all cores since the sample before
    links: tuple[Counter, ...] = ()
    # Number of GPUs that Slurm reports for the step; None if unknown.
    allotted: int | None = None
    tool: str | None = None  # program that reports the GPUs, `none` if there is none
    gpus: tuple[Gpu, ...] = ()  # of this job, as far as the tool shows it
    other_gpus: int = 0  # number of the node's GPUs that the job does not have
    problem: str | None = None  # message of the tool instead of numbers
    tool_waits: float | None = None  # seconds since a late tool was started
    # The job's ranks on the node, if the probe asks for them.
    ranks: tuple[RankSample, ...] = ()


class _State:
    """The last samples of a node, with their times."""

    def __init__(self) -> None:
        self.node: NodeSample | None = None
        self.before: NodeSample | None = None
        self.came = 0.0
        self.gpus: GpuSample | None = None
        self.gpus_before: GpuSample | None = None
        self.first: dict[int, Gpu] = {}  # by number
        self.asked: float | None = None  # start of a late tool


class Board:
    """All nodes of a job, or those that were chosen."""

    def __init__(self, hosts: Sequence[str], *, idle_below: float) -> None:
        """Expect *hosts*; a GPU idles below a use of *idle_below* percent."""
        self.hosts = list(hosts)
        self._idle_below = idle_below
        self._states: dict[str, _State] = {host: _State() for host in hosts}

    def take(self, sample: Sample, now: float) -> None:
        """Store a sample that came *now* (seconds of a monotonic clock)."""
        state = self._states.get(sample.host)
        if state is None:
            return  # the line is of another writer
        if isinstance(sample, NodeSample):
            state.before, state.node, state.came = state.node, sample, now
        elif isinstance(sample, GpuSample):
            state.gpus_before, state.gpus, state.asked = state.gpus, sample, None
            for gpu in sample.gpus:
                if _is_new(gpu, state.first.setdefault(gpu.number, gpu)):
                    state.first[gpu.number] = gpu
        elif state.asked is None:
            state.asked = state.came  # the tool was started with the previous sample

    def has_answers(self, number: int, now: float, patience: float) -> bool:
        """Return whether every node has answered *number*, including its GPUs.

        A node without an answer for *patience* seconds, or ever, is not awaited again.
        """
        for state in self._states.values():
            # In the first round every node is awaited, because steps start slowly.
            if number > 1 and not (state.node and now - state.came <= patience):
                continue
            has_gpus = state.gpus is not None and state.gpus.number >= number
            is_late = state.asked is not None
            # A late tool does not hold up the values of the node itself.
            if (
                not state.node
                or state.node.number < number
                or not (is_late or has_gpus)
            ):
                return False
        return True

    def has_any(self) -> bool:
        """Return whether any node has answered."""
        return any(state.node for state in self._states.values())

    def views(self, now: float, patience: float) -> list[NodeView]:
        """Return all nodes in order; one without a sample for *patience* s is silent."""
        return [self._view(*state, now, patience) for state in self._states.items()]

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
        # One low sample may fall between two kernels, so idling needs two of them.
        was_idle = {gpu.number: self._is_idle(gpu) for gpu in earlier}
        ours = [gpu for gpu in answer.gpus if gpu.is_ours]
        numbers = [gpu.number for gpu in ours]
        return view._replace(
            allotted=answer.allotted,
            tool=answer.tool,
            gpus=tuple(
                _since(
                    state.first[gpu.number],
                    gpu._replace(
                        is_idle=was_idle.get(gpu.number, False) and self._is_idle(gpu)
                    ),
                )
                for gpu in ours
            ),
            other_gpus=len(answer.gpus) - len(ours),
            ranks=tuple(rank_views(state.before, sample, numbers)),
            problem=answer.problem,
        )

    def _is_idle(self, gpu: Gpu) -> bool:
        return gpu.use is not None and gpu.use < self._idle_below


def _since(first: Gpu, now: Gpu) -> Gpu:
    """Return *now* with its errors since *first*."""
    return now._replace(
        corrected=(now.corrected or 0) - (first.corrected or 0),
        uncorrected=(now.uncorrected or 0) - (first.uncorrected or 0),
    )


def _is_new(now: Gpu, first: Gpu) -> bool:
    """Return whether the counters of *now* are not those of *first*, counted further."""
    # A driver that was loaded again counts from 0.
    pairs = ((now.corrected, first.corrected), (now.uncorrected, first.uncorrected))
    return any(
        count is not None and (old is None or count < old) for count, old in pairs
    )


def _processor_use(before: NodeSample | None, now: NodeSample) -> float | None:
    # Both samples are needed, because the kernel counts from the node's start.
    if before is None or None in (before.spent, before.busy, now.spent, now.busy):
        return None
    spent = (now.spent or 0) - (before.spent or 0)
    busy = (now.busy or 0) - (before.busy or 0)
    return min(100.0, 100 * busy / spent) if spent > 0 and busy >= 0 else None


def _links(before: NodeSample | None, now: NodeSample) -> Iterator[Counter]:
    """Yield the counters of *now*, with rates if *before* has the same counters."""
    seconds = now.time - before.time if before else 0.0
    old_counters = before.counters if before and seconds > 0 else ()
    old = {(counter.name, counter.is_adapter): counter for counter in old_counters}
    for counter in now.counters:
        if earlier := old.get((counter.name, counter.is_adapter)):
            received = _rate(earlier.received, counter.received, seconds)
            sent = _rate(earlier.sent, counter.sent, seconds)
            yield counter._replace(received_rate=received, sent_rate=sent)
        else:
            yield counter


def _rate(before: int, now: int, seconds: float) -> float | None:
    """Return bytes per second; None for a counter that was reset."""
    # Drivers reset counters when an interface restarts.
    return (now - before) / seconds if now >= before else None


PATIENCE = 10.0  # seconds after which a node that has answered before is silent
_START = 60.0  # seconds for the first answer: a large job's step starts slowly


def rounds(step: ChildProcess, board: Board, interval: float) -> Iterator[float]:
    """Ask all nodes every *interval* seconds; yield the time after each round of answers.

    The time is that of ``time.monotonic``. A node that does not answer delays one round,
    for ``PATIENCE`` seconds. The iteration ends with the step.
    """
    reader = SampleReader()

    def take(line: str) -> None:
        if sample := reader.feed(line):
            board.take(sample, time.monotonic())

    def answers(now: float) -> float | None:
        """Return the deadline for the answers to the last number."""
        if board.has_answers(number, now, PATIENCE):
            return None
        return patience.until(now, PATIENCE, has_any=board.has_any())

    for number in count(1):
        began = time.monotonic()
        patience = Patience(_START, began)
        step.send(b"%d\n" % number)
        try:
            step.read(take, answers)
            yield time.monotonic()
            # The rest of the interval also reads late lines.
            step.read(take, at(began + interval))
        except EOFError:
            return
