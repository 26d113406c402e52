"""The partition and the QOS of a request, and their limits; pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from envcfg.common.errors import suggest
from envcfg.common.findings import Finding, finding_in
from envcfg.job.request.queue_limits import (
    JobSize,
    Queue,
    default_partition,
    exceeded,
    is_closed,
    known_queues,
    serves,
    takers,
)
from envcfg.job.request.shape import refused
from envcfg.profile.profile_model import Profile
from envcfg.profile.scheduler_settings import Partition, Qos

_NEAR = 0.85  # similarity of a name with a typing error


def chosen_queues(
    profile: Profile, names: Mapping[str, str]
) -> tuple[Partition | None, Qos | None, list[Finding], list[Finding]]:
    """Return partition and QOS of a job, refusals of the system, and notes.

    The partition or QOS is None if the request names none, or if the profile does not
    know it.
    """
    from difflib import get_close_matches

    refusals: list[Finding] = []
    findings: list[Finding] = []
    for option, title in (("--partition", "partition"), ("--qos", "QOS")):
        name, queues = names.get(option), known_queues(profile, option)
        visible = profile.seen if option == "--partition" else ()
        if name is None or not queues or name in queues:
            continue
        words = {"profile": profile.name, "title": title, "name": name}
        if name in visible:
            findings.append(
                finding_in(
                    "job/request", "queue-undescribed", f"{option}={name}", **words
                )
            )
            continue
        words["near"] = suggest(name, queues)
        if is_closed(profile, option):
            refusals.append(refused("queue", **words))
        else:
            finding = finding_in(
                "job/request", "queue-unknown", f"{option}={name}", **words
            )
            is_near = get_close_matches(name, queues, 1, _NEAR)
            findings.append(
                finding._replace(severity="warning") if is_near else finding
            )
    name = names.get("--partition", "")
    partition = profile.partitions.get(name) or profile.seen.get(name)
    if "--partition" not in names:
        partition = default_partition(profile)
    qos = profile.qos.get(names.get("--qos", ""))
    if qos and not serves(qos, partition):
        partitions_text, first = ", ".join(qos.partitions), qos.partitions[0]
        owners = {
            "qos": qos,
            "partition": partition,
            "partitions": partitions_text,
            "first": first,
        }
        finding = _by_age(qos, refused("qos-elsewhere", qos.reason, **owners))
        (findings if qos.is_old else refusals).append(finding)
    return partition, qos, refusals, findings


def _by_age(queue: Queue, finding: Finding) -> Finding:
    """Return a refusal, or, for a limit that may be outdated, a note with its date."""
    if not queue.is_old:
        return finding
    message = f"{finding.message}, as of {queue.reason.date}: this may have changed"
    return finding._replace(rule="limit-old", severity="note", message=message)


def beyond_limits(
    profile: Profile,
    requirements: JobSize,
    partition: Partition | None,
    qos: Qos | None,
) -> Iterator[tuple[str, Finding]]:
    """Yield the exceeded limits of partition and QOS, with alternatives.

    The first of each tuple is the exceeded resource: ``nodes``, ``gpus`` or ``time``.
    """
    for excess in exceeded(requirements, partition, qos):
        if excess.quantity == "time":
            size = (
                f" {requirements.nodes} node{'s' * (requirements.nodes > 1)}"
                if excess.queue.sizes and requirements.nodes
                else ""
            )
            message = (
                f"--time {excess.requested} is more than {excess.queue} gives{size}: "
            )
            message += f"{excess.limit}"
        else:
            least = "least" if excess.is_least else "most"
            limit = f"{excess.limit} at {least}"
            message = f"{excess.requested}, but {excess.queue} gives a job {limit}"
        amount = "more" if excess.is_least else "less"
        fix = f"ask for {amount}, {_instead(profile, requirements, partition, qos)}"
        refusal = refused("said", excess.queue.reason, message=message, fix=fix)
        finding = _by_age(excess.queue, refusal)
        # Even an outdated limit is unlikely to have doubled.
        if finding.severity == "note" and excess.is_far:
            finding = finding._replace(severity="warning")
        yield excess.quantity, finding


def _instead(
    profile: Profile,
    requirements: JobSize,
    partition: Partition | None,
    qos: Qos | None,
) -> str:
    """Return the option with which the system would accept the job unchanged."""
    takes, partitions = takers(profile, requirements, partition)
    if qos and partition and partition.name in partitions:
        return "or leave out --qos"
    ways = [f"--qos {name}" for name in takes]
    ways += [f"--partition {name}" for name in partitions]
    other = "--qos" if qos and not partition else "--partition"
    return f"or give {' or '.join(ways)}" if ways else f"or choose another {other}"
