"""Cores and GPUs: the share of the job that steps and launchers get."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from envcfg.common.characters import whole_number
from envcfg.lint.detectors.gpu_share import processes_of
from envcfg.lint.lint_rule import (
    Edit,
    Fault,
    ScriptJob,
    detects,
    known_values,
    known_words,
)
from envcfg.lint.resource_facts import is_helper, step_shape, steps
from envcfg.lint.script_model import Command
from envcfg.lint.system_recognition import directives, owns_nodes
from envcfg.lint.value_flow import is_agent, program_name
from envcfg.profile.conditions import parse_tests

if TYPE_CHECKING:
    from envcfg.profile.profile_model import Profile

# Values of --cpu-bind with which the user chooses the cores: srun's default is then unused.
_OWN_MASKS = ("mask_cpu", "map_cpu", "none", "no", "mask_ldom", "map_ldom")


@detects("EC626")
def cores_not_repeated(job: ScriptJob) -> Iterator[Fault]:
    """Missing cores in a step: srun does not inherit the job's --cpus-per-task."""
    model = job.model
    directives_found = [
        d for d in model.directives if d.name == "cpus-per-task" and not d.late
    ]
    # Slurm uses the last of several equal directives.
    count = whole_number(directives_found[-1].value) if directives_found else None
    if not count or count < 2:
        return
    affected = is_affected(job, known_values("EC626", "slurm")["affected"])
    is_set = "SRUN_CPUS_PER_TASK" in model.set_names or _has_masks(job)
    if affected is False or is_set:
        return
    # One statement may have several readings: a finding needs the fault in all of them.
    steps_at: dict[int, list[Command]] = {}
    for step in steps(model):
        if step.scope == "batch" and step.is_srun:
            steps_at.setdefault(step.offset, []).append(step)
    wrong = [
        offset
        for offset, same in steps_at.items()
        if all(_lacks_cores(command, job) for command in same)
    ]
    # If the version of Slurm is unknown, the step may be correct.
    words = {"count": count, "number": len(wrong) - 1}
    form = "several" if len(wrong) > 1 else ""
    # One finding with a count is enough, because one export repairs all steps.
    for offset in wrong[:1]:
        edit = Edit(offset + 4, offset + 4, " --cpus-per-task=$SLURM_CPUS_PER_TASK")
        yield Fault(offset, words, form, None if affected else "note", edit)


def is_affected(job: ScriptJob, affected: str) -> bool | None:
    """Return whether the system has one of these versions of Slurm; None if unknown."""
    known = job.profile.slurm if job.profile else None
    version = job.known.facts.get("slurm") or (known.version if known else "")
    if not version:
        return None
    results = {test.holds_for(version) for test in parse_tests("slurm", affected)}
    return False if False in results else None if None in results else True


def _has_masks(job: ScriptJob) -> bool:
    """Return whether a variable binds all steps to cores that the script names."""
    return any(
        mask in assignment.shown
        for assignment in job.model.assignments
        if assignment.name == "SLURM_CPU_BIND"
        for mask in _OWN_MASKS
    )


def _lacks_cores(step: Command, job: ScriptJob) -> bool:
    words = step.options
    if step.is_open or step.substitution or len(step.words) < 2 or step.by_envcfg:
        return False
    # These options set or share the step's cores in another way.
    if {"cpus-per-task", "exact", "overlap", "cpus-per-gpu", "pty"} & words.keys():
        return False
    # A mask of the user, or one from a variable, is deliberate.
    bind = words.get("cpu-bind")
    if bind and (bind.literal is None or any(m in bind.shown for m in _OWN_MASKS)):
        return False
    return bool(job.model.children(step)) and not is_helper(step, job.model)


