"""The health of a running step: findings on its nodes over several minutes; pure.

A single sample falls between two steps or into a checkpoint. A GPU counts as idle only if
all samples of the last minutes are low, and its use is their mean.
"""

import re
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from statistics import fmean
from typing import NamedTuple

from envcfg.common.findings import Finding
from envcfg.log.numbers import count_of, first_of, grouped, ranks_of
from envcfg.nodes.monitor.node_board import GpuView, NodeView
from envcfg.nodes.monitor.outliers import ExpectedNodes, Mark, make_mark, marks
from envcfg.nodes.monitor.rank_marks import rank_marks

SAMPLES = 5  # of a GPU that count together
_IDLE = 5.0  # percent of use
_BUSY = 50.0  # percent of use on the average, from which a GPU counts as busy
_MOST_LINES = 16  # at one time
_REPEATS = 3  # times that the same finding on a node is printed
_MOST_IN_ALL = 100  # lines of a step
# Rules about values that are missing: the node may be good or bad.
_UNKNOWN = frozenset(
    {"node-silent", "gpu-tool-waits", "gpu-tool-fails", "gpu-unseen", "gpu-unknown"}
)
_HALF = 0.5  # share of the memory, below which growth is no problem yet
_SOON = 3600.0  # seconds until the memory is full
_LOOKS = 4  # in a row that show a finding: a mean takes three to follow a change
_AT_ONCE = _UNKNOWN | {"gpu-idle"}  # these need several samples anyway
_OF_GPUS = frozenset({"gpu-idle", "gpu-unknown", "gpu-unlike"})
# A high load harms only GPUs that wait, and NCCL's own log proves the network in use.
_ALONE = frozenset({"load-high", "wrong-interface"})


class NodeFinding(NamedTuple):
    """A finding on a node of the step.

    Attributes:
        gpus: numbers of the GPUs in question, as the node's tool counts them.
        ranks: the ranks that use these GPUs; empty if they are unknown.
    """

    gpus: tuple[int, ...]
    ranks: tuple[int, ...]
    finding: Finding

    @property
    def kind(self) -> str:
        """The id of its rule."""
        return self.finding.rule

    @property
    def node(self) -> str:
        """The name of the node."""
        return self.finding.subject

    @property
    def is_unknown(self) -> bool:
        """Whether values are missing, so that the node may be good or bad."""
        return self.kind in _UNKNOWN

    @property
    def key(self) -> object:
        """The finding without its measured numbers."""
        text = re.sub(r"[0-9.]+", "", self.finding.message)
        return self.kind, self.node, self.gpus, self.ranks, text


class StepHealth(NamedTuple):
    """The state of all nodes of a step.

    Attributes:
        gpus: number of the GPUs with a known use.
        use: their mean use in percent; None if there are none.
        is_whole: every node has answered the last question.
        is_shared: the nodes run ranks of several steps, so the GPUs of one are unknown.
        has_request: the job may have requested GPUs.
        nodes: in order; the use of a GPU is that of the last samples.
    """

    findings: tuple[NodeFinding, ...] = ()
    gpus: int = 0
    use: float | None = None
    is_whole: bool = True
    nodes: tuple[NodeView, ...] = ()
    is_shared: bool = False
    has_request: bool = True


