"""The system: what its profile says of partitions, cores, memory, masks and bills."""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import get_close_matches
from itertools import combinations

from envcfg.findings import Severity
from envcfg.lint.facts import step_shape, steps
from envcfg.lint.model import Command, Directive
from envcfg.lint.rule import Fault, Job, detects
from envcfg.lint.system import (
    asked_partition,
    directives,
    is_gpu_job,
    most_cores,
    most_memory,
    owns_nodes,
)
from envcfg.lint.text import holes
from envcfg.request.amounts import mebibytes, seconds, time_text

_MASKS = re.compile(r"(?:[a-z]+,)*(mask_cpu|map_cpu)[:=](.+)")
_RANKS = frozenset({"SLURM_LOCALID", "SLURM_PROCID", "SLURM_NODEID", "LOCAL_RANK"})
_THREADS = frozenset({"threads-per-core", "hint", "core-spec", "ntasks-per-core"})
_GIB = 1024
_MANY = 100_000  # cores, of which no node has so many


@detects("EC628")
def over_limit(job: Job) -> Iterator[Fault]:
    """More cores, memory, time or nodes than the system gives."""
    asked = directives(job)
    if job.profile is None or not asked:
        return
    yield from _cores(job, asked)
    yield from _memory(job, asked)
    yield from _partition(job, asked)


def _cores(job: Job, asked: dict[str, Directive]) -> Iterator[Fault]:
    most = most_cores(job.profile)
    shape = job.shape
    if most is None or shape.cpus is None or shape.cpus > _MANY or _THREADS & asked.keys():
        return
    cores = shape.cpus * (shape.per_node or 1)
    if cores > most:
        words = {"asked": f"{cores} cores of a node", "most": most, "name": _name(job)}
        yield Fault(asked["cpus-per-task"].at, words)


def _memory(job: Job, asked: dict[str, Directive]) -> Iterator[Fault]:
    most = most_memory(job.profile)
    if most is None or not job.profile or not job.profile.node:
        return
    gpus = min(job.shape.gpus_per_node or 1, job.profile.node.gpus)
    for name, times in (("mem", 1), ("mem-per-gpu", gpus)):
        if name in asked and (size := _size(asked[name])) and size * times >= most:
            words = {
                "asked": f"{size * times // _GIB} GiB of a node",
                "most": f"less than {most // _GIB} GiB",
                "name": _name(job),
            }
            yield Fault(asked[name].at, words)


def _partition(job: Job, asked: dict[str, Directive]) -> Iterator[Fault]:
    if job.profile is None or "partition" not in asked:
        return
    name = asked["partition"].value or ""
    known = {n: each for n, each in job.profile.partitions.items() if each}
    found = known.get(name)
    if found is None:
        if known and is_gpu_job(job) and re.fullmatch(r"[\w-]+", name):
            near = get_close_matches(name, known, 1, 0.85)
            severity: Severity = "warning" if near else "note"
            words = {"partition": name, "name": _name(job), "known": ", ".join(known)}
            message = "{name} has no partition {partition} with GPUs that is known"
            yield Fault(
                asked["partition"].at, words, severity, message, "one of: {known}"
            )
        return
    limit = _time(found.time)
    wanted = _time(asked["time"].value) if "time" in asked else None
    if limit and wanted and wanted > limit:
        words = {
            "asked": time_text(wanted), "most": time_text(limit), "name": f"partition {name}"
        }  # fmt: skip
        yield Fault(asked["time"].at, words)
    nodes = job.shape.nodes
    if found.nodes and nodes and nodes > found.nodes:
        words = {"asked": f"{nodes} nodes", "most": found.nodes, "name": f"partition {name}"}
        yield Fault(asked["nodes"].at, words)


def _name(job: Job) -> str:
    return job.profile.name if job.profile else ""


def _size(directive: Directive) -> int | None:
    try:
        return mebibytes(directive.value or "")
    except ValueError:
        return None


def _time(text: str | None) -> int | None:
    try:
        return seconds(text or "")
    except ValueError:
        return None


@detects("EC629")
def cpu_mask(job: Job) -> Iterator[Fault]:
    """CPU masks that srun refuses, or that bind to the wrong cores."""
    yield from _taskset(job)
    seen: set[int] = set()
    for step in steps(job.model):
        bind = step.options.get("cpu-bind")
        found = _MASKS.fullmatch(bind.shown) if bind else None
        if bind is None or found is None or step.is_open or step.at in seen:
            continue
        seen.add(step.at)
        if _is_part_of_node(job):
            message = (
                "{kind} on part of a node: srun refuses masks of cores that the job does not "
                "own"
            )
            fix = "add --exclusive, choose a partition of whole nodes, or leave the masks out"
            yield Fault(bind.at, {"kind": found[1]}, "error", message, fix)
        elif bind.literal is not None:
            yield from _entries(found[1], found[2], bind.at, step, job)


def _entries(
    kind: str, said: str, at: int, step: Command, job: Job
) -> Iterator[Fault]:
    shape = step_shape(step, job.shape)
    parts = said.split(",")
    if shape.per_node is not None and len(parts) != shape.per_node:
        words = {"kind": kind, "count": len(parts), "tasks": shape.per_node}
        yield Fault(at, words)
        return
    if kind != "mask_cpu":
        return
    try:
        masks = [int(each, 16) for each in parts]
    except ValueError:
        return
    if any(one & other for one, other in combinations(masks, 2)):
        message = "masks of different tasks share cores"
        yield Fault(at, {}, None, message, "give each task cores of its own")
    elif _is_other_order(masks, job):
        words = {"name": _name(job)}
        message = "the order of the masks is not that of the GPUs of {name}"
        fix = "envcfg profiles show {name} has the masks, in the order of the GPUs"
        yield Fault(at, words, None, message, fix)
    if "hint" in step.options or "hint" in directives(job):
        yield Fault(at, {}, "note", "--hint does nothing beside masks", "leave --hint out")


