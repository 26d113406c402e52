"""The partition and the QOS of a request, and what they would refuse; pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from envcfg.datafile import finding_in
from envcfg.errors import suggest
from envcfg.findings import Finding
from envcfg.profile.model import Profile
from envcfg.profile.scheduler import Partition, Qos
from envcfg.request.limits import (
    Queue,
    Wanted,
    default_partition,
    exceeded,
    is_closed,
    known_queues,
    serves,
    takers,
)
from envcfg.request.shape import refused

_NEAR = 0.85  # of a name that is another one with a slip


def chosen_queues(
    profile: Profile, named: Mapping[str, str]
) -> tuple[Partition | None, Qos | None, list[Finding], list[Finding]]:
    """Return partition and QOS of a job, what the system refuses, and what is to be said.

    None where none is named, or the profile does not know it.
    """
    from difflib import get_close_matches

    refusals: list[Finding] = []
    findings: list[Finding] = []
    for option, title in (("--partition", "partition"), ("--qos", "QOS")):
        name, known = named.get(option), known_queues(profile, option)
        seen = profile.seen if option == "--partition" else ()
        if name is None or not known or name in known or name in seen:
            continue
        words = {"profile": profile.name, "title": title, "name": name}
        words["near"] = suggest(name, known)
        if is_closed(profile, option):
            refusals.append(refused("queue", **words))
        else:
            found = finding_in("request", "queue-unknown", f"{option}={name}", **words)
            is_near = get_close_matches(name, known, 1, _NEAR)
            findings.append(found._replace(severity="warning") if is_near else found)
    name = named.get("--partition", "")
    partition = profile.partitions.get(name) or profile.seen.get(name)
    if "--partition" not in named:
        partition = default_partition(profile)
    qos = profile.qos.get(named.get("--qos", ""))
    if qos and not serves(qos, partition):
        others, first = ", ".join(qos.partitions), qos.partitions[0]
        who = {"qos": qos, "partition": partition, "partitions": others, "first": first}
        found = _by_age(qos, refused("qos-elsewhere", qos.reason, **who))
        (findings if qos.is_old else refusals).append(found)
    return partition, qos, refusals, findings


def _by_age(queue: Queue, found: Finding) -> Finding:
    """Return a refusal, or where its limit may no longer hold a note with its date."""
    if not queue.is_old:
        return found
    message = f"{found.message}, as of {queue.reason.date}: this may have changed"
    return found._replace(rule="limit-old", severity="note", message=message)


def beyond_limits(
    profile: Profile, wanted: Wanted, partition: Partition | None, qos: Qos | None
) -> Iterator[tuple[str, Finding]]:
    """Yield the limits of partition and QOS that a job does not keep, with who takes it.

    The first of each is what it asks too much of: ``nodes``, ``gpus`` or ``time``.
    """
    for each in exceeded(wanted, partition, qos):
        if each.what == "time":
            size = f" {wanted.nodes} nodes" if each.queue.sizes and wanted.nodes else ""
            message = f"--time {each.asked} is more than {each.queue} gives{size}: "
            message += f"{each.limit}"
        else:
            least = "least" if each.is_least else "most"
            message = (
                f"{each.asked}, but {each.queue} gives a job {each.limit} at {least}"
            )
        amount = "more" if each.is_least else "less"
        fix = f"ask for {amount}, {_instead(profile, wanted, partition, qos)}"
        refusal = refused("said", each.queue.reason, message=message, fix=fix)
        yield each.what, _by_age(each.queue, refusal)


def _instead(
    profile: Profile, wanted: Wanted, partition: Partition | None, qos: Qos | None
) -> str:
    """Return by which option the system would take the job as it is."""
    takes, partitions = takers(profile, wanted, partition)
    if qos and partition and partition.name in partitions:
        return "or leave out --qos"
    ways = [f"--qos {name}" for name in takes]
    ways += [f"--partition {name}" for name in partitions]
    return f"or give {' or '.join(ways)}" if ways else "or choose another --partition"
