"""The health of a running step: findings on its nodes over several minutes; pure.

A single sample falls between two steps or into a checkpoint. A GPU counts as idle only if
all samples of the last minutes are low, and its use is their mean.
"""

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from statistics import fmean
from typing import NamedTuple

from envcfg.nodes.monitor.node_board import NodeView
from envcfg.nodes.monitor.outliers import ExpectedNodes, NodeFinding, make_mark, marks
from envcfg.nodes.monitor.rank_marks import rank_marks

SAMPLES = 5  # of a GPU that count together
_IDLE = 5.0  # percent of use
_CONTEXT = 1 << 28  # bytes of a GPU that a program takes when it opens the GPU
_HALF = 0.5  # share of the memory, below which growth is no problem yet
_SOON = 3600.0  # seconds until the memory is full
# A high load harms only GPUs that wait, and NCCL's own log proves the network in use.
_ALONE = frozenset({"load-high", "wrong-interface"})
# While a program loads its data or compiles, these are usual.
_AT_START = frozenset(
    {"gpu-idle", "gpu-unlike", "node-slow", "load-high", "memory-grows"}
    | {"loader-slow", "rank-waits", "rank-on-cpu"}
)


class StepHealth(NamedTuple):
    """The state of all nodes of a step."""

    findings: tuple[NodeFinding, ...] = ()
    gpus: int = 0  # number of the GPUs with a known use
    use: float | None = None  # their mean use in percent; None if there are none
    is_whole: bool = True  # every node has answered the last question
    # In order; the use of a GPU is that of the last samples.
    nodes: tuple[NodeView, ...] = ()
    # The nodes run ranks of several steps, so the GPUs of one are unknown.
    is_shared: bool = False
    has_request: bool = True  # the job may have requested GPUs
    is_starting: bool = False  # no GPU has computed yet, which may be usual


class UseHistory:
    """The last samples of each node's GPUs."""

    def __init__(self) -> None:
        """Begin without samples."""
        self._uses: dict[str, deque[Mapping[int, float]]] = {}
        self._memory: dict[str, deque[tuple[float, int]]] = {}
        self._has_computed = self.has_opened = False

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
                gpus = [gpu for gpu in view.gpus if gpu.use is not None]
                samples.append({gpu.number: gpu.use or 0.0 for gpu in gpus})
                # A tool that shows no memory proves nothing.
                self.has_opened |= any(
                    gpu.memory_used is None or gpu.memory_used >= _CONTEXT
                    for gpu in gpus
                )
                self._has_computed |= any((gpu.use or 0.0) >= _IDLE for gpu in gpus)

    def health(
        self,
        views: Sequence[NodeView],
        asked_gpus: int | None,
        *,
        is_whole: bool,
        may_start: bool = False,
    ) -> StepHealth:
        """Return the health of the step.

        Args:
            views: the newest state of all nodes.
            asked_gpus: of each node; None: unknown; 0: the job requested none.
            is_whole: every node has answered the last question.
            may_start: the program may not have begun to compute.
        """
        steady = [self._steady(view) for view in views]
        steps = {rank.step for view in views for rank in view.ranks} - {"-"}
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
            mark._replace(ranks=_ranks_of(mark.gpus, by_host[mark.node]))
            for mark in all_marks
        ]
        idle = {f.node for f in findings if f.kind == "gpu-idle"}
        waiting = idle | {f.node for f in findings if f.kind == "node-slow"}
        uses = [
            gpu.use
            for view in steady
            for gpu in view.gpus
            if gpu.use is not None and not view.is_silent
        ]
        is_starting = may_start and bool(uses) and not self._has_computed
        ignored = _AT_START if is_starting else frozenset[str]()
        if not uses:  # a partition of a GPU has no use, which is no fault
            ignored = frozenset({"gpu-unknown"})
        return StepHealth(
            tuple(
                f
                for f in findings
                if f.kind not in ignored
                and (f.kind not in _ALONE or f.node in waiting)
                and not (f.kind == "node-slow" and f.node in idle)
            ),
            len(uses),
            fmean(uses) if uses else None,
            is_whole,
            tuple(steady),
            has_request=asked_gpus != 0,
            is_starting=is_starting,
        )

    def _growing(self, views: Sequence[NodeView]) -> Iterator[NodeFinding]:
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
            uses = [sample.get(gpu.number) for sample in samples]
            numbers = [use for use in uses if use is not None]
            use = fmean(numbers) if numbers else None
            is_idle = len(numbers) > 1 and max(numbers) < _IDLE
            gpus.append(gpu._replace(use=use, is_idle=is_idle))
        return view._replace(gpus=tuple(gpus))


def _ranks_of(gpus: Sequence[int], view: NodeView) -> tuple[int, ...]:
    """Return the ranks of a node that use one of *gpus*."""
    ranks = (rank for rank in view.ranks if not {*rank.gpus}.isdisjoint(gpus))
    return tuple(sorted(rank.rank for rank in ranks))
