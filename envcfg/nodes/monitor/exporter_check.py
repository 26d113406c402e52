"""Samples of a site's exporter, compared with those of the GPUs' own tool; pure.

An exporter may be stale, or speak of other GPUs. The tool is asked from time to time, and
an exporter that it contradicts is not asked again.
"""

from envcfg.nodes.probe.exporter_names import exporters
from envcfg.nodes.probe.sample import GpuSample

_OLD = 120.0  # seconds without any new value; exporters renew them each half minute
_IDLE, _BUSY = 5.0, 50.0  # percent of use that contradict each other
_SAME = 0.05  # share of the memory that a driver may keep for itself
_PERIOD = 5  # questions; one of them goes to the tool


def is_for_tool(number: int) -> bool:
    """Return whether question *number* goes to the tool even if there is an exporter."""
    # The first line of a watch follows the fifth answer.
    return number == 3 or number % _PERIOD == 1


class ExporterCheck:
    """The exporter of a node.

    Attributes:
        is_wrong: it is not asked again.
        is_doubtful: the tool has contradicted it once, and is asked again.
        lacks_tool: the node has no tool that could contradict it.
    """

    def __init__(self) -> None:
        """Begin without samples."""
        self.is_wrong = False
        self.is_doubtful = False
        self.lacks_tool = False
        self._tool: GpuSample | None = None
        self._last: GpuSample | None = None
        self._changed = 0.0

    def check(self, sample: GpuSample, now: float) -> GpuSample:
        """Return *sample*, which came *now*, with a problem if it cannot be right.

        GPUs of an exporter get the numbers that the tool gives them.
        """
        if sample.tool not in exporters():
            self.lacks_tool = sample.tool == "none"
            self._tool = None if self.lacks_tool or sample.problem else sample
            if self._last and self._tool:
                contradicts = _contradicts(self._last, self._tool)
                # The two are up to a minute apart, and a checkpoint may lie between them.
                self.is_wrong |= contradicts and self.is_doubtful
                self.is_doubtful = contradicts
            return sample
        if self._last is None or self._last.gpus != sample.gpus:
            self._changed = now
        self._last = sample
        problem = sample.problem
        if now - self._changed > _OLD and not (
            self._tool and _agree(sample, self._tool)
        ):
            problem = f"its values have not changed for {now - self._changed:.0f} s"
        elif self._tool and not problem:
            sample = _renumbered(sample, self._tool)
            problem = sample.problem
        self.is_wrong |= problem is not None
        return sample._replace(gpus=(), problem=problem) if problem else sample


def _renumbered(sample: GpuSample, tool: GpuSample) -> GpuSample:
    """Return *sample* with the job's GPUs as *tool* counts them; else with a problem."""
    ours, theirs = ([g for g in s.gpus if g.is_ours] for s in (sample, tool))
    if len(ours) != len(theirs):
        text = f"it shows {len(ours)} GPUs, and {tool.tool} {len(theirs)}"
        return sample._replace(problem=text)
    for gpu, tool_gpu in zip(ours, theirs, strict=True):
        if not _is_like(gpu.memory_total, tool_gpu.memory_total):
            text = f"the memory of GPU {tool_gpu.number} is not that of {tool.tool}"
            return sample._replace(problem=text)
    gpus = (a._replace(number=b.number) for a, b in zip(ours, theirs, strict=True))
    # The other GPUs of the node are counted only.
    foreign = (gpu for gpu in tool.gpus if not gpu.is_ours)
    return sample._replace(gpus=(*gpus, *foreign))


def _is_like(size: int | None, tool_size: int | None) -> bool:
    return (
        size is None or tool_size is None or abs(size - tool_size) <= _SAME * tool_size
    )


def _agree(exporter: GpuSample, tool: GpuSample) -> bool:
    """Return whether all GPUs are idle, by both: nothing changes then."""
    gpus = [gpu for sample in (exporter, tool) for gpu in sample.gpus if gpu.is_ours]
    return all(gpu.use is not None and gpu.use < _IDLE for gpu in gpus)


def _contradicts(exporter: GpuSample, tool: GpuSample) -> bool:
    uses = {gpu.number: gpu.use for gpu in _renumbered(exporter, tool).gpus}
    for gpu in tool.gpus:
        use = uses.get(gpu.number)
        if gpu.is_ours and gpu.use is not None and use is not None:
            low, high = sorted((gpu.use, use))
            if low < _IDLE and high >= _BUSY:
                return True
    return False
