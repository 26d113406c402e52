"""The system: what its scheduler refuses, and what its profile says of a request."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial

from envcfg.findings import Finding, Severity
from envcfg.lint.rule import Fault, Job, detects
from envcfg.lint.system import (
    asked_partition,
    directives,
    is_gpu_job,
    most_cores,
    most_memory,
)
from envcfg.profile.model import Profile
from envcfg.profile.scheduler import Billing, Partition
from envcfg.request.admission import Given, by_rule_names
from envcfg.request.amounts import mebibytes, seconds
from envcfg.request.limits import Wanted, default_partition, exceeded, is_closed
from envcfg.request.options import option_table
from envcfg.request.queues import beyond_limits
from envcfg.request.rules import check_rules
from envcfg.request.shape import gpus_beyond

_THREADS = frozenset({"threads-per-core", "hint", "core-spec", "ntasks-per-core"})
_GIB = 1024
_OPEN = re.compile(r"[\x01$<{]")  # of a value that is filled in later
_MANY = 100_000  # cores, of which no node has so many
# Whether the scheduler and the site would take a job: what every command asks of a script.
ADMISSION = ("EC628", "EC647", "EC644", "EC645", "EC646")


@detects("EC628")
def over_limit(job: Job) -> Iterator[Fault]:
    """More cores, memory, time or nodes than the system gives."""
    asked = directives(job)
    if job.profile is None or not asked:
        return
    if "partition" in asked and not (is_gpu_job(job) or _is_for_gpus(job)):
        return  # nodes of which the profile says nothing
    gpus = job.shape.gpus_per_node
    if job.profile.node and gpus and (beyond := gpus_beyond(job.profile.node, gpus)):
        names = ("gpus-per-node", "gres", "gpus")
        at = next((asked[name].at for name in names if name in asked), -1)
        yield _fault(at, beyond, job)
    yield from _cores(job, asked)
    yield from _memory(job, asked)
    yield from _partition(job, asked)


def _cores(job: Job, asked: dict[str, Given]) -> Iterator[Fault]:
    most, cpus = most_cores(job.profile), job.shape.cpus or 0
    cores = cpus * (job.shape.per_node or 1)
    if most is None or _THREADS & asked.keys():
        return
    if cpus <= _MANY and cores > most:
        words = {"asked": f"{cores} cores of a node", "most": most, "name": _name(job)}
        yield Fault(asked["cpus-per-task"].at, words)


def _memory(job: Job, asked: dict[str, Given]) -> Iterator[Fault]:
    most = most_memory(job.profile)
    if most is None or not job.profile or not job.profile.node:
        return
    gpus = min(job.shape.gpus_per_node or 1, job.profile.node.gpus)
    for name, times in (("mem", 1), ("mem-per-gpu", gpus)):
        size = (_amount(mebibytes, asked, name) or 0) * times
        if size and size >= most:
            words = {"asked": f"{size // _GIB} GiB of a node", "name": _name(job)}
            words["most"] = f"less than {most // _GIB} GiB"
            yield Fault(asked[name].at, words)


def _partition(job: Job, asked: dict[str, Given]) -> Iterator[Fault]:
    if job.profile is None:
        return
    if "partition" not in asked:
        yield from _limits(job, asked, default_partition(job.profile))
        return
    name = asked["partition"].value or ""
    known = {n: each for n, each in job.profile.partitions.items() if each}
    found = known.get(name) or job.profile.seen.get(name)
    if found is None:
        if known and is_gpu_job(job) and re.fullmatch(r"[\w-]+", name):
            from difflib import get_close_matches

            near = get_close_matches(name, known, 1, 0.85)
            severity: Severity = "warning" if near else "note"
            words = {"partition": name, "name": _name(job), "known": ", ".join(known)}
            yield Fault(asked["partition"].at, words, "partition", severity)
        return
    yield from _limits(job, asked, found)


def _limits(
    job: Job, asked: dict[str, Given], partition: Partition | None
) -> Iterator[Fault]:
    """Yield what a script asks for beyond its partition and QOS."""
    if job.profile is None or "reservation" in asked:
        return  # which may have limits of its own
    named = asked["qos"].value if "qos" in asked else None
    qos = job.profile.qos.get(named or "")
    if "qos" in asked and qos is None:
        return
    shape = job.shape
    all_gpus = (shape.nodes or 0) * (shape.gpus_per_node or 0)
    time = _amount(seconds, asked, "time")
    wanted = Wanted(nodes=shape.nodes, gpus=all_gpus or None, seconds=time)
    if partition is None and "partition" not in asked and is_gpu_job(job):
        partition = _widest(job.profile, wanted)
    for what, finding in beyond_limits(job.profile, wanted, partition, qos):
        names = {"gpus": ("gpus-per-node", "gres", "gpus")}.get(what, (what,))
        at = next((asked[name].at for name in names if name in asked), None)
        if at is not None:
            yield _fault(at, finding, job, finding.severity)


def _widest(profile: Profile, wanted: Wanted) -> Partition | None:
    """Return the partition that refuses least, where all are known and none takes it."""
    if not is_closed(profile, "--partition"):
        return None
    known = [each for each in profile.partitions.values() if each]
    by_refusals = {each.name: len(list(exceeded(wanted, each, None))) for each in known}
    best = min(by_refusals, key=lambda name: by_refusals[name], default="")
    return profile.partitions[best] if by_refusals.get(best) else None


def _fault(
    at: int, finding: Finding, job: Job, severity: Severity | None = None
) -> Fault:
    """Return what the request of ``envcfg job`` would be refused for, in its words."""
    words = {"said": finding.message, "instead": finding.fix}
    line = next((each.at for each in job.model.given), -1)
    return Fault(at if at >= 0 else line, words, "said", severity or "error")


@detects("EC646")
def site_rules(job: Job) -> Iterator[Fault]:
    """What the system wants of each job, and what it refuses.

    Nothing is said of scripts that are for another scheduler, or not for GPUs. What stands
    in the script is judged by itself; what is missing is one finding, as one line mends it.
    How sure it is decides the severity: an error needs a source that says that jobs are
    refused, and a script that is certainly for this system.
    """
    profile, table = job.profile, option_table(job.model.scheduler)
    if profile is None or not profile.request or not _is_for_gpus(job):
        return
    if profile.request.scheduler != job.model.scheduler:
        return
    asked = by_rule_names(table, job.model.given)
    doubtful: Severity = "note" if job.model.is_recognised else "warning"
    missing: dict[str, Finding] = {}
    values = {name: each.value for name, each in asked.items()}
    for option, finding in check_rules(profile, values):
        rule = profile.rules[option]
        if option not in asked:
            missing[option] = finding
        elif not _OPEN.search(asked[option].value or ""):
            is_advice = rule and rule.rule == "must not" and not rule.value
            is_sure = not is_advice or (rule and rule.refused)
            severity: Severity = "error" if is_sure else doubtful
            yield _fault(asked[option].at, finding, job, severity)
    if missing:
        said = "; ".join(each.message for each in missing.values())
        fix = "; ".join(each.fix or "" for each in missing.values())
        first = next(iter(missing.values()))._replace(message=said, fix=fix)
        is_sure = any(_is_refused(each, profile, job) for each in missing)
        is_error = is_sure and not job.model.is_recognised
        yield _fault(-1, first, job, "error" if is_error else doubtful)


def _is_refused(option: str, profile: Profile, job: Job) -> bool:
    """Return whether a job without *option* is certainly refused.

    What a script lacks, sbatch may be told on its command line, or by SBATCH_ACCOUNT and
    the like. Nobody but the user knows: it counts where the script speaks of it. A script
    that is only recognised as one of the system may be for another.
    """
    rule, chars = profile.rules[option], job.model.flat.chars if job.model.flat else ""
    variable = f"SBATCH_{option.strip('-').upper().replace('-', '_')}"
    told = re.search(rf"\bsbatch\b[^\n]*\s{option}\b|\b{variable}\b", chars)
    return rule is not None and rule.refused and told is None


def _is_for_gpus(job: Job) -> bool:
    """Return whether a script is certainly for what the profile knows: its GPU nodes."""
    asked = directives(job)
    if not asked:  # of another scheduler, whose nodes are all alike
        return bool(job.model.given)
    known = job.profile.partitions if job.profile else {}
    named = asked["partition"].value if "partition" in asked else None
    return is_gpu_job(job) if named is None else named in known


def _name(job: Job) -> str:
    return job.profile.name if job.profile else ""


def _amount(
    read: Callable[[str], int | None], asked: Mapping[str, Given], name: str
) -> int | None:
    """Return how much is asked for; None where it is not, or is not an amount."""
    try:
        return read(asked[name].value or "") if name in asked else None
    except ValueError:
        return None


@detects("EC630")
def billing(job: Job) -> Iterator[Fault]:
    """What is paid for, and not used."""
    profile, name = job.profile, asked_partition(job)
    if profile is None or profile.billing is None or profile.node is None:
        return
    gpus = job.shape.gpus_per_node
    if name is None or not gpus:
        return
    if name in profile.billing.whole_nodes:
        yield from _part_of_node(job, gpus, profile.node.gpus)
    elif name in profile.partitions and not job.shape.is_exclusive:
        yield from _shares(job, gpus, profile.billing)


def _part_of_node(job: Job, gpus: int, most: int) -> Iterator[Fault]:
    """Yield where nodes are billed as a whole, and a part of them is asked for."""
    asked, name = directives(job), asked_partition(job)
    memory = _amount(mebibytes, asked, "mem")
    all_memory = most_memory(job.profile)
    if gpus < most and not job.shape.is_exclusive:
        words = {"partition": name, "gpus": gpus, "most": most}
        at = next((asked[n].at for n in ("gpus-per-node", "gres") if n in asked), -1)
        yield Fault(at, words)
    elif memory and all_memory and memory * 2 < all_memory:
        words = {"partition": name, "memory": memory // _GIB}
        yield Fault(asked["mem"].at, words, "part-of-memory")


def _shares(job: Job, gpus: int, bill: Billing) -> Iterator[Fault]:
    """Yield where cores or memory are billed as more GPUs than the job has."""
    if bill.charge != "largest share":
        return
    asked, shape = directives(job), job.shape
    cores = (shape.cpus or 0) * (shape.per_node or 1)
    memory = _amount(mebibytes, asked, "mem")
    for what, number, share, option in (
        ("cores", cores, bill.cores_per_share, "cpus-per-task"),
        ("GiB", (memory or 0) // _GIB, bill.memory_per_share, "mem"),
    ):
        if share and number > gpus * share and option in asked:
            words = {
                "number": number, "what": what, "gpus": gpus,
                "shares": -(-number // share), "most": gpus * share,
            }  # fmt: skip
            yield Fault(asked[option].at, words, "shares")


def _of_kind(job: Job, kind: str) -> Iterator[Fault]:
    """Yield what the reader of the directives found of one kind."""
    for each in job.model.problems:
        if each.kind == kind:
            words = {"said": each.message, "instead": each.fix}
            yield Fault(each.at, words, severity=each.severity)


for _rule, _kind in {
    "EC647": "refused",
    "EC644": "unread",
    "EC645": "overridden",
}.items():
    detects(_rule)(partial(_of_kind, kind=_kind))
