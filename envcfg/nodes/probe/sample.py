"""One node at one moment, as data parsed from its lines.

A missing value, or a value that is no number, is None and never 0. Lines of a node's GPUs
may come at any time; torn lines, and lines of other programs, are ignored.
"""

from contextlib import suppress
from typing import NamedTuple

from envcfg.common.characters import core_numbers, whole_number
from envcfg.nodes.probe.gpu import KIB, Gpu, mark_ours, read_gpus
from envcfg.nodes.probe.probes import words_of

TAG = "envcfg-probe"
_MOST_LINES = 4096  # lines of a sample; more are not the probe's


class Counter(NamedTuple):
    """Bytes that an interface or an adapter has counted since it came up."""

    name: str  # the kernel's name: `hsn0`, `mlx5_0`, `cxi0`
    received: int
    sent: int
    interface: str | None = None  # interface of an adapter, if known
    # True if it also counts traffic that bypasses the kernel (RDMA).
    is_adapter: bool = False
    received_rate: float | None = None  # per second; None before the second sample
    sent_rate: float | None = None

    @property
    def rate(self) -> float:
        """Bytes per second in both directions; 0 if unknown."""
        return (self.received_rate or 0.0) + (self.sent_rate or 0.0)


class RankSample(NamedTuple):
    """The program of a rank, and the processes that it has started: its workers."""

    rank: int
    local: int | None
    ticks: int  # time of processors so far, in ticks of the kernel
    workers: int
    worker_ticks: int
    cores: str  # the cores that it may use, as in ``0-7,64-71``
    mask: str  # the value of its ``*_VISIBLE_DEVICES``; ``-`` if there is none
    step: str  # the number of its step in the job; ``-`` if unknown
    # On a board, by the sample before:
    gpus: tuple[int, ...] = ()  # as the node's tool counts them; empty if unknown
    use: float | None = None  # 1.0 is a whole core; None after a new start
    worker_use: float | None = None

    @property
    def own_cores(self) -> frozenset[int]:
        """The cores that it may use; empty if unknown."""
        return core_numbers(self.cores)


class NodeSample(NamedTuple):
    """The state of a node."""

    host: str
    number: int  # number of the question that it answers
    time: float  # seconds since the node came up
    load: float | None = None  # processes that run or want to, mean of a minute
    cores: int | None = None
    busy: int | None = None  # time of all cores so far, in ticks of the kernel
    spent: int | None = None  # the same with the time without work
    memory_used: int | None = None  # bytes that are not available to programs
    memory_total: int | None = None
    counters: tuple[Counter, ...] = ()  # of all interfaces and adapters
    states: tuple[tuple[str, str], ...] = ()  # `up` or `down` of each interface
    # The ranks of the job on the node, if the probe asks for them.
    ranks: tuple[RankSample, ...] = ()
    # For each GPU in PCI order, the cores next to it; `-` if unknown.
    near: tuple[str, ...] = ()
    is_whole: bool = False  # False if lines are missing


class GpuSample(NamedTuple):
    """The output of a node's GPU tool."""

    host: str
    number: int
    # `nvidia-smi`, `rocm-smi`, `amd-smi`, `xpu-smi`, `amdgpu` (the driver itself), or
    # `none`.
    tool: str
    # Number of GPUs that Slurm reports for the step; None if unknown.
    allotted: int | None = None
    status: int | None = None  # the tool's exit code; None if unknown
    gpus: tuple[Gpu, ...] = ()
    problem: str | None = None  # its message instead of numbers
    is_whole: bool = True  # False if lines are missing, so that no GPU is known


class GpuWait(NamedTuple):
    """A GPU tool that was started for an earlier sample and has not answered yet."""

    host: str
    number: int


Sample = NodeSample | GpuSample | GpuWait


