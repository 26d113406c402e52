"""Cores and GPUs: what steps and launchers get of those that the job has, and masks."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import TYPE_CHECKING

from envcfg.characters import whole_number
from envcfg.findings import Severity
from envcfg.lint.facts import Shape, is_helper, step_shape, steps
from envcfg.lint.flow import agent_of, is_agent, options, program_name
from envcfg.lint.model import Command, text_of
from envcfg.lint.rule import Edit, Fault, Job, detects, known_values
from envcfg.lint.system import directives, most_cores, owns_nodes
from envcfg.lint.text import holes, shown
from envcfg.profile.conditions import parse_tests

if TYPE_CHECKING:
    from envcfg.profile.model import Profile

_OWN_MASKS = ("mask_cpu", "map_cpu", "none", "no", "mask_ldom", "map_ldom")
_PER_NODE = ("nproc-per-node", "num-gpus", "num-accelerators")
_MASKS = re.compile(r"(?:[a-z]+,)*(mask_cpu|map_cpu)[:=](.+)")
_RANKS = frozenset({"SLURM_LOCALID", "SLURM_PROCID", "SLURM_NODEID", "LOCAL_RANK"})


@detects("EC626")
def cores_not_repeated(job: Job) -> Iterator[Fault]:
    """The cores of the job that srun does not take for its step."""
    model = job.model
    asked = [d for d in model.directives if d.name == "cpus-per-task" and not d.late]
    count = whole_number(asked[-1].value) if asked else None
    if model.scope != "batch" or not count or count < 2:
        return
    affected = _is_affected(job.facts.get("slurm", ""))
    is_set = "SRUN_CPUS_PER_TASK" in model.set_names() or _has_masks(job)
    if affected is False or is_set:
        return
    steps_at: dict[int, list[Command]] = {}
    for step in steps(model):
        if step.scope == "batch":
            steps_at.setdefault(step.at, []).append(step)
    wrong = [
        at
        for at, same in steps_at.items()
        if all(_lacks_cores(each, job) for each in same)
    ]
    others = f" (and of {len(wrong) - 1} more)" if len(wrong) > 1 else ""
    severity: Severity | None = None if affected else "note"
    words = {"count": count, "others": others}
    for at in wrong[:1]:
        edit = Edit(at + 4, at + 4, " --cpus-per-task=$SLURM_CPUS_PER_TASK")
        yield Fault(at, words, severity=severity, edit=edit)


def _is_affected(version: str) -> bool | None:
    """Return whether srun of this Slurm takes no cores of the job; None: it may."""
    tests = parse_tests("slurm", known_values("EC626", "slurm")["affected"])
    held = [test.holds_for(version) for test in tests if version]
    return False if False in held else (bool(held) and None not in held) or None


def _has_masks(job: Job) -> bool:
    """Return whether a variable binds all steps to cores that the script names."""
    return any(
        mask in shown(text_of(each.value))
        for each in job.model.assignments
        if each.name == "SLURM_CPU_BIND"
        for mask in _OWN_MASKS
    )


def _lacks_cores(step: Command, job: Job) -> bool:
    told = step.options
    if step.is_open or step.substitution or len(step.words) < 2 or step.by_envcfg:
        return False
    if {"cpus-per-task", "exact", "overlap", "cpus-per-gpu", "pty"} & told.keys():
        return False
    if "jobid" in told and "SLURM_JOB" not in told["jobid"].shown:
        return False  # a step in a job of its own
    bind = told.get("cpu-bind")
    if bind and (bind.literal is None or any(m in bind.shown for m in _OWN_MASKS)):
        return False
    return bool(job.model.children(step)) and not is_helper(step, job.model)


@detects("EC627")
def too_few_cores(job: Job) -> Iterator[Fault]:
    """Fewer cores for a task than it starts processes."""
    seen: set[int] = set()
    for command in job.model.commands:
        if not is_agent(command) or command.variant or command.at in seen:
            continue
        step = job.model.step_of(command)
        if not _has_cores_of_job(command, step):
            continue
        shape = step_shape(step, job.shape) if step is not None else job.shape
        found = _processes(command, shape)
        if found is None or found[0] < 2 or owns_nodes(job) is True:
            continue
        count, at = found
        cores = shape.cpus
        if step is None and cores is not None:
            # The batch shell has what all tasks would have.
            cores *= shape.per_node or 1
        words = {"cores": cores, "count": count, "name": program_name(command)}
        if cores is not None and cores < count:
            seen.add(command.at)
            is_sure = shape.gpus_per_node is not None and step is not None
            yield Fault(at, words, severity="error" if is_sure else None)
        elif _asks_no_cores(job, step) and shape.gpus_per_node is not None:
            seen.add(command.at)
            severity: Severity = "warning" if owns_nodes(job) is False else "note"
            yield Fault(at, words, "none-asked", severity)


def _has_cores_of_job(command: Command, step: Command | None) -> bool:
    """Return whether what starts *command* has the cores that Slurm gives, and no masks."""
    if step is None:
        return command.scope == "batch" and command.parent is None
    bind = step.options.get("cpu-bind")
    is_masked = bind is not None and any(mask in bind.shown for mask in _OWN_MASKS)
    return not step.is_open and not is_masked


def _processes(command: Command, shape: Shape) -> tuple[int, int] | None:
    """Return how many processes a launcher starts on a node, and where that is said."""
    agent = agent_of(command)
    asked = {each.name: each for each in options(command)}
    for name in _PER_NODE:
        if name in asked:
            said, at = asked[name].value.literal, asked[name].value.at
            if said in ("gpu", "auto") and shape.gpus_per_node:
                return shape.gpus_per_node, at
            count = whole_number(said)
            return None if count is None else (count, at)
    if "num-processes" in asked:
        said, at = asked["num-processes"].value.literal, asked["num-processes"].value.at
        count = whole_number(said)
        return (count // shape.nodes, at) if count and shape.nodes else None
    if agent is not None and agent.each_gpu and shape.gpus_per_node:
        return shape.gpus_per_node, command.at
    return None


def _asks_no_cores(job: Job, step: Command | None) -> bool:
    asked = {d.name for d in job.model.directives}
    asked |= step.options.keys() if step else set()
    if any("exclusive" in each or "cpu" in each or "core" in each for each in asked):
        return False
    tasks = job.shape.per_node or job.shape.tasks or 1
    return bool(job.model.directives) and tasks == 1


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