class UseHistory:
    """The last samples of each node's GPUs."""

    def __init__(self) -> None:
        """Begin without samples."""
        self._uses: dict[str, deque[Mapping[int, float]]] = {}
        self._memory: dict[str, deque[tuple[float, int]]] = {}

    def add(self, views: Sequence[NodeView]) -> None:
        """Store the newest sample of each node that has answered."""
        for view in views:
            sample = view.sample
            if sample and sample.memory_used is not None and not view.is_silent:
                values = self._memory.setdefault(view.host, deque(maxlen=SAMPLES))
                if not values or values[-1][0] < sample.time:
                    values.append((sample.time, sample.memory_used))
            if view.tool is not None and view.tool_waits is None and not view.is_silent:
                samples = self._uses.setdefault(view.host, deque(maxlen=SAMPLES))
                samples.append(
                    {
                        g.gpu.number: g.gpu.use
                        for g in view.gpus
                        if g.gpu.use is not None
                    }
                )

    def health(
        self, views: Sequence[NodeView], asked_gpus: int | None, *, is_whole: bool
    ) -> StepHealth:
        """Return the health of the step.

        *asked_gpus*: of each node; None: unknown; 0: the job requested none.
        """
        steady = [self._steady(view) for view in views]
        steps = {rank.sample.step for view in views for rank in view.ranks} - {"-"}
        if len(steps) > 1:
            return StepHealth(is_whole=is_whole, nodes=tuple(steady), is_shared=True)
        usual = max((len(view.gpus) for view in views), default=0)
        # Nodes may have GPUs that Slurm does not count.
        requirements = ExpectedNodes(asked_gpus=asked_gpus or None, usual_gpus=usual)
        all_marks = [
            *marks(steady, requirements, idle_below=_IDLE),
            *rank_marks(steady),
            *self._growing(steady),
        ]
        by_host = {view.host: view for view in views}
        findings = [
            NodeFinding(
                mark.gpus,
                _ranks_of(mark.gpus, by_host[mark.finding.subject]),
                mark.finding,
            )
            for mark in all_marks
        ]
        idle = {f.node for f in findings if f.kind == "gpu-idle"}
        waiting = idle | {f.node for f in findings if f.kind == "node-slow"}
        uses = [
            gpu.gpu.use
            for view in steady
            for gpu in view.gpus
            if gpu.gpu.use is not None and not view.is_silent
        ]
        return StepHealth(
            tuple(
                f
                for f in findings
                if (f.kind not in _ALONE or f.node in waiting)
                and not (f.kind == "node-slow" and f.node in idle)
            ),
            len(uses),
            fmean(uses) if uses else None,
            is_whole,
            tuple(steady),
            has_request=asked_gpus != 0,
        )

    def _growing(self, views: Sequence[NodeView]) -> Iterator[Mark]:
        """Yield nodes with memory that grows at every sample and will soon be full."""
        for view in views:
            values = [*self._memory.get(view.host, ())]
            total = view.sample.memory_total if view.sample else None
            rises = [now[1] > before[1] for before, now in pairwise(values)]
            if view.is_silent or not total or len(values) < SAMPLES or not all(rises):
                continue
            (first, little), (last, much) = values[0], values[-1]
            seconds = (total - much) * (last - first) / (much - little)
            if much > _HALF * total and seconds < _SOON:
                words = {"share": 100 * much / total, "minutes": seconds / 60}
                yield make_mark("memory-grows", view, **words)

    def _steady(self, view: NodeView) -> NodeView:
        """Return *view* with the use of its GPUs over all stored samples."""
        samples = self._uses.get(view.host, ())
        gpus = []
        for gpu in view.gpus:
            uses = [sample.get(gpu.gpu.number) for sample in samples]
            numbers = [use for use in uses if use is not None]
            use = fmean(numbers) if numbers else None
            is_idle = len(numbers) > 1 and max(numbers) < _IDLE
            gpus.append(GpuView(gpu.gpu._replace(use=use), is_idle=is_idle))
        return view._replace(gpus=tuple(gpus))


def _ranks_of(gpus: Sequence[int], view: NodeView) -> tuple[int, ...]:
    """Return the ranks of a node that use one of *gpus*."""
    ranks = (rank for rank in view.ranks if not {*rank.gpus}.isdisjoint(gpus))
    return tuple(sorted(rank.sample.rank for rank in ranks))