class SampleReader:
    """Reads lines of all nodes; keeps the samples that are not complete yet."""

    def __init__(self) -> None:
        """Begin without samples."""
        # By host and kind: the number, the words of its first line, its lines.
        self._open: dict[tuple[str, str], tuple[int, list[str], list[str]]] = {}

    def feed(self, line: str) -> Sample | None:
        """Return the sample that *line* completes, if it does."""
        words = words_of(line, TAG, 5)
        if words is None:
            return None
        host, tick, kind, verb, text = words
        number = whole_number(tick)
        if number is None or kind not in ("node", "gpus") or not verb:
            return None
        if verb == "waits":
            return GpuWait(host, number)
        if verb == "begin":
            self._open[host, kind] = number, text.split(), []
            return None
        opened, words, lines = self._open.get((host, kind), (None, [], []))
        # A line of an older sample would mix values of two moments.
        if opened != number:
            return None
        if verb != "end":
            if len(lines) < _MOST_LINES:
                lines.append(f"{verb} {text}")
            return None
        del self._open[host, kind]
        count, status, *_ = [*text.split(), "", ""]
        # The last line holds the number of lines, so a lost line is noticed.
        is_whole = count == str(len(lines) + 1)
        if kind == "gpus":
            tool = words[0] if words else "none"
            gpus = GpuSample(host, number, tool, is_whole=is_whole)
            return _gpus(gpus, "".join(words[1:2]), lines, status)
        try:
            sample = NodeSample(host, number, float(words[0]), is_whole=is_whole)
        except (IndexError, ValueError):
            return None
        return _node(sample, lines)


def _node(sample: NodeSample, lines: list[str]) -> NodeSample:
    for line in lines:
        with suppress(ValueError):  # a torn line leaves the value unknown
            sample = _with_line(sample, line)
    return sample


def _with_line(sample: NodeSample, line: str) -> NodeSample:
    """Return *sample* with the values of *line*.

    Raises:
        ValueError: a word is not a number.
    """
    match line.split():
        case ["load", load, *_]:
            return sample._replace(load=float(load))
        case ["cores", cores, *_]:
            return sample._replace(cores=int(cores) or None)
        case ["cpu", user, nice, system, idle, *later]:  # older kernels print fewer
            # The last two (guests) are already included in the first two.
            times = [int(number) for number in (user, nice, system, idle, *later[:4])]
            waiting = sum(times[3:5])  # idle, and idle while it waits for a disk
            return sample._replace(busy=sum(times) - waiting, spent=sum(times))
        case ["memory", total, available, *_]:
            size, free = int(total) * KIB, int(available) * KIB
            return sample._replace(memory_total=size, memory_used=size - free)
        case ["net", name, received, sent, *_]:
            counter = Counter(name, int(received), int(sent))
        case ["rdma", name, received, sent, words, interface, *_]:
            # InfiniBand counts words of four bytes, other adapters bytes.
            counted = int(received) * int(words), int(sent) * int(words)
            its = None if interface == "-" else interface
            counter = Counter(name, *counted, its, is_adapter=True)
        case ["rank", rank, local, _, ticks, workers, worker_ticks, *words]:
            cores, mask, step = words
            numbers = (int(ticks), int(workers), int(worker_ticks), cores, mask, step)
            row = RankSample(int(rank), whole_number(local), *numbers)
            return sample._replace(ranks=(*sample.ranks, row))
        case ["link", name, state]:
            return sample._replace(states=(*sample.states, (name, state)))
        case ["near", *near]:
            return sample._replace(near=tuple(near))
        case _:
            return sample
    return sample._replace(counters=(*sample.counters, counter))


def _gpus(sample: GpuSample, ours: str, lines: list[str], status: str) -> GpuSample:
    code = whole_number(status)
    gpus, problem = read_gpus(sample.tool, _joined(lines), code)
    if not sample.is_whole:
        gpus, problem = (), "its answer is incomplete"
    numbers = [n for part in ours.split(",") if (n := whole_number(part)) is not None]
    return sample._replace(
        allotted=len(numbers) or None,
        status=code,
        gpus=mark_ours(gpus, numbers),
        problem=problem,
    )


def _joined(lines: list[str]) -> list[str]:
    """Return the tool's lines: long ones came in parts."""
    lines_joined, before = [], ""
    for line in lines:
        verb, _, text = line.partition(" ")
        if verb == "part":
            before += text
        elif verb == "text":
            lines_joined.append(before + text)
            before = ""
    return lines_joined
