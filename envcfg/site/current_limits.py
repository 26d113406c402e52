"""Current limits and prices of a profile; they change more often than its other values.

On the system itself, the scheduler is asked, for one second at most; its answer is kept
for a day and wins. A limit that is older than half a year refuses nothing. In a job
nothing is asked, and ``wrap`` uses no limits at all.
"""

import os
import re
from collections.abc import Mapping
from datetime import date, datetime, timezone
from fnmatch import fnmatchcase
from typing import Any, TypeVar

from envcfg.backends.scheduler_client import query_all
from envcfg.backends.schedulers.scheduler import Scheduler, words
from envcfg.common.cache import remember
from envcfg.common.findings import NOWHERE
from envcfg.job.request.amounts import seconds
from envcfg.profile.job_facts import Reason
from envcfg.profile.profile_model import Profile
from envcfg.profile.scheduler_settings import LIMITS_LAST, Billing, Own, Partition, Qos
from envcfg.site.machine import job_kind, scheduler_here
from envcfg.site.machine_facts import SeenPartition
from envcfg.site.queue_reader import read_associations, read_qos, read_queues

_DAY = 86_400  # seconds
_WAIT = 1.0  # seconds for all questions together
_Dated = TypeVar("_Dated", Partition, Qos, Billing)
_Queue = TypeVar("_Queue", Partition, Qos)


def now() -> float:
    """Return the time in seconds since 1970; SOURCE_DATE_EPOCH overrides it."""
    import time

    stated = os.environ.get("SOURCE_DATE_EPOCH", "")
    return float(stated) if stated.isdecimal() else time.time()


def day_of(offset: float) -> date:
    """Return the UTC day of a time in seconds since 1970."""
    return datetime.fromtimestamp(offset, timezone.utc).date()


def as_of_today(profile: Profile) -> Profile:
    """Return *profile* with the scheduler's current limits; old limits are marked."""
    today = day_of(now())
    partitions = {
        n: _aged(partition, today) for n, partition in profile.partitions.items()
    }
    qos = {name: _aged(one_qos, today) for name, one_qos in profile.qos.items()}
    queues_known: dict[str, list[Partition | Qos | None]]
    queues_known = {"partitions": [*partitions.values()], "qos": [*qos.values()]}
    # A list with an old entry may lack newer queues, so it no longer counts as
    # complete.
    closed = tuple(
        name
        for name in profile.closed or ()
        if not any(queue and queue.is_old for queue in queues_known[name])
    )
    profile = profile._replace(
        partitions=partitions,
        qos=qos,
        closed=closed or None,
        billing=_aged(profile.billing, today),
    )
    # In a job the limits have already been applied.
    scheduler = None if job_kind() else scheduler_here()
    clusters = profile.detect.clusters if profile.detect else ()
    answer = _answer(scheduler) if scheduler and clusters else None
    # Another cluster of the site may have the same profile's name but other limits.
    if answer and any(fnmatchcase(answer["cluster"], cluster) for cluster in clusters):
        return _laid_over(profile, answer)
    return profile


def _aged(entry: _Dated | None, today: date) -> _Dated | None:
    # The date of the reason says when a person last looked at the source.
    if entry is None:
        return None
    age = (today - date.fromisoformat(entry.reason.date)).days
    return entry._replace(is_old=True) if age > LIMITS_LAST else entry


def _laid_over(profile: Profile, texts: Mapping[str, Any]) -> Profile:
    seen_partitions = {
        kind: {row["name"]: SeenPartition(**row) for row in texts[kind]}
        for kind in ("partitions", "qos")
    }
    day, cluster = day_of(texts["at"]).isoformat(), texts["cluster"]
    by, by_qos, by_own = (
        Reason("", f"{command} on {cluster}", day, NOWHERE) for command in texts["by"]
    )
    partitions = {
        name: _limited(
            partition._replace(
                exclusive=seen_partition.is_exclusive or partition.exclusive
            ),
            seen_partition,
            by,
        )
        for name, partition in profile.partitions.items()
        if partition and (seen_partition := seen_partitions["partitions"].get(name))
    }
    # Unknown partitions are kept apart, so that messages can tell both kinds.
    foreign = {
        name: _limited(Partition(name, by), partition, by)
        for name, partition in seen_partitions["partitions"].items()
        if name not in partitions
    }
    qos = {
        name: _limited(one_qos, seen_partition, by_qos)
        if one_qos and (seen_partition := seen_partitions["qos"].get(name))
        else one_qos
        for name, one_qos in profile.qos.items()
    }
    closed = {*(profile.closed or ()), "partitions"}  # the scheduler's list is complete
    return profile._replace(
        partitions=partitions,
        qos=qos,
        seen=foreign,
        closed=tuple(sorted(closed)),
        # An empty answer means that the site does not restrict accounts.
        own=Own(by_own, texts["own"]) if texts["own"] else None,
    )


