"""Findings about ranks: their cores, their loaders, and GPUs unlike the others; pure."""

from collections.abc import Iterator, Mapping, Sequence
from math import inf
from statistics import median

from envcfg.common.characters import core_numbers
from envcfg.common.datafile import load_yaml
from envcfg.log.numbers import count_of, grouped, number_ranges, ranks_of
from envcfg.nodes.monitor.node_board import NodeView
from envcfg.nodes.monitor.outliers import NodeFinding, make_mark
from envcfg.nodes.probe.gpu import Gpu
from envcfg.nodes.probe.sample import RankSample

_LOW = 50.0  # percent of use, below which a GPU waits for something
_BUSY = 0.9  # cores that a process uses if it does nothing else
_THREADS = 2.0  # cores that one Python thread and its helpers use at most
_IDLE = 10.0  # percent of use, below which a GPU hardly computes
_WAITING = 0.5  # cores that a process uses at most if it waits
_LESS = 0.5  # share of the others' use, memory or power
_LEAST_MEMORY = 4 << 30  # bytes that are a clear difference
_LEAST_POWER = 100.0  # watts
_SLOWER = 0.75  # share of the others' clock; GPUs of one kind differ by up to a fifth
_LEAST_GPUS = 4  # fewer have no usual value
_SPREAD = 3  # times the median distance from the usual value
_MANY = 16  # GPUs, of which one may have less memory


def rank_marks(nodes: Sequence[NodeView]) -> Iterator[NodeFinding]:
    """Yield the findings about the ranks and GPUs of nodes that answer."""
    answering = [node for node in nodes if not node.is_silent]
    for node in answering:
        yield from _cores(node)
        yield from _loaders(node)
    yield from _unlike(answering)


def _cores(node: NodeView) -> Iterator[NodeFinding]:
    every = (node.sample and node.sample.cores) or inf
    for cores, ranks in grouped(node.ranks, lambda rank: rank.own_cores).items():
        # A node with fewer cores than ranks has no better cores for them.
        if cores and len(ranks) > len(cores) and len(node.ranks) <= every:
            yield make_mark(
                "cores-shared",
                node,
                "",
                *_gpus(ranks),
                ranks=_names(ranks),
                share="share" if len(ranks) > 1 else "has",
                cores=count_of(len(cores), "core"),
            )
    for rank in node.ranks:
        wanted = _cores_next_to(node, rank)
        if rank.own_cores and wanted and not rank.own_cores & wanted:
            yield make_mark(
                "cores-far",
                node,
                "",
                *rank.gpus,
                ranks=_names([rank]),
                cores=number_ranges(sorted(rank.own_cores)),
                near=number_ranges(sorted(wanted)),
            )


def _cores_next_to(node: NodeView, rank: RankSample) -> frozenset[int]:
    """Return the cores next to the GPU of *rank*; empty if they are unknown."""
    near = node.sample.near if node.sample else ()
    # Only if all GPUs are visible, PCI order is the order of the tool.
    is_known = len(near) == len(node.gpus) + node.other_gpus and len(rank.gpus) == 1
    return (
        core_numbers(near[rank.gpus[0]])
        if is_known and rank.gpus[0] < len(near)
        else frozenset()
    )


def describe_cores(nodes: Sequence[NodeView]) -> str:
    """Return the cores of the ranks in words; empty if ranks share them, or unknown."""
    ranks = [rank for node in nodes for rank in node.ranks]
    for node in nodes:
        own = [rank.own_cores for rank in node.ranks]
        if not all(own) or sum(map(len, own)) != len(frozenset().union(*own)):
            return ""
    if len(ranks) < 2 or not all(node.ranks for node in nodes):
        return ""
    sizes = {len(rank.own_cores) for rank in ranks}
    cores = count_of(sizes.pop(), "core") if len(sizes) == 1 else "cores"
    is_near = all(
        rank.own_cores <= _cores_next_to(node, rank)
        for node in nodes
        for rank in node.ranks
    )
    place = " next to its GPU" if is_near else ""
    return f"{len(ranks)} ranks, each on its own {cores}{place}"


