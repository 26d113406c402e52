"""Binding: CPU masks that do not fit tasks or GPUs, and GPUs apart from each other."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import TYPE_CHECKING

from envcfg.lint.facts import step_shape, steps
from envcfg.lint.model import Command
from envcfg.lint.rule import Fault, Job, detects
from envcfg.lint.system import directives, most_cores, owns_nodes
from envcfg.lint.text import holes

if TYPE_CHECKING:
    from envcfg.profile.model import Profile

_MASKS = re.compile(r"(?:[a-z]+,)*(mask_cpu|map_cpu)[:=](.+)")
_RANKS = frozenset({"SLURM_LOCALID", "SLURM_PROCID", "SLURM_NODEID", "LOCAL_RANK"})


@detects("EC629")
def cpu_mask(job: Job) -> Iterator[Fault]:
    """CPU masks that srun refuses, or that bind to the wrong cores."""
    for command in job.model.commands:
        if command.name != "taskset":
            continue
        flags = [w.shown for w in command.arguments if w.shown.startswith("-")]
        if not any("p" in each for each in flags):
            continue
        names = {hole.name for hole in holes(command.words[-1].text)}
        if names & _RANKS:
            words = {"name": next(iter(names & _RANKS))}
            yield Fault(command.words[-1].at, words, "taskset")
    seen: set[int] = set()
    for step in steps(job.model):
        bind = step.options.get("cpu-bind")
        found = _MASKS.fullmatch(bind.shown) if bind else None
        if bind is None or found is None or step.is_open or step.at in seen:
            continue
        seen.add(step.at)
        if _is_part_of_node(job):
            yield Fault(bind.at, {"kind": found[1]}, "part-of-node")
        elif bind.literal is not None:
            yield from _entries(found[1], found[2], bind.at, step, job)


def _entries(kind: str, said: str, at: int, step: Command, job: Job) -> Iterator[Fault]:
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
        yield Fault(at, {}, "shared")
    elif _is_other_order(masks, job):
        words = {"name": job.profile.name if job.profile else ""}
        yield Fault(at, words, "order")
    if "hint" in step.options or "hint" in directives(job):
        yield Fault(at, {}, "hint")


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


@detects("EC631")
def separated_devices(job: Job) -> Iterator[Fault]:
    """GPUs that are separated by task, where tasks need those of their neighbours."""
    profile = job.profile
    if profile is None or profile.node is None:
        return
    separating = _separating(profile)
    asked = {n: (d.value or "", d.at) for n, d in directives(job).items()}
    for step in steps(job.model) if separating else ():
        told = asked | {n: (w.shown, w.at) for n, w in step.options.items()}
        tasks = step_shape(step, job.shape).per_node
        found = next((name for name in separating if name in told), None)
        if step.is_open or not tasks or tasks < 2 or found is None:
            continue
        each_task = told.get("gpus-per-task", ("",))[0]
        if _shares_gpus(told) or each_task == str(profile.node.gpus):
            continue
        yield Fault(told[found][1], {"option": found, "name": profile.name})


def _separating(profile: Profile) -> list[str]:
    """Return the options that separate GPUs, of those that the system advises against."""
    options = ["ntasks-per-gpu", "gpus-per-task", "gpu-bind"]
    if any("--gpu-bind=none" in name for name in profile.srun):
        return options
    rules = {name.lstrip("-"): rule for name, rule in profile.rules.items() if rule}
    return [each for each in options if each in rules and rules[each].rule == "avoid"]


def _shares_gpus(told: Mapping[str, tuple[str, int]]) -> bool:
    """Return whether a step is told to leave its tasks all GPUs, or may be."""
    bind, flags = told.get("gpu-bind", ("",))[0], told.get("gres-flags", ("",))[0]
    return "none" in bind or "$" in bind or "allow-task-sharing" in flags
