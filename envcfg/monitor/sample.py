"""What one node says at one moment, as data.

What a node does not say, or says in words that are no number, is None: never 0.
"""

from __future__ import annotations

from typing import NamedTuple

KIB = 1024
MIB = 1024 * 1024


class Counter(NamedTuple):
    """Bytes that an interface or an adapter has counted since it came up.

    Attributes:
        name: as the kernel says it: ``hsn0``, ``mlx5_0``, ``cxi0``.
        interface: of an adapter: the interface that it belongs to, if that is known.
        is_adapter: it counts what goes past the kernel (RDMA) as well.
    """

    name: str
    received: int
    sent: int
    interface: str | None = None
    is_adapter: bool = False


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


class Gpu(NamedTuple):
    """A GPU; *use* in percent, memory in bytes, *power* in watts.

    Attributes:
        number: as the tool counts them, from 0.
        is_ours: False where the tool shows it and the job does not have it.
    """

    number: int
    use: float | None = None
    memory_used: int | None = None
    memory_total: int | None = None
    power: float | None = None
    name: str | None = None
    is_ours: bool = True


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
