"""What partition and QOS give to a job, which of them says so, and who gives more; pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from envcfg.profile.model import Profile
from envcfg.profile.scheduler import Partition, Qos
from envcfg.request.amounts import seconds, time_text

Queue = Partition | Qos
_LISTS = {"--partition": "partitions", "--qos": "qos"}


class Wanted(NamedTuple):
    """How large a job is, in all; None where that is not known."""

    nodes: int | None = None
    gpus: int | None = None
    seconds: int | None = None


class Excess(NamedTuple):
    """One limit that a job does not keep.

    Attributes:
        what: ``nodes``, ``gpus`` or ``time``.
        asked: how much of it, in words; *limit*: how much it may be.
        is_least: the limit is the least, and the job wants less.
        queue: who says so.
    """

    what: str
    asked: str
    limit: str
    is_least: bool
    queue: Queue


def known_queues(profile: Profile, option: str) -> Mapping[str, Queue]:
    """Return what the profile knows of ``--partition`` or ``--qos``, by name."""
    given = {"--partition": profile.partitions, "--qos": profile.qos}.get(option, {})
    return {name: each for name, each in given.items() if each}


def is_closed(profile: Profile, option: str) -> bool:
    """Tell whether the profile knows all that there are for the option."""
    return _LISTS.get(option) in (profile.closed or ())


def default_partition(profile: Profile) -> Partition | None:
    """Return the partition of a job that names none; None where nobody says."""
    known = (each for each in profile.partitions.values() if each and each.default)
    return next(known, None)


def exceeded(
    wanted: Wanted, partition: Partition | None, qos: Qos | None
) -> Iterator[Excess]:
    """Yield the limits that a job does not keep; those of the QOS come first."""
    for what, title in (("nodes", "nodes"), ("gpus", "GPUs")):
        number = getattr(wanted, what)
        if number is None:
            continue
        most = _who_says(what, qos, partition)
        if most and number > getattr(most, what):
            limit = str(getattr(most, what))
            yield Excess(what, f"{number} {title}", limit, is_least=False, queue=most)
        least = _who_says(f"min_{what}", qos, partition)
        if least and number < getattr(least, f"min_{what}"):
            limit = str(getattr(least, f"min_{what}"))
            yield Excess(what, f"{number} {title}", limit, is_least=True, queue=least)
    queue = _who_says("time", qos, partition, or_else="sizes")
    most_time = longest(queue, wanted.nodes) if queue else None
    if queue and most_time and wanted.seconds and wanted.seconds > most_time:
        asked, limit = time_text(wanted.seconds), time_text(most_time)
        yield Excess("time", asked, limit, is_least=False, queue=queue)


def longest(queue: Queue, nodes: int | None) -> int | None:
    """Return the seconds that a job of *nodes* nodes can have; None: nobody says.

    Where the nodes are not known, it is what any job can have.
    """
    by_size = [seconds(each.time) for each in queue.sizes]
    if nodes is not None:
        by_size = [seconds(e.time) for e in queue.sizes if nodes <= e.nodes][:1]
    if nodes is None and queue.time:  # of those that are larger than any size
        by_size.append(seconds(queue.time))
    if by_size:
        return max(by_size)
    return seconds(queue.time) if queue.time else None


def takers(
    profile: Profile, wanted: Wanted, partition: Partition | None
) -> tuple[list[str], list[str]]:
    """Return the QOS of *partition*, and the partitions, that would take the job."""
    qos = [
        name
        for name, each in known_queues(profile, "--qos").items()
        if isinstance(each, Qos)
        and serves(each, partition)
        and not list(exceeded(wanted, partition, each))
    ]
    partitions = [
        name
        for name, each in known_queues(profile, "--partition").items()
        if isinstance(each, Partition) and not list(exceeded(wanted, each, None))
    ]
    return qos, partitions


def serves(qos: Qos, partition: Partition | None) -> bool:
    """Tell whether a QOS is for jobs of *partition*; None: nobody has named one."""
    return partition is None or not qos.partitions or partition.name in qos.partitions


def _who_says(
    key: str, qos: Qos | None, partition: Partition | None, or_else: str = ""
) -> Queue | None:
    for queue in (qos, partition):
        if queue and (
            getattr(queue, key) is not None or (or_else and getattr(queue, or_else))
        ):
            return queue
    return None
