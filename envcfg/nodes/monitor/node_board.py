"""All nodes at one moment: the newest sample of each, and rates from two samples."""

import time
from collections.abc import Iterator, Sequence
from itertools import count
from typing import NamedTuple

from envcfg.common.characters import whole_number
from envcfg.nodes.probe.gpu import Gpu
from envcfg.nodes.probe.runner import Patience, Step, at
from envcfg.nodes.probe.sample import (
    Counter,
    GpuSample,
    NodeSample,
    RankSample,
    Sample,
    SampleReader,
)

_TICKS = 100  # of the kernel for programs, in a second (USER_HZ)
_MOST_CORES = 8192


class GpuView(NamedTuple):
    """A GPU and whether it idles: below the limit in this sample and the one before."""

    gpu: Gpu
    is_idle: bool = False


class RankView(NamedTuple):
    """A rank and the time of processors since the sample before, in cores.

    Attributes:
        gpus: numbers of its GPUs as the node's tool counts them; empty if unknown.
        use, worker_use: 1.0 is a whole core; None before the second sample, and
            after a new start.
    """

    sample: RankSample
    gpus: tuple[int, ...] = ()
    use: float | None = None
    worker_use: float | None = None

    @property
    def cores(self) -> frozenset[int]:
        """The cores that it may use; empty if unknown."""
        return core_numbers(self.sample.cores)


class NodeView(NamedTuple):
    """The state of a node.

    Attributes:
        sample: the newest sample; None if the node has never answered.
        age: seconds since it came.
        is_silent: True if an answer is overdue.
        processor_use: percent of all cores since the sample before.
        allotted: number of GPUs that Slurm reports for the step; None if unknown.
        tool: program that reports the GPUs, ``none`` if there is none.
        gpus: of this job, as far as the tool shows it.
        other_gpus: number of the node's GPUs that the job does not have.
        problem: message of the tool instead of numbers.
        tool_waits: seconds since a late tool was started.
        ranks: the job's ranks on the node, if the probe asks for them.
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
    other_gpus: int = 0
    problem: str | None = None
    tool_waits: float | None = None
    ranks: tuple[RankView, ...] = ()


class _State:
    """The last samples of a node, with their times."""

    def __init__(self) -> None:
        self.node: NodeSample | None = None
        self.before: NodeSample | None = None
        self.came = 0.0
        self.gpus: GpuSample | None = None
        self.gpus_before: GpuSample | None = None
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
        return view._replace(
            allotted=answer.allotted,
            tool=answer.tool,
            gpus=tuple(
                GpuView(gpu, was_idle.get(gpu.number, False) and self._is_idle(gpu))
                for gpu in ours
            ),
            other_gpus=len(answer.gpus) - len(ours),
            ranks=tuple(_ranks(state.before, sample, [gpu.number for gpu in ours])),
            problem=answer.problem,
        )

    def _is_idle(self, gpu: Gpu) -> bool:
        return gpu.use is not None and gpu.use < self._idle_below


def _processor_use(before: NodeSample | None, now: NodeSample) -> float | None:
    # Both samples are needed, because the kernel counts from the node's start.
    if before is None or None in (before.spent, before.busy, now.spent, now.busy):
        return None
    spent = (now.spent or 0) - (before.spent or 0)
    busy = (now.busy or 0) - (before.busy or 0)
    return min(100.0, 100 * busy / spent) if spent > 0 and busy >= 0 else None


def _ranks(
    before: NodeSample | None, now: NodeSample, gpus: Sequence[int]
) -> Iterator[RankView]:
    # Several steps have the same numbers of ranks.
    old = {(rank.step, rank.rank): rank for rank in before.ranks} if before else {}
    seconds = now.time - before.time if before else 0.0
    for rank in now.ranks:
        view = RankView(rank, _gpus_of(rank, gpus, is_alone=len(now.ranks) == 1))
        earlier = old.get((rank.step, rank.rank))
        if earlier and seconds > 0:
            spent = rank.ticks - earlier.ticks
            worked = rank.worker_ticks - earlier.worker_ticks
            share = 1 / (seconds * _TICKS)
            # A program that was started again counts from 0; workers that ended took
            # their time with them.
            if spent >= 0:
                view = view._replace(use=spent * share)
            if worked >= 0:
                view = view._replace(worker_use=worked * share)
        yield view


def _gpus_of(
    rank: RankSample, gpus: Sequence[int], *, is_alone: bool
) -> tuple[int, ...]:
    """Return the GPUs of *rank*, of the node's *gpus*; empty if they are unknown.

    A rank that sees several takes that of its local rank, as PyTorch's launchers do.
    """
    numbers = [whole_number(word) for word in rank.mask.split(",")]
    visible = [number for number in numbers if number is not None]
    if rank.mask == "-":
        visible = [*gpus]
    elif len(visible) < len(numbers):  # the mask has names of GPUs
        return ()
    if len(visible) > 1 and not is_alone:
        local = -1 if rank.local is None else rank.local
        visible = visible[local : local + 1] if local >= 0 else []
    return tuple(number for number in visible if number in gpus)


def core_numbers(text: str) -> frozenset[int]:
    """Return the numbers of a list of cores such as ``0-7,64``; empty if it is none."""
    numbers: set[int] = set()
    for part in text.split(","):
        first, _, last = part.partition("-")
        a, b = whole_number(first), whole_number(last or first)
        if a is None or b is None or not 0 <= b - a < _MOST_CORES:
            return frozenset()
        numbers.update(range(a, b + 1))
    return frozenset(numbers)


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


def rounds(step: Step, board: Board, interval: float) -> Iterator[float]:
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
        step.ask(number)
        try:
            step.read(take, answers)
            yield time.monotonic()
            # The rest of the interval also reads late lines.
            step.read(take, at(began + interval))
        except EOFError:
            return