class HealthLog:
    """The lines of a step's output about its health: each only when something changes."""

    def __init__(self) -> None:
        """Begin without a line."""
        self._keys: set[object] = set()
        self._ages: dict[object, int] = {}
        self._counts: dict[object, int] = {}
        self._rest = _MOST_IN_ALL

    def lines(
        self, health: StepHealth, network: str, *, is_due: bool = True
    ) -> Iterator[str]:
        """Yield the new lines; *network* is the verdict on it in a few words.

        Before it is due, a finding only grows older.
        """
        by_key: dict[object, NodeFinding] = {f.key: f for f in health.findings}
        summary = "" if by_key else _summary(health, network)
        # Its percentages change all the time.
        state = re.sub(r"\d+ %| \(lowest.*?\)", "", summary)
        keys: list[object] = [*by_key, state]
        self._ages = {key: self._ages.get(key, 0) + 1 for key in keys}
        lasting = {key for key, f in by_key.items() if self._lasts(f, key)}
        # After idle GPUs the mean takes some looks to rise.
        if summary and (not self._keys or self._ages[state] >= _LOOKS):
            lasting = {state}
        # A new finding may be gone at the next look, so the state is open until then.
        if not (is_due and lasting) or self._rest < 0:
            return
        fresh = self._printable(lasting - self._keys, by_key)
        self._keys = lasting
        lines = [*_finding_lines([by_key[key] for key in by_key if key in fresh])]
        lines += [summary] if summary and fresh else []
        yield from lines[: self._rest]
        self._rest -= len(lines)
        if self._rest < 0:
            yield f"note: {_MOST_IN_ALL} lines about the nodes are printed, the rest is not"

    def _lasts(self, finding: NodeFinding, key: object) -> bool:
        return finding.kind in _AT_ONCE or self._ages[key] >= _LOOKS

    def _printable(
        self, keys: set[object], by_key: Mapping[object, NodeFinding]
    ) -> set[object]:
        """Return those of *keys* that may be printed again for their node."""
        # A value at its limit changes all the time, and so may the GPUs that wait.
        topics = {
            key: (f.kind, f.node) if (f := by_key.get(key)) else key for key in keys
        }
        for topic in {*topics.values()}:
            self._counts[topic] = self._counts.get(topic, 0) + 1
        return {key for key in keys if self._counts[topics[key]] <= _REPEATS}


def _finding_lines(findings: Sequence[NodeFinding]) -> Iterator[str]:
    """Yield a line for all nodes with the same message, in at most ``_MOST_LINES``."""
    groups = grouped(findings, lambda f: f.finding._replace(subject="", fix=None))
    for count, (finding, some) in enumerate(groups.items()):
        if count == _MOST_LINES:
            rest = [f.node for group in list(groups.values())[count:] for f in group]
            yield f"note: {count_of(len(rest), 'more finding')} on {first_of({*rest})}"
            return
        names = first_of([f.node for f in some])
        ranks = sorted({rank for f in some for rank in f.ranks})
        # Messages about ranks name them already.
        more = f", {ranks_of(ranks)}" if ranks and finding.rule in _OF_GPUS else ""
        word = "unknown" if some[0].is_unknown else finding.severity
        yield f"{word}: {names}: {finding.message}{more}  [{finding.rule}]"


def _summary(health: StepHealth, network: str) -> str:
    """Return the line of a step without findings; empty if an answer is missing."""
    if not health.is_whole:
        return ""
    if health.is_shared:
        return "unknown: several steps run on the nodes: GPUs are not checked"
    if health.use is None:
        text = "note: GPUs are not checked: the nodes have no tool that shows them"
        return text if health.has_request else ""
    gpus = count_of(health.gpus, "GPU")
    gpus = f"all {gpus}" if health.gpus > 1 else "the GPU"
    # A mean over all GPUs would hide one that hardly computes.
    use, host, number = min(
        (gpu.gpu.use, view.host, gpu.gpu.number)
        for view in health.nodes
        for gpu in view.gpus
        if gpu.gpu.use is not None
    )
    if use >= _BUSY:
        return f"{gpus} busy, {network}"
    lowest = f" (lowest: {host}, GPU {number}, {use:.0f} %)" if health.gpus > 1 else ""
    return f"{gpus} in use, {health.use:.0f} % of the time{lowest}, {network}"
