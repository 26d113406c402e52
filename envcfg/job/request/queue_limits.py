"""The limits of partition and QOS, their origin, and alternatives with higher limits;
pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from envcfg.job.request.amounts import seconds, time_text
from envcfg.profile.profile_model import Profile
from envcfg.profile.scheduler_settings import Partition, Qos

Queue = Partition | Qos
_LISTS = {"--partition": "partitions", "--qos": "qos"}
_FAR = 2  # a site rarely raises a limit by this factor


class JobSize(NamedTuple):
    """The total size of a job; None if unknown."""

    nodes: int | None = None
    gpus: int | None = None
    seconds: int | None = None


class Excess(NamedTuple):
    """One limit that a job exceeds."""

    quantity: str  # `nodes`, `gpus` or `time`
    requested: str  # the requested amount, in words; *limit*: the allowed amount
    limit: str
    is_least: bool  # the limit is a minimum, and the job requests less
    queue: Queue  # the queue with the limit
    # The request is at least twice the limit, or at most half of a minimum.
    is_far: bool


def known_queues(profile: Profile, option: str) -> Mapping[str, Queue]:
    """Return the profile's values for ``--partition`` or ``--qos``, by name."""
    queues = {"--partition": profile.partitions, "--qos": profile.qos}.get(option, {})
    return {name: queue for name, queue in queues.items() if queue}


def is_closed(profile: Profile, option: str) -> bool:
    """Return whether the profile's list for the option is complete."""
    return _LISTS.get(option) in (profile.closed or ())


def default_partition(profile: Profile) -> Partition | None:
    """Return the partition of a job that names none; None if unknown."""
    partitions = (
        partition
        for partition in profile.partitions.values()
        if partition and partition.default
    )
    return next(partitions, None)


def exceeded(
    requirements: JobSize, partition: Partition | None, qos: Qos | None
) -> Iterator[Excess]:
    """Yield the limits that a job exceeds; those of the QOS come first."""
    for resource, title in (("nodes", "nodes"), ("gpus", "GPUs")):
        number = getattr(requirements, resource)
        if number is None:
            continue
        most = next((each for each in (qos, partition) if _most(each, resource)), None)
        if most and number > (limit_number := _most(most, resource) or 0):
            limit, is_far = str(limit_number), number >= _FAR * limit_number
            yield Excess(
                resource,
                f"{number} {title}",
                limit,
                is_least=False,
                queue=most,
                is_far=is_far,
            )
        least = _who_says(f"min_{resource}", qos, partition)
        if least and number < (limit_number := getattr(least, f"min_{resource}")):
            limit, is_far = str(limit_number), _FAR * number <= limit_number
            yield Excess(
                resource,
                f"{number} {title}",
                limit,
                is_least=True,
                queue=least,
                is_far=is_far,
            )
    queue = _who_says("time", qos, partition, or_else="sizes")
    most_time = longest(queue, requirements.nodes) if queue else None
    if (
        queue
        and most_time
        and requirements.seconds
        and requirements.seconds > most_time
    ):
        request_text, limit = time_text(requirements.seconds), time_text(most_time)
        is_far = requirements.seconds >= _FAR * most_time
        yield Excess(
            "time", request_text, limit, is_least=False, queue=queue, is_far=is_far
        )


def _most(queue: Queue | None, subject: str) -> int | None:
    """Return the most nodes or GPUs of a job; None: unknown.

    Without a time for larger jobs, the largest of the sizes is the limit.
    """
    if queue is None:
        return None
    most: int | None = getattr(queue, subject)
    if most is None and subject == "nodes" and queue.sizes and not queue.time:
        return queue.sizes[-1].nodes
    return most


def longest(queue: Queue, nodes: int | None) -> int | None:
    """Return the longest time in seconds of a job of *nodes* nodes; None: unknown.

    If the number of nodes is unknown, it is the longest time of any job.
    """
    by_size = [seconds(size.time) for size in queue.sizes]
    if nodes is not None:
        by_size = [seconds(e.time) for e in queue.sizes if nodes <= e.nodes][:1]
    if nodes is None and queue.time:  # the time of jobs larger than any size
        by_size.append(seconds(queue.time))
    if by_size:
        return max(by_size)
    return seconds(queue.time) if queue.time else None


def takers(
    profile: Profile, requirements: JobSize, partition: Partition | None
) -> tuple[list[str], list[str]]:
    """Return the QOS of *partition*, and the partitions, that would accept the job."""
    qos = [
        name
        for name, queue in known_queues(profile, "--qos").items()
        if isinstance(queue, Qos)
        and serves(queue, partition)
        and not list(exceeded(requirements, partition, queue))
    ]
    partitions = [
        name
        for name, queue in known_queues(profile, "--partition").items()
        if isinstance(queue, Partition)
        and not list(exceeded(requirements, queue, None))
        and _is_of_kind(profile, name)
    ]
    return qos, partitions


def _is_of_kind(profile: Profile, partition: str) -> bool:
    """Return whether a partition has the kind of node for which the request is."""
    from envcfg.profile.node_kinds import selected

    kinds = selected(profile, "partitions", partition)
    return not (profile.kind and kinds) or profile.kind.name in kinds


def serves(qos: Qos, partition: Partition | None) -> bool:
    """Return whether jobs of *partition* may use a QOS; None: unknown."""
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
