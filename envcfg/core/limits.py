"""Limits and prices of a profile as they are today; they change more often than the rest.

Where envcfg runs on the system itself, its scheduler is asked, which takes a second at most
and is kept for a day; what it says wins. A limit at which nobody has looked for half a year
refuses nothing. In a job nothing is asked, and ``wrap`` takes no limits at all.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from datetime import date, datetime, timezone
from fnmatch import fnmatchcase
from typing import Any, TypeVar

from envcfg.cache import keep, kept_folder, recall
from envcfg.core.site import ask, job_kind, scheduler_here
from envcfg.findings import NOWHERE
from envcfg.profile.facts import Reason
from envcfg.profile.model import Profile
from envcfg.profile.scheduler import Billing, Own, Partition, Qos
from envcfg.profile.site.model import SeenPartition
from envcfg.profile.site.queues import READERS, read_associations, read_qos
from envcfg.request.amounts import seconds
from envcfg.schedulers.model import Scheduler, words

_OLD = 183  # days
_DAY = 86_400  # seconds
_WAIT = 1.0  # seconds that all questions take together
_Dated = TypeVar("_Dated", Partition, Qos, Billing)
_Queue = TypeVar("_Queue", Partition, Qos)


def now() -> float:
    """Return the time in seconds since 1970, which SOURCE_DATE_EPOCH can say."""
    import time

    stated = os.environ.get("SOURCE_DATE_EPOCH", "")
    return float(stated) if stated.isdecimal() else time.time()


def day_of(at: float) -> date:
    """Return the day of a time in seconds since 1970."""
    return datetime.fromtimestamp(at, timezone.utc).date()


def as_of_today(profile: Profile) -> Profile:
    """Return *profile* with what its scheduler says here, and with old limits marked."""
    today = day_of(now())
    partitions = {n: _aged(each, today) for n, each in profile.partitions.items()}
    qos = {name: _aged(each, today) for name, each in profile.qos.items()}
    known: dict[str, list[Partition | Qos | None]]
    known = {"partitions": [*partitions.values()], "qos": [*qos.values()]}
    closed = tuple(
        name
        for name in profile.closed or ()
        if not any(each and each.is_old for each in known[name])
    )
    profile = profile._replace(
        partitions=partitions,
        qos=qos,
        closed=closed or None,
        billing=_aged(profile.billing, today),
    )
    scheduler = None if job_kind() else scheduler_here()
    clusters = profile.detect.clusters if profile.detect else ()
    said = _answer(scheduler) if scheduler and clusters else None
    if said and any(fnmatchcase(said["cluster"], each) for each in clusters):
        return _laid_over(profile, said)
    return profile


def _aged(entry: _Dated | None, today: date) -> _Dated | None:
    if entry is None or (today - date.fromisoformat(entry.reason.date)).days <= _OLD:
        return entry
    return entry._replace(is_old=True)


def _laid_over(profile: Profile, said: Mapping[str, Any]) -> Profile:
    seen = {
        kind: {row["name"]: SeenPartition(**row) for row in said[kind]}
        for kind in ("partitions", "qos")
    }
    day, cluster = day_of(said["at"]).isoformat(), said["cluster"]
    by, by_qos, by_own = (
        Reason("", f"{each} on {cluster}", day, NOWHERE) for each in said["by"]
    )
    partitions = {
        name: _limited(
            each._replace(exclusive=found.is_exclusive or each.exclusive), found, by
        )
        for name, each in profile.partitions.items()
        if each and (found := seen["partitions"].get(name))
    }
    others = {
        name: _limited(Partition(name, by), found, by)
        for name, found in seen["partitions"].items()
        if name not in partitions
    }
    qos = {
        name: _limited(each, found, by_qos)
        if each and (found := seen["qos"].get(name))
        else each
        for name, each in profile.qos.items()
    }
    closed = {*(profile.closed or ()), "partitions"}  # all that there are
    return profile._replace(
        partitions=partitions,
        qos=qos,
        seen=others,
        closed=tuple(sorted(closed)),
        own=Own(by_own, said["own"]) if said["own"] else None,
    )


def _limited(known: _Queue, seen: SeenPartition, by: Reason) -> _Queue:
    """Return a queue with the limits that the scheduler says.

    What it does not speak of stays as the profile has it, if that is not old.
    """
    if known.is_old:
        known = known._replace(sizes=(), gpus=None, min_nodes=None, min_gpus=None)
    most = seen.time
    sizes = tuple(
        each._replace(time=min(each.time, most, key=seconds)) if most else each
        for each in known.sizes
    )
    kept = sizes or known.min_nodes or known.min_gpus or (known.gpus and not seen.gpus)
    source = f"{by.source}; else {known.reason.source}" if kept else by.source
    return known._replace(
        nodes=seen.nodes,
        time=most,
        gpus=seen.gpus or known.gpus,
        sizes=sizes,
        reason=known.reason._replace(source=source, date=by.date),
        is_old=False,
    )


def _answer(scheduler: Scheduler) -> dict[str, Any] | None:
    """Return what the scheduler here says, of today or kept; None: it does not answer."""
    folder, key = kept_folder(os.environ), [scheduler.name, os.uname().nodename]
    said: dict[str, Any] | None = recall(folder, "limits", key) if folder else None
    if said is None or not 0 <= now() - said["at"] < _DAY:
        said = _ask(scheduler)
        if said and folder:
            keep(folder, "limits", key, said)
    return said


def _ask(scheduler: Scheduler) -> dict[str, Any] | None:
    """Ask all at once; None where the cluster does not say its name or no queue."""
    from concurrent.futures import ThreadPoolExecutor

    user = os.environ.get("LOGNAME") or os.environ.get("USER") or ""
    own = tuple(word.format(user) for word in scheduler.own if user)
    commands = (scheduler.cluster_command, scheduler.queues, scheduler.qos, own)
    with ThreadPoolExecutor(len(commands)) as pool:
        told = pool.map(lambda each: each and ask(each, _WAIT), commands)
        cluster, queues, text, mine = told
    named = re.search(scheduler.cluster_pattern, cluster, re.MULTILINE)
    seen = list(READERS[scheduler.name](queues))
    if not named or not seen:
        return None
    qos = {each.name: each for each in read_qos(text or "")}
    seen = [_tightest(each, qos.get(each.qos)) for each in seen]
    found = {"partitions": seen, "qos": qos.values()}
    return {
        "cluster": named[1],
        "at": now(),
        "by": [words(each) for each in commands[1:]],
        "own": read_associations(mine or "", cluster, named[1]),
        **{kind: [each._asdict() for each in rows] for kind, rows in found.items()},
    }


def _tightest(partition: SeenPartition, qos: SeenPartition | None) -> SeenPartition:
    """Return a partition with the limits of its own QOS: both hold for each job."""
    if qos is None:
        return partition
    times = [each for each in (partition.time, qos.time) if each]
    nodes = [each for each in (partition.nodes, qos.nodes) if each]
    return partition._replace(
        time=min(times, key=seconds, default=None),
        nodes=min(nodes, default=None),
        gpus=qos.gpus,
    )