def _limited(known: _Queue, seen_partition: SeenPartition, by: Reason) -> _Queue:
    """Return a queue with the scheduler's limits.

    Other values stay as in the profile, unless they are old.
    """
    if known.is_old:
        known = known._replace(
            sizes=(), gpus=None, min_nodes=None, min_gpus=None, nodes=None, time=None
        )
    # No limit of the scheduler is no reason to drop one of the site's pages.
    most = seen_partition.time or known.time
    # The scheduler's time limits every size, even if the profile is more generous.
    sizes = tuple(
        size._replace(time=min(size.time, most, key=seconds)) if most else size
        for size in known.sizes
    )
    sizes_kept = (
        sizes
        or known.min_nodes
        or known.min_gpus
        or any(
            getattr(known, name) and not getattr(seen_partition, name)
            for name in ("gpus", "nodes", "time")
        )
    )
    # Both sources are named if values of both remain.
    source = f"{by.source}; else {known.reason.source}" if sizes_kept else by.source
    return known._replace(
        nodes=seen_partition.nodes or known.nodes,
        time=most,
        gpus=seen_partition.gpus or known.gpus,
        sizes=sizes,
        reason=known.reason._replace(source=source, date=by.date),
        is_old=False,
    )


def _answer(scheduler: Scheduler) -> dict[str, Any] | None:
    """Return the scheduler's answer, from today's cache or new; None: no answer."""
    answer: dict[str, Any] | None = remember(
        "limits",
        # Two clusters may share a home folder.
        [scheduler.name, os.uname().nodename],
        lambda: _ask(scheduler),
        # A time in the future means a wrong clock, so the answer is not used.
        lambda answer: 0 <= now() - answer["at"] < _DAY,
    )
    return answer


def _ask(scheduler: Scheduler) -> dict[str, Any] | None:
    """Ask all questions at once; None if the cluster reports no name or no queue."""
    user = os.environ.get("LOGNAME") or os.environ.get("USER") or ""
    own = tuple(word.format(user) for word in scheduler.own if user)
    commands = (scheduler.cluster_command, scheduler.queues, scheduler.qos, own)
    answers = query_all(commands, _WAIT)
    cluster, queues, text, mine = (answer.text for answer in answers)
    match = re.search(scheduler.cluster_pattern, cluster, re.MULTILINE)
    seen_partitions = read_queues(scheduler, queues)
    # A partial answer could hide queues, so it is not used.
    if not match or not seen_partitions:
        return None
    qos = {one_qos.name: one_qos for one_qos in read_qos(text)}
    seen_partitions = [
        _tightest(seen_partition, qos.get(seen_partition.qos))
        for seen_partition in seen_partitions
    ]
    document = {"partitions": seen_partitions, "qos": qos.values()}
    return {
        "cluster": match[1],
        "at": now(),
        "by": [words(command) for command in commands[1:]],
        "own": read_associations(mine, cluster, match[1]),
        **{kind: [row._asdict() for row in rows] for kind, rows in document.items()},
    }


def _tightest(partition: SeenPartition, qos: SeenPartition | None) -> SeenPartition:
    """Return a partition with the limits of its own QOS: both apply to each job."""
    if qos is None:
        return partition
    times = [limit for limit in (partition.time, qos.time) if limit]
    nodes = [limit for limit in (partition.nodes, qos.nodes) if limit]
    return partition._replace(
        time=min(times, key=seconds, default=None),
        nodes=min(nodes, default=None),
        gpus=qos.gpus,
    )