def _is_other_order(masks: list[int], job: Job) -> bool:
    """Return whether masks fit the GPUs of the profile, but others than their own."""
    profile = job.profile
    if profile is None or profile.cpu_masks is None or job.model.opaque:
        return False
    if any("VISIBLE_DEVICES" in name for name in job.model.set_names()):
        return False  # the script has an order of its own
    theirs = [int(each, 16) for each in profile.cpu_masks.masks]
    if len(masks) != len(theirs):
        return False
    places = [
        next((n for n, wide in enumerate(theirs) if mask and mask & wide == mask), None)
        for mask in masks
    ]
    return None not in places and sorted(places) != places  # type: ignore[type-var]


def _is_part_of_node(job: Job) -> bool:
    """Return whether the job certainly has less than all cores of its nodes."""
    profile, shape = job.profile, job.shape
    if profile is None or profile.node is None or owns_nodes(job) is not False:
        return False
    cores, most = shape.cpus, most_cores(profile)
    if cores and most and cores * (shape.per_node or 1) >= most:
        return False
    return shape.gpus_per_node is not None and shape.gpus_per_node < profile.node.gpus


def _taskset(job: Job) -> Iterator[Fault]:
    for command in job.model.commands:
        flags = [w.shown for w in command.arguments if w.shown.startswith("-")]
        if command.name != "taskset" or not any("p" in each for each in flags):
            continue
        names = {hole.name for hole in holes(command.words[-1].text)}
        if names & _RANKS:
            message = "taskset -p wants a process id, and gets ${name}"
            fix = "taskset -cp LIST $$, or --cpu-bind of srun"
            words = {"name": next(iter(names & _RANKS))}
            yield Fault(command.words[-1].at, words, "error", message, fix)


@detects("EC630")
def billing(job: Job) -> Iterator[Fault]:
    """What is paid for, and not used."""
    asked, profile, shape = directives(job), job.profile, job.shape
    if profile is None or profile.billing is None or profile.node is None:
        return
    name, bill = asked_partition(job), profile.billing
    if name is None or not shape.gpus_per_node:
        return
    gpus = shape.gpus_per_node
    at = next((asked[n].at for n in ("gpus-per-node", "gres") if n in asked), -1)
    memory = _size(asked["mem"]) if "mem" in asked else None
    if name in bill.whole_nodes:
        words = {"partition": name, "gpus": gpus, "most": profile.node.gpus}
        if gpus < profile.node.gpus and not shape.is_exclusive:
            yield Fault(at, words)
        elif memory and (most := most_memory(profile)) and memory * 2 < most:
            message = "{partition} bills whole nodes, and the job takes {memory} GiB of each"
            words = {"partition": name, "memory": memory // _GIB}
            yield Fault(asked["mem"].at, words, "note", message, "--mem=0, or all of it")
        return
    if bill.charge != "largest share" or shape.is_exclusive or name not in profile.partitions:
        return
    cores = (shape.cpus or 0) * (shape.per_node or 1)
    for what, number, share, option in (
        ("cores", cores, bill.cores_per_share, "cpus-per-task"),
        ("GiB", (memory or 0) // _GIB, bill.memory_per_share, "mem"),
    ):
        if share and number > gpus * share and option in asked:
            message = "{number} {what} are billed as {shares} GPUs, and the job has {gpus}"
            words = {
                "number": number, "what": what, "gpus": gpus, "shares": -(-number // share)
            }  # fmt: skip
            fix = f"at most {gpus * share} {what}, which is the share of {gpus}"
            yield Fault(asked[option].at, words, None, message, fix)


@detects("EC631")
def separated_devices(job: Job) -> Iterator[Fault]:
    """GPUs that are separated by task, where tasks need those of their neighbours."""
    profile = job.profile
    if profile is None or profile.node is None:
        return
    advised_none = any("--gpu-bind=none" in name for name in profile.srun)
    avoided = {
        name.lstrip("-")
        for name, rule in profile.rules.items()
        if rule and rule.rule == "avoid"
    }
    wanted = {"gpus-per-task", "ntasks-per-gpu", "gpu-bind"}
    looked = wanted if advised_none else wanted & avoided
    if not looked:
        return
    asked = {n: d.value or "" for n, d in directives(job).items()}
    places = {n: d.at for n, d in directives(job).items()}
    seen: set[int] = set()
    for step in steps(job.model):
        told = {**asked, **{n: w.shown for n, w in step.options.items()}}
        where = {**places, **{n: w.at for n, w in step.options.items()}}
        tasks = step_shape(step, job.shape).per_node
        bind = told.get("gpu-bind", "")
        if step.is_open or not tasks or tasks < 2 or "none" in bind:
            continue
        if "allow-task-sharing" in told.get("gres-flags", "") or "$" in bind:
            continue
        found = next((n for n in sorted(looked, reverse=True) if n in told), None)
        if found is None or told.get("gpus-per-task") == str(profile.node.gpus):
            continue
        if where[found] not in seen:
            seen.add(where[found])
            words = {"option": found, "name": profile.name}
            yield Fault(where[found], words)
