"""Processes: who starts them, how many, and which GPUs they see."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from envcfg.characters import whole_number
from envcfg.lint.facts import gpus_asked, step_shape
from envcfg.lint.flow import Option, agent_of, is_agent, options, program_name
from envcfg.lint.model import Assignment, Command, text_of
from envcfg.lint.rule import Fault, Job, detects, known_words
from envcfg.lint.text import holes, shown

_PROCESSES = frozenset("nproc-per-node num-processes num-gpus num-accelerators".split())
_MASKS = ("ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES")


@detects("EC633")
def launcher_mismatch(job: Job) -> Iterator[Fault]:
    """Tasks of Slurm times processes of a launcher, or fewer than were asked for."""
    asked = {d.name: d for d in job.model.directives if not d.late}
    counts = gpus_asked({name: d.value or "" for name, d in asked.items()})
    if len(set(counts.values())) > 1:
        said = " and ".join(f"--{name}={asked[name].value}" for name in counts)
        at = max(asked[name].at for name in counts)
        yield Fault(at, {"said": said}, "different")
    if job.model.scope != "batch":
        return
    yield from _many_agents(job)
    yield from _agent_without_srun(job)
    yield from _apart(job)
    yield from _program_without_srun(job)


def _many_agents(job: Job) -> Iterator[Fault]:
    """Yield where several tasks of a node each start a launcher of their own."""
    model = job.model
    for command in model.commands:
        agent = agent_of(command)
        if agent is None or command.scope not in ("task", "container"):
            continue
        step = model.step_of(command)
        counts = [each for each in options(command) if each.name in _PROCESSES]
        if step is None or step.is_open or (command.is_open and not counts):
            continue
        shape = step_shape(step, job.shape)
        tasks = shape.per_node
        if tasks is None and shape.nodes == 1:
            tasks = shape.tasks
        # Without a number torchrun starts one process, the others one for each GPU.
        starts_many = agent.each_gpu
        if counts:  # and as many as there are GPUs, where it is not a number
            starts_many = whole_number(counts[0].value.literal) not in (0, 1)
        if tasks is None or tasks < 2 or not starts_many:
            continue
        if any("LOCALID" in c or "PROCID" in c for c in command.context.conditions):
            continue
        yield Fault(command.at, {"tasks": tasks, "name": program_name(command)})


def _agent_without_srun(job: Job) -> Iterator[Fault]:
    """Yield where several nodes are asked for, and torchrun runs on the first only."""
    model, nodes = job.model, job.shape.nodes or 1
    started = {each.name for each in model.commands if not each.is_step}
    if nodes < 2 or started & known_words("EC633", "starters"):
        return
    for command in model.commands:
        agent = agent_of(command)
        if command.scope != "batch" or agent is None or agent.own_hosts:
            continue
        if any(c.name not in ("time", "exec", "env") for c in model.ancestors(command)):
            continue
        if command.context.function or command.context.conditions:
            continue
        words = {"name": program_name(command), "nodes": nodes}
        yield Fault(command.at, words, "first-node")


def _apart(job: Job) -> Iterator[Fault]:
    """Yield where a launcher runs on several nodes, and none knows of the others."""
    seen: set[int] = set()
    for command in job.model.commands:
        step = job.model.step_of(command)
        agent = agent_of(command)
        if agent is None or not agent.counts_all or step is None:
            continue
        nodes = step_shape(step, job.shape).nodes
        asked = {each.name: each for each in options(command)}
        may_be_told = command.is_open and "num-machines" not in asked
        is_open = step.is_open or may_be_told or "config-file" in asked
        if is_open or not nodes or nodes < 2 or command.at in seen:
            continue
        if command.context.conditions or "nodelist" in step.options:
            continue
        seen.add(command.at)
        yield from _machines(command, asked, nodes, job)


def _machines(
    command: Command, asked: Mapping[str, Option], nodes: int, job: Job
) -> Iterator[Fault]:
    """Yield where a launcher is told of one machine, or of the processes of one."""
    machines = asked.get("num-machines")
    count = machines.value.literal if machines else "1"
    if count == "1" and not any("ACCELERATE" in n for n in job.model.set_names()):
        at = machines.value.at if machines else command.at
        words = {"name": program_name(command), "nodes": nodes}
        yield Fault(at, words, "apart")
        return
    total, each_node = asked.get("num-processes"), job.shape.gpus_per_node
    said = total.value.literal if total else None
    if total and each_node and said == str(each_node) and count == str(nodes):
        words = {"count": each_node, "nodes": nodes, "all": each_node * nodes}
        yield Fault(total.value.at, words, "all-nodes")


def _program_without_srun(job: Job) -> Iterator[Fault]:
    """Yield where tasks are asked for, and the program starts without srun."""
    model, shape = job.model, job.shape
    tasks = shape.tasks or (shape.per_node or 1) * (shape.nodes or 1)
    starters = {c.name for c in model.commands} & known_words("EC633", "starters")
    asked = [each.name for each in model.directives]
    gpus = shape.gpus_per_node is not None or any("gpu" in each for each in asked)
    meets = {"MASTER_ADDR", "WORLD_SIZE", "RANK"} & model.set_names()
    if tasks < 2 or model.opaque or starters or not (gpus and meets):
        return
    for command in model.commands:
        if command.scope != "batch" or not command.name.startswith("python"):
            continue
        if command.substitution or command.context.conditions or is_agent(command):
            continue
        if not command.context.function:
            yield Fault(command.at, {"tasks": tasks, "name": command.name}, "no-srun")
            return


@detects("EC632")
def gpu_mask(job: Job) -> Iterator[Fault]:
    """Two layers of masks: the second counts within the first."""
    named = [each for each in job.model.assignments if each.name in _MASKS]
    masks = [each for each in named if each.value is not None]
    yield from _too_many_gpus(masks, job)
    yield from _bound_already(masks, job)
    if any(each.how == "unset" for each in named):
        return
    by_name = {a.name: a for a in masks}
    outer = by_name.get("ROCR_VISIBLE_DEVICES")
    inner = [by_name[n] for n in _MASKS[1:] if n in by_name]
    for each in inner:
        if any(h.name == "ROCR_VISIBLE_DEVICES" for h in holes(text_of(each.value))):
            yield Fault(each.at, {"name": each.name}, "copied")
            return
    found = next((each for each in inner if outer and _cuts_twice(outer, each)), None)
    if found is not None:
        yield Fault(found.at, {"name": found.name})


def _cuts_twice(outer: Assignment, inner: Assignment) -> bool:
    """Return whether *inner* counts GPUs that *outer* has certainly taken away."""
    if inner.context.conditions or outer.context.conditions or not inner.exported:
        return False
    both = [shown(text_of(outer.value)), shown(text_of(inner.value))]
    if all(re.search(r"LOCALID|LOCAL_RANK", v) for v in both):
        return True
    is_full = both[0] == both[1] and both[0].startswith("0")
    return all(re.fullmatch(r"\d(?:,\d)*", v) for v in both) and not is_full


def _too_many_gpus(masks: list[Assignment], job: Job) -> Iterator[Fault]:
    """Yield where a list names more GPUs than the job has on a node."""
    gpus = job.shape.gpus_per_node
    for each in masks:
        said = shown(text_of(each.value))
        if gpus and re.fullmatch(r"\d+(?:,\d+)*", said) and said.count(",") >= gpus:
            words = {"name": each.name, "count": said.count(",") + 1, "gpus": gpus}
            yield Fault(each.at, words, "too-many")


def _bound_already(masks: list[Assignment], job: Job) -> Iterator[Fault]:
    """Yield where a task that has one GPU by Slurm takes the n-th of those it sees."""
    asked = {d.name: d.value or "" for d in job.model.directives if not d.late}
    is_bound = asked.get("gpus-per-task") == "1" and (job.shape.per_node or 1) > 1
    if not is_bound or "none" in asked.get("gpu-bind", ""):
        return
    if any("gpu-bind" in c.options for c in job.model.commands if c.is_step):
        return
    for each in masks:
        by_rank = any(h.name == "SLURM_LOCALID" for h in holes(text_of(each.value)))
        if by_rank and each.scope in ("task", "container"):
            yield Fault(each.at, {"name": each.name}, "bound")