@detects("EC627")
def too_few_cores(job: ScriptJob) -> Iterator[Fault]:
    """Fewer cores for a task than it starts processes."""
    for command in job.model.commands:
        # A variant is another reading of the same place, which is already reported.
        if not is_agent(command) or command.variant:
            continue
        step = job.model.step_of(command)
        if not _has_cores_of_job(command, step, job.model.ancestors(command)):
            continue
        shape = step_shape(step, job.shape) if step is not None else job.shape
        process_count = processes_of(command, shape)
        if process_count is None or process_count[0] < 2:
            continue
        # A job that owns whole nodes has all their cores, whatever it requested. Only a
        # step that asks for fewer gets them.
        is_asking = step is not None and "cpus-per-task" in step.options
        if owns_nodes(job) is True and not is_asking:
            continue
        count, offset = process_count
        cores = shape.cpus
        if step is None and cores is not None:
            # The batch shell has the cores of all tasks of its node.
            cores *= shape.per_node or 1
        words = {"cores": cores, "count": count, "name": program_name(command)}
        if cores is not None and cores < count:
            # Outside a step, or without known GPUs, the numbers are less certain.
            is_sure = shape.gpus_per_node is not None and step is not None
            yield Fault(offset, words, severity="error" if is_sure else None)
        elif _asks_no_cores(job, step) and shape.gpus_per_node is not None:
            yield Fault(
                offset,
                words,
                "none-asked",
                "warning" if owns_nodes(job) is False else "note",
            )


def _has_cores_of_job(
    command: Command, step: Command | None, ancestors: Sequence[Command]
) -> bool:
    """Return whether *command* runs on the cores from Slurm, without masks."""
    if step is None:
        return command.scope == "batch" and not any(
            ancestor.name in known_words("EC627", "binders") for ancestor in ancestors
        )
    bind = step.options.get("cpu-bind")
    is_masked = bind is not None and any(mask in bind.shown for mask in _OWN_MASKS)
    return not step.is_open and not is_masked


def _asks_no_cores(job: ScriptJob, step: Command | None) -> bool:
    names = {d.name for d in job.model.directives}
    names |= step.options.keys() if step else set()
    if known_words("EC627", "asks") & names:
        # Any of these options requests cores, in a way that this rule does not compute.
        return False
    tasks = job.shape.per_node or job.shape.tasks or 1
    return bool(job.model.directives) and tasks == 1


@detects("EC631")
def separated_devices(job: ScriptJob) -> Iterator[Fault]:
    """GPUs that Slurm separates by task, although tasks need those of their neighbours."""
    profile = job.profile
    if profile is None:
        return
    separating = _separating(profile)
    options_given = {n: (d.value or "", d.offset) for n, d in directives(job).items()}
    for step in steps(job.model) if separating else ():
        options_given_all = options_given | {
            n: (w.shown, w.offset) for n, w in step.options.items()
        }
        tasks = step_shape(step, job.shape).per_node
        name_found = next(
            (name for name in separating if name in options_given_all), None
        )
        if step.is_open or not tasks or tasks < 2 or name_found is None:
            continue
        if _shares_gpus(options_given_all):
            continue
        yield Fault(
            options_given_all[name_found][1],
            {"option": name_found, "name": profile.name},
        )


def _separating(profile: Profile) -> list[str]:
    """Return the options that separate GPUs and that the profile advises against."""
    options = ["ntasks-per-gpu", "gpus-per-task", "gpu-bind"]
    # A profile that adds --gpu-bind=none itself shows that separation is a fault here.
    if any("--gpu-bind=none" in name for name in profile.srun):
        return options
    rules = {name.lstrip("-"): rule for name, rule in profile.rules.items() if rule}
    return [
        option
        for option in options
        if option in rules and rules[option].rule == "avoid"
    ]


def _shares_gpus(told: Mapping[str, tuple[str, int]]) -> bool:
    """Return whether the options of a step give, or may give, each task all GPUs."""
    bind, flags = told.get("gpu-bind", ("",))[0], told.get("gres-flags", ("",))[0]
    # A variable may hold "none", so it prevents the finding.
    return "none" in bind or "$" in bind or "allow-task-sharing" in flags