def _loaders(node: NodeView) -> Iterator[NodeFinding]:
    """Yield ranks with a waiting GPU, by the use of their own cores."""
    uses = {gpu.number: gpu.use for gpu in node.gpus}
    for rank in node.ranks:
        # The processes of a server with several GPUs compute on them, and load nothing.
        use = uses.get(rank.gpus[0]) if len(rank.gpus) == 1 else None
        if use is None or use >= _LOW or rank.use is None:
            continue
        words = {
            "ranks": _names([rank]),
            "workers": count_of(rank.workers, "worker"),
            "cores": count_of(len(rank.own_cores), "core"),
        }
        if rank.workers and rank.use < _WAITING:
            if (worked := rank.worker_use) is None:
                continue
            # Workers that compute all the time are the limit; others wait themselves.
            limit = min(rank.workers, len(rank.own_cores) or rank.workers)
            words["share"] = f"{100 * worked:.0f} %"
            yield make_mark(
                "loader-slow" if worked >= _WAITING * limit else "rank-waits",
                node,
                "",
                *rank.gpus,
                **words,
            )
        # Programs with many threads may compute on processors and GPUs by design.
        elif (
            not rank.workers
            and rank.use >= _BUSY
            and (use < _IDLE or rank.use < _THREADS)
        ):
            yield make_mark("rank-on-cpu", node, "", *rank.gpus, **words)


def _unlike(nodes: Sequence[NodeView]) -> Iterator[NodeFinding]:
    """Yield GPUs with clearly less use, memory, power or clock than their like."""
    gpus = [(node, gpu) for node in nodes for gpu in node.gpus]
    kinds = grouped(gpus, lambda pair: (pair[1].name, pair[1].memory_total))
    for peers in kinds.values():
        if len(peers) < _LEAST_GPUS:
            continue
        least_use, use = _limit([gpu.use for _, gpu in peers], 0)
        memories = [gpu.memory_used for _, gpu in peers]
        least_memory, memory = _limit(memories, _LEAST_MEMORY)
        powers = [gpu.power for _, gpu in peers]
        least_power, power = _limit(powers, _LEAST_POWER)
        # Stages of a pipeline differ, but a faulty GPU is one of many.
        few = sum((value or inf) < least_memory for value in memories) <= max(
            1, len(peers) // _MANY
        )
        # A GPU that waits lowers its clock, so only busy ones are compared.
        clocks = [gpu.clock for _, gpu in peers if _is_busy(gpu)]
        clock = _limit(clocks, 0)[1] if len(clocks) >= _LEAST_GPUS else 0
        for node, gpu in peers:
            words = {"gpu": f"GPU {gpu.number}"}
            if gpu.is_idle:
                continue
            if use >= _LOW and (value := gpu.use) is not None and value < least_use:
                words |= {"value": f"{value:.0f} %", "usual": f"{use:.0f} %"}
                yield make_mark("gpu-unlike", node, "use", gpu.number, **words)
            elif few and (size := gpu.memory_used) is not None and size < least_memory:
                words["value"] = f"{size / 2**30:.0f} GiB"
                words["usual"] = f"{memory / 2**30:.0f} GiB"
                yield make_mark("gpu-unlike", node, "memory", gpu.number, **words)
            if (watts := gpu.power) is not None and watts < least_power:
                words |= {"value": f"{watts:.0f} W", "usual": f"{power:.0f} W"}
                yield make_mark("gpu-unlike", node, "power", gpu.number, **words)
            if _is_busy(gpu) and (gpu.clock or inf) < _SLOWER * clock:
                words |= {"value": f"{gpu.clock:.0f} MHz", "usual": f"{clock:.0f} MHz"}
                words["reason"] = _throttle_text(gpu.throttle or 0)
                yield make_mark("gpu-unlike", node, "clock", gpu.number, **words)


def _is_busy(gpu: Gpu) -> bool:
    return gpu.use is not None and gpu.use >= _LOW


def _throttle_text(mask: int) -> str:
    reasons: Mapping[int, str] = load_yaml("nodes/monitor/throttle.yaml")["reasons"]
    names = [name for bit, name in reasons.items() if mask & bit]
    return f": throttled by {' and '.join(names)}" if names else ""


def _limit(values: Sequence[float | None], least: float) -> tuple[float, float]:
    """Return the value below which one is clearly less, and the usual value; else 0.

    The difference is at least *least*, and exceeds the usual spread of *values*.
    """
    numbers = [value for value in values if value is not None]
    # The second die of a package has no power of its own.
    if 2 * len(numbers) < len(values) or not numbers:
        return 0.0, 0.0
    usual = median(numbers)
    spread = median([abs(number - usual) for number in numbers])
    return usual - max(least, _LESS * usual, _SPREAD * spread), usual


def _names(ranks: Sequence[RankSample]) -> str:
    return ranks_of([rank.rank for rank in ranks])


def _gpus(ranks: Sequence[RankSample]) -> tuple[int, ...]:
    return tuple(sorted({gpu for rank in ranks for gpu in rank.gpus}))
