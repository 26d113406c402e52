"""Cores: what steps and launchers get of those that the job has."""

from __future__ import annotations

from collections.abc import Iterator

from envcfg.characters import whole_number
from envcfg.findings import Severity
from envcfg.lint.facts import Shape, is_helper, step_shape, steps
from envcfg.lint.flow import agent_of, is_agent, options, program_name
from envcfg.lint.model import Command, text_of
from envcfg.lint.rule import Edit, Fault, Job, detects, known_values
from envcfg.lint.system import owns_nodes
from envcfg.lint.text import shown
from envcfg.profile.conditions import parse_tests

_OWN_MASKS = ("mask_cpu", "map_cpu", "none", "no", "mask_ldom", "map_ldom")
_PER_NODE = ("nproc-per-node", "num-gpus", "num-accelerators")


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
        same[0]
        for same in steps_at.values()
        if all(_lacks_cores(each, job) for each in same)
    ]
    if not wrong:
        return
    first = wrong[0]
    others = f" (and of {len(wrong) - 1} more)" if len(wrong) > 1 else ""
    edit = Edit(first.at + 4, first.at + 4, " --cpus-per-task=$SLURM_CPUS_PER_TASK")
    severity: Severity | None = None if affected else "note"
    yield Fault(
        first.at, {"count": count, "others": others}, severity=severity, edit=edit
    )


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
    if bind is not None and (
        bind.literal is None or any(m in bind.shown for m in _OWN_MASKS)
    ):
        return False
    if not job.model.children(step):
        return False
    return not is_helper(step, job.model)


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
