"""CPU masks of steps, and programs that bind a launcher to cores."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import reduce
from itertools import combinations
from operator import or_

from envcfg.common.characters import core_numbers
from envcfg.job.script.quoting import cpu_ranges
from envcfg.lint.detectors.gpu_share import processes_of
from envcfg.lint.lint_rule import Fault, ScriptJob, detects, known_words
from envcfg.lint.resource_facts import step_shape, steps
from envcfg.lint.script_model import Command
from envcfg.lint.system_recognition import directives, most_cores, owns_nodes
from envcfg.lint.traced_text import holes
from envcfg.lint.value_flow import RANKS, is_agent, program_name

_MASKS = re.compile(r"(?:[a-z]+,)*(mask_cpu|map_cpu|list)[:=](.+)")
# Options of numactl and taskset that choose the cores: one NUMA node, or a list.
_CORES = re.compile(
    r"taskset |.* (?:(?:--cpunodebind|-N)[= ]?\d+|(?:--physcpubind|-C)[= ]?\S+) "
)


@detects("EC629")
def cpu_mask(job: ScriptJob) -> Iterator[Fault]:
    """CPU masks that srun refuses, or that bind to the wrong cores."""
    for command in job.model.commands:
        if command.name != "taskset":
            continue
        flags = [w.shown for w in command.arguments if w.shown.startswith("-")]
        # Only with -p is the last word a process id.
        if not any("p" in flag for flag in flags):
            continue
        for hole in holes(command.words[-1].text):
            # The number of a rank is not a process id.
            if RANKS.fullmatch(hole.name.replace("LOCAL_RANK", "SLURM_LOCALID")):
                words = {"name": hole.name}
                yield Fault(command.words[-1].offset, words, "taskset")
    yield from _bound_agents(job)
    visited: set[int] = set()
    for step in steps(job.model):
        bind = step.options.get("cpu-bind")
        if bind is None or step.is_open or step.offset in visited:
            continue
        visited.add(step.offset)
        match = _MASKS.fullmatch(bind.shown)
        if match is None:
            if bind.literal in ("none", "no") and _has_use_for_masks(step, job):
                yield Fault(bind.offset, {"name": step.name}, "unbound")
        # Masks count cores of the whole node, but a part of a node may get others.
        elif step.is_srun and _is_part_of_node(job):
            yield Fault(bind.offset, {"kind": match[1]}, "part-of-node")
        elif bind.literal is not None and "*" not in match[2]:
            yield from _entries(match[1], match[2], bind.offset, step, job)


def _bound_agents(job: ScriptJob) -> Iterator[Fault]:
    """Yield programs that bind a launcher, and so all of its ranks, to the same cores."""
    for command in job.model.commands:
        if not is_agent(command) or command.variant:
            continue
        step = job.model.step_of(command)
        count = processes_of(
            command, step_shape(step, job.shape) if step else job.shape
        )
        if not count or count[0] < 2:
            continue
        for binder in job.model.ancestors(command):
            words = [w.shown for w in binder.words if w.offset < command.offset]
            is_binder = binder.name in known_words("EC627", "binders")
            if is_binder and _CORES.match(" ".join([*words, ""])):
                names = {"binder": binder.name, "name": program_name(command)}
                yield Fault(binder.offset, {**names, "count": count[0]}, "agent")


def _has_use_for_masks(step: Command, job: ScriptJob) -> bool:
    """Return whether the masks of the profile fit a step that binds nothing itself."""
    known = job.profile.cpu_masks if job.profile else None
    if known is None or owns_nodes(job) is not True:
        return False
    names = {c.name for c in job.model.commands if job.model.step_of(c) is step}
    return (
        step_shape(step, job.shape).per_node == len(known.masks)
        and any(name.startswith("python") for name in names)
        and names.isdisjoint(known_words("EC627", "binders"))
    )


def _entries(
    kind: str, text: str, offset: int, step: Command, job: ScriptJob
) -> Iterator[Fault]:
    tasks = step_shape(step, job.shape).per_node
    parts = text.split(":" if kind == "list" else ",")
    # mpiexec leaves further entries unused, and srun refuses them.
    is_short = tasks is not None and len(parts) < tasks
    if is_short or (step.is_srun and tasks not in (None, len(parts))):
        yield Fault(offset, {"kind": kind, "count": len(parts), "tasks": tasks})
        return
    masks = _masks(kind, parts)
    if 0 in masks:
        yield Fault(offset, {"kind": kind}, "empty")
    # Two tasks on the same core slow each other down; the order matters less. Entries of
    # map_cpu may repeat, because each of them names one core, not a set.
    elif kind != "map_cpu" and any(a & b for a, b in combinations(masks, 2)):
        yield Fault(offset, {}, "shared")
    elif _is_other_order(masks, job):
        words = {"name": job.profile.name if job.profile else ""}
        unless = job.unless("selects the GPUs in another order")
        yield Fault(offset, words, "order", unless=unless)
    given = step.options.keys() | directives(job).keys()
    if kind == "list" and "depth" not in given and any(m & (m - 1) for m in masks):
        cores = max(mask.bit_count() for mask in masks)
        yield Fault(offset, {"cores": cores}, "depth")
    if "core-spec" not in given and (cores := _reserved_cores(masks, job)):
        yield Fault(offset, {"kind": kind, "cores": cpu_ranges(hex(cores))}, "reserved")
    if kind == "mask_cpu" and "hint" in given:
        yield Fault(offset, {}, "hint")


def _masks(kind: str, parts: Sequence[str]) -> list[int]:
    """Return the cores of each entry as a mask; empty if an entry cannot be read."""
    try:
        if kind == "mask_cpu":
            return [int(part, 16) for part in parts]
    except ValueError:
        return []
    cores = list(map(core_numbers, parts))
    return [sum(1 << core for core in one) for one in cores] if all(cores) else []


def _reserved_cores(masks: Sequence[int], job: ScriptJob) -> int:
    """Return the cores of *masks* that jobs of the system do not get, as a mask."""
    node = job.profile.node if job.profile else None
    known = job.profile.cpu_masks if job.profile else None
    if not (known and node and node.cores_per_gpu):
        return 0
    every = reduce(or_, (int(mask, 16) for mask in known.masks))
    # Masks with fewer cores than jobs get prove nothing. Higher numbers are threads.
    if every.bit_count() != node.cores_per_gpu * node.gpus:
        return 0
    return reduce(or_, masks, 0) & ~every & ((1 << every.bit_length()) - 1)


def _is_other_order(masks: Sequence[int], job: ScriptJob) -> bool:
    """Return whether masks are the profile's, in another order than that of the GPUs."""
    profile = job.profile
    if profile is None or profile.cpu_masks is None:
        return False
    if any("VISIBLE_DEVICES" in name for name in job.model.set_names):
        return False  # the script chooses its own order of GPUs
    theirs = [int(mask, 16) for mask in profile.cpu_masks.masks]
    if len(masks) != len(theirs):
        return False
    # Each mask is compared with the profile's mask that contains it: parts are allowed.
    places = [
        next((n for n, wide in enumerate(theirs) if mask and mask & wide == mask), None)
        for mask in masks
    ]
    return None not in places and sorted(places) != places  # type: ignore[type-var]


def _is_part_of_node(job: ScriptJob) -> bool:
    """Return whether the job certainly has fewer than all cores of its nodes."""
    profile, shape = job.profile, job.shape
    if profile is None or profile.node is None or owns_nodes(job) is not False:
        return False
    cores, most = shape.cpus, most_cores(profile)
    if cores and most and cores * (shape.per_node or 1) >= most:
        return False
    return shape.gpus_per_node is not None and shape.gpus_per_node < profile.node.gpus
