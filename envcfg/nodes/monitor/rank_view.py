"""The ranks of a node from two samples: their use of processors, cores and GPUs; pure."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from envcfg.common.characters import whole_number
from envcfg.nodes.probe.sample import NodeSample, RankSample

_TICKS = 100  # of the kernel for programs, in a second (USER_HZ)
_MOST_CORES = 8192


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


def rank_views(
    before: NodeSample | None, now: NodeSample, gpus: Sequence[int]
) -> Iterator[RankView]:
    """Yield the ranks of *now*; *gpus* are the numbers of the job's GPUs on the node."""
    # Several steps have the same numbers of ranks.
    old = {(rank.step, rank.rank): rank for rank in before.ranks} if before else {}
    seconds = now.time - before.time if before else 0.0
    masks = Counter(rank.mask for rank in now.ranks)
    for rank in now.ranks:
        view = RankView(rank, _gpus_of(rank, gpus, masks))
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
    rank: RankSample, gpus: Sequence[int], masks: Counter[str]
) -> tuple[int, ...]:
    """Return the GPUs of *rank*, of the node's *gpus*; empty if they are unknown.

    A rank that sees several takes that of its local rank, as PyTorch's launchers do.
    *masks* are those of all ranks of the node.
    """
    numbers = [whole_number(word) for word in rank.mask.split(",")]
    visible = [number for number in numbers if number is not None]
    # Ranks with GPUs of their own may all count them from 0.
    is_unclear = masks[rank.mask] > 1 and len(visible) < len(gpus) >= masks.total()
    if rank.mask == "-":
        visible = [*gpus]
    elif is_unclear or len(visible) < len(numbers):  # the mask has names of GPUs
        return ()
    if len(visible) > 1 and masks.total() > 1:
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
