"""What one node says at one moment, as data, and how its lines become that.

What a node does not say, or says in words that are no number, is None: never 0. The lines
of a node's GPUs come when they come; torn ones, and those of others, are passed over.
"""

from contextlib import suppress
from typing import NamedTuple

from envcfg.characters import whole_number
from envcfg.probe.gpu import KIB, Gpu, mark_ours, read_gpus
from envcfg.probe.probes import words_of

TAG = "envcfg-probe"
_MOST_LINES = 4096  # of a sample; more is not ours


class Counter(NamedTuple):
    """Bytes that an interface or an adapter has counted since it came up.

    Attributes:
        name: as the kernel says it: ``hsn0``, ``mlx5_0``, ``cxi0``.
        interface: of an adapter: the interface that it belongs to, if that is known.
        is_adapter: it counts what goes past the kernel (RDMA) as well.
        received_rate, sent_rate: bytes per second; None before the second sample.
    """

    name: str
    received: int
    sent: int
    interface: str | None = None
    is_adapter: bool = False
    received_rate: float | None = None
    sent_rate: float | None = None

    @property
    def rate(self) -> float:
        """Bytes per second in both directions; 0 where unknown."""
        return (self.received_rate or 0.0) + (self.sent_rate or 0.0)


class NodeSample(NamedTuple):
    """How a node is.

    Attributes:
        number: of the tick that it answers.
        time: seconds since the node came up.
        load: processes that run or want to, mean of a minute.
        busy, spent: time of all cores so far, in ticks of the kernel.
        memory_used, memory_total: bytes; used is what is not available to programs.
        counters: of all interfaces and adapters.
        is_whole: False where lines are missing.
    """

    host: str
    number: int
    time: float
    load: float | None = None
    cores: int | None = None
    busy: int | None = None
    spent: int | None = None
    memory_used: int | None = None
    memory_total: int | None = None
    counters: tuple[Counter, ...] = ()
    is_whole: bool = False


class GpuSample(NamedTuple):
    """What the tool of a node's GPUs says.

    Attributes:
        tool: ``nvidia-smi``, ``rocm-smi``, ``amd-smi``, ``amdgpu`` (the driver itself), or
            ``none``.
        allotted: how many GPUs Slurm says the step has; None where it says nothing.
        status: the tool's exit code; None where it is not known.
        problem: what it says instead of numbers.
    """

    host: str
    number: int
    tool: str
    allotted: int | None = None
    status: int | None = None
    gpus: tuple[Gpu, ...] = ()
    problem: str | None = None


class GpuWait(NamedTuple):
    """The tool that was started for an earlier number has not answered yet."""

    host: str
    number: int


Sample = NodeSample | GpuSample | GpuWait


class SampleReader:
    """Reads lines of all nodes; keeps the samples that are not whole yet."""

    def __init__(self) -> None:
        """Begin with nothing."""
        # By host and kind: the number, the words that it began with, its lines.
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
        if opened != number:
            return None
        if verb != "end":
            if len(lines) < _MOST_LINES:
                lines.append(f"{verb} {text}")
            return None
        del self._open[host, kind]
        count, status, *_ = [*text.split(), "", ""]
        is_whole = count == str(len(lines) + 1)
        if kind == "gpus":
            gpus = GpuSample(host, number, words[0] if words else "none")
            return _gpus(gpus, "".join(words[1:2]), lines, status, is_whole=is_whole)
        try:
            sample = NodeSample(host, number, float(words[0]), is_whole=is_whole)
        except (IndexError, ValueError):
            return None
        return _node(sample, lines)


def _node(sample: NodeSample, lines: list[str]) -> NodeSample:
    for line in lines:
        with suppress(ValueError):  # torn, or no number: it stays unknown
            sample = _told(sample, line)
    return sample


def _told(sample: NodeSample, line: str) -> NodeSample:
    """Return *sample* with what *line* says.

    Raises:
        ValueError: a word is not a number.
    """
    match line.split():
        case ["load", load, *_]:
            return sample._replace(load=float(load))
        case ["cores", cores, *_]:
            return sample._replace(cores=int(cores) or None)
        case ["cpu", user, nice, system, idle, *later]:  # older kernels have no more
            # Guests, who come last, are in the first two as well.
            times = [int(each) for each in (user, nice, system, idle, *later[:4])]
            waiting = sum(times[3:5])  # idle, and idle with a disk to wait for
            return sample._replace(busy=sum(times) - waiting, spent=sum(times))
        case ["memory", total, available, *_]:
            size, free = int(total) * KIB, int(available) * KIB
            return sample._replace(memory_total=size, memory_used=size - free)
        case ["net", name, received, sent, *_]:
            counter = Counter(name, int(received), int(sent))
        case ["rdma", name, received, sent, words, interface, *_]:
            counted = int(received) * int(words), int(sent) * int(words)
            its = None if interface == "-" else interface
            counter = Counter(name, *counted, its, is_adapter=True)
        case _:
            return sample
    return sample._replace(counters=(*sample.counters, counter))


def _gpus(
    sample: GpuSample, ours: str, lines: list[str], status: str, *, is_whole: bool
) -> GpuSample:
    code = whole_number(status)
    gpus, problem = read_gpus(sample.tool, _joined(lines), code)
    if problem and not is_whole:
        problem = "its answer is incomplete"
    numbers = [n for each in ours.split(",") if (n := whole_number(each)) is not None]
    return sample._replace(
        allotted=len(numbers) or None,
        status=code,
        gpus=mark_ours(gpus, numbers),
        problem=problem,
    )


def _joined(lines: list[str]) -> list[str]:
    """Return the tool's lines: long ones came in parts."""
    found, before = [], ""
    for line in lines:
        verb, _, text = line.partition(" ")
        if verb == "part":
            before += text
        elif verb == "text":
            found.append(before + text)
            before = ""
    return found
