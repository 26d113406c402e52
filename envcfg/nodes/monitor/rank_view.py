"""The ranks of a node from two samples: their use of processors, cores and GPUs; pure."""

from collections import Counter
from collections.abc import Iterator, Sequence

from envcfg.common.characters import whole_number
from envcfg.nodes.probe.sample import NodeSample, RankSample

_TICKS = 100  # of the kernel for programs, in a second (USER_HZ)


def rank_views(
    before: NodeSample | None, now: NodeSample, gpus: Sequence[int]
) -> Iterator[RankSample]:
    """Yield the ranks of *now*; *gpus* are the numbers of the job's GPUs on the node."""
    # Several steps have the same numbers of ranks.
    old = {(rank.step, rank.rank): rank for rank in before.ranks} if before else {}
    seconds = now.time - before.time if before else 0.0
    masks = Counter(rank.mask for rank in now.ranks)
    for rank in now.ranks:
        view = rank._replace(gpus=_gpus_of(rank, gpus, masks))
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
