"""NCCL's Inspector: how fast each operation was, as records.

A profiler plugin (``NCCL_PROFILER_PLUGIN``, ``NCCL_INSPECTOR_ENABLE=1``) writes a line of
JSON for each operation and rank: of NCCL since 2.28, of RCCL of ROCm 10 in the same form.
Numbers are GB/s (10^9 bytes) and microseconds. Source: NVIDIA/nccl
plugins/profiler/inspector/inspector_json.cc (v4.0; in 2.28 ext-profiler/inspector);
rocm.docs.amd.com/projects/rccl, using-rccl-inspector-plugin (2026-11).
"""

from collections.abc import Iterable, Iterator, Sequence
from statistics import median
from typing import NamedTuple

from envcfg.common.nesting import read_json
from envcfg.log.trace.trace_fields import integer, mapping, number, text_of

_LONGEST = 1 << 20  # characters of a line; with all its events it has some 20 kB
_BEGIN = ('{"header"', '{ "header"')
_SLOW = 0.5  # share of the median below which a rank is slow
_FEW = 4  # operations of a rank that a comparison needs


class Operation(NamedTuple):
    """One operation of one rank.

    Attributes:
        comm: number of the communicator, as hex digits.
        comm_name: its name in the program; empty if it has none.
        rank: in the communicator.
        host: node of the rank.
        name: ``AllReduce``, ``Send`` ...
        bytes: of its message.
        busbw: load of the links, in GB/s: it is comparable between sizes and numbers of
            ranks.
    """

    comm: str
    comm_name: str
    rank: int
    host: str
    name: str
    bytes: int
    busbw: float


class Speed(NamedTuple):
    """The speed of one operation on all ranks of a communicator.

    Attributes:
        comm: number of the communicator.
        comm_name: its name in the program; empty if it has none.
        name: of the operation.
        bytes: of its message.
        count: number of operations, over all ranks.
        busbw: GB/s, the median.
        slow: ranks with a median below half of that of all, with host and GB/s.
    """

    comm: str
    comm_name: str
    name: str
    bytes: int
    count: int  # type: ignore[assignment]  # hides tuple.count, which is unused
    busbw: float
    slow: tuple[tuple[int, str, float], ...]


def is_inspector(head: str) -> bool:
    """Return whether a file that begins with *head* (500 letters) is the Inspector's."""
    begin = head.lstrip()
    return begin.startswith(_BEGIN) and '"n_ranks"' in begin


def read_operations(lines: Iterable[str]) -> Iterator[Operation]:
    """Yield the operations in *lines*; other lines are skipped."""
    for line in lines:
        if not line.lstrip().startswith("{") or len(line) > _LONGEST:
            continue
        try:
            data = read_json(line)
        except ValueError:  # the last line may be cut off
            continue
        if operation := _operation(data):
            yield operation


def _operation(data: object) -> Operation | None:
    record = mapping(data)
    head, meta = mapping(record.get("header")), mapping(record.get("metadata"))
    kind = "p2p" if "p2p_perf" in record else "coll"
    perf = mapping(record.get(f"{kind}_perf"))
    rank = integer(head.get("rank"))
    message = integer(perf.get(f"{kind}_msg_size_bytes"))
    algbw, busbw = (number(perf.get(f"{kind}_{n}_gbs")) for n in ("algobw", "busbw"))
    # A line that is cut or damaged may lack any of the numbers.
    numbers = (integer(perf.get(f"{kind}_{name}")) for name in ("sn", "exec_time_us"))
    if None in (rank, message, algbw, busbw, integer(head.get("n_ranks")), *numbers):
        return None
    name = text_of(head.get("comm_name"))
    return Operation(
        comm=text_of(head.get("id")).removeprefix("0x"),
        comm_name="" if name == "unknown" else name,
        rank=rank or 0,
        host=text_of(meta.get("hostname")),
        name=text_of(perf.get(kind)),
        bytes=message or 0,
        busbw=busbw or 0.0,
    )


def speeds_of(operations: Iterable[Operation]) -> tuple[Speed, ...]:
    """Return the speed of each operation of each size, the largest messages first.

    A collective takes as long as its slowest rank on all ranks. A rank that differs by
    half therefore came late or measures in another way: it is a hint, and no proof.
    """
    kinds: dict[tuple[str, str, str, int], dict[tuple[int, str], list[float]]] = {}
    for operation in operations:
        ranks = kinds.setdefault(
            (operation.comm, operation.comm_name, operation.name, operation.bytes), {}
        )
        ranks.setdefault((operation.rank, operation.host), []).append(operation.busbw)
    speeds = [_speed(*key, ranks=ranks) for key, ranks in kinds.items()]
    return tuple(sorted(speeds, key=lambda speed: (-speed.bytes, speed.name)))


def _speed(
    comm: str,
    comm_name: str,
    name: str,
    size: int,
    *,
    ranks: dict[tuple[int, str], list[float]],
) -> Speed:
    everything: Sequence[float] = [speed for own in ranks.values() for speed in own]
    all_together = median(everything)
    slow = [
        (rank, host, median(own))
        for (rank, host), own in sorted(ranks.items())
        if len(own) >= _FEW and median(own) < _SLOW * all_together
    ]
    many = len(everything)
    return Speed(comm, comm_name, name, size, many, all_together, tuple(slow))
