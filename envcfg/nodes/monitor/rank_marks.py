"""Findings about ranks: their cores, their loaders, and GPUs unlike the others; pure."""

from collections.abc import Iterator, Sequence
from statistics import median

from envcfg.log.numbers import count_of, grouped, number_ranges, ranks_of
from envcfg.nodes.monitor.node_board import NodeView, RankView, core_numbers
from envcfg.nodes.monitor.outliers import Mark, make_mark

_LOW = 50.0  # percent of use, below which a GPU waits for something
_BUSY = 0.9  # cores that a process uses if it does nothing else
_WAITING = 0.5  # cores that a process uses at most if it waits
_LESS = 0.5  # share of the others' use, memory or power
_LEAST_MEMORY = 4 << 30  # bytes that are a clear difference
_LEAST_POWER = 100.0  # watts
_LEAST_GPUS = 4  # fewer have no usual value


def rank_marks(nodes: Sequence[NodeView]) -> Iterator[Mark]:
    """Yield the findings about the ranks and GPUs of nodes that answer."""
    answering = [node for node in nodes if not node.is_silent]
    for node in answering:
        yield from _cores(node)
        yield from _loaders(node)
    yield from _unlike(answering)


def _cores(node: NodeView) -> Iterator[Mark]:
    for cores, ranks in grouped(node.ranks, lambda rank: rank.cores).items():
        if cores and len(ranks) > len(cores):
            yield make_mark(
                "cores-shared",
                node,
                "",
                *_gpus(ranks),
                ranks=_names(ranks),
                share="share" if len(ranks) > 1 else "has",
                cores=count_of(len(cores), "core"),
            )
    near = node.sample.near if node.sample else ()
    # Only if all GPUs are visible, PCI order is the order of the tool.
    if len(near) != len(node.gpus) + node.other_gpus:
        return
    for rank in node.ranks:
        if len(rank.gpus) != 1 or rank.gpus[0] >= len(near):
            continue
        wanted = core_numbers(near[rank.gpus[0]])
        if rank.cores and wanted and not rank.cores & wanted:
            yield make_mark(
                "cores-far",
                node,
                "",
                *rank.gpus,
                ranks=_names([rank]),
                cores=number_ranges(sorted(rank.cores)),
                near=number_ranges(sorted(wanted)),
            )


def _loaders(node: NodeView) -> Iterator[Mark]:
    """Yield ranks with a waiting GPU, by the use of their own cores."""
    uses = {gpu.gpu.number: gpu.gpu.use for gpu in node.gpus}
    for rank in node.ranks:
        values = [use for gpu in rank.gpus if (use := uses.get(gpu)) is not None]
        if not values or max(values) >= _LOW or rank.use is None:
            continue
        words = {
            "ranks": _names([rank]),
            "workers": count_of(rank.sample.workers, "worker"),
            "cores": count_of(len(rank.cores), "core"),
        }
        if rank.sample.workers and rank.use < _WAITING:
            if (worked := rank.worker_use) is None:
                continue
            # Workers that compute all the time are the limit; others wait themselves.
            limit = min(rank.sample.workers, len(rank.cores) or rank.sample.workers)
            words["share"] = f"{100 * worked:.0f} %"
            yield (
                make_mark("loader-slow", node, "", *rank.gpus, **words)
                if worked >= _WAITING * limit
                else make_mark("rank-waits", node, "", *rank.gpus, **words)
            )
        elif not rank.sample.workers and rank.use >= _BUSY:
            yield make_mark("rank-on-cpu", node, "", *rank.gpus, **words)


def _unlike(nodes: Sequence[NodeView]) -> Iterator[Mark]:
    """Yield GPUs with clearly less use or power than usual, or other memory."""
    gpus = [gpu for node in nodes for gpu in node.gpus]
    if len(gpus) < _LEAST_GPUS:
        return
    use = _usual([gpu.gpu.use for gpu in gpus])
    memory = _usual([gpu.gpu.memory_used for gpu in gpus])
    power = _usual([gpu.gpu.power for gpu in gpus])
    for node in nodes:
        for view in node.gpus:
            gpu, words = view.gpu, {"gpu": f"GPU {view.gpu.number}"}
            if view.is_idle:
                continue
            if use and use >= _LOW and gpu.use is not None and gpu.use < _LESS * use:
                words |= {"value": f"{gpu.use:.0f} %", "usual": f"{use:.0f} %"}
                yield make_mark("gpu-unlike", node, "use", gpu.number, **words)
            elif memory and gpu.memory_used is not None:
                difference = abs(gpu.memory_used - memory)
                if difference > max(_LEAST_MEMORY, _LESS * memory):
                    words |= {
                        "value": f"{gpu.memory_used / 2**30:.0f} GiB",
                        "usual": f"{memory / 2**30:.0f} GiB",
                    }
                    yield make_mark("gpu-unlike", node, "memory", gpu.number, **words)
            if power and gpu.power is not None:
                lacking = power - gpu.power
                if lacking > max(_LEAST_POWER, (1 - _LESS) * power):
                    words |= {"value": f"{gpu.power:.0f} W", "usual": f"{power:.0f} W"}
                    yield make_mark("gpu-unlike", node, "power", gpu.number, **words)


def _usual(values: Sequence[float | None]) -> float | None:
    numbers = [value for value in values if value is not None]
    # The second die of a package has no power of its own.
    return median(numbers) if 2 * len(numbers) >= len(values) and numbers else None


def _names(ranks: Sequence[RankView]) -> str:
    return ranks_of([rank.sample.rank for rank in ranks])


def _gpus(ranks: Sequence[RankView]) -> tuple[int, ...]:
    return tuple(sorted({gpu for rank in ranks for gpu in rank.gpus}))
