"""GPUs of a job compared with the processes that its launch lines start."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from envcfg.backends.schedulers import SCHEDULERS
from envcfg.common.characters import whole_number
from envcfg.common.findings import Severity
from envcfg.lint.lint_rule import Fault, ScriptJob, detects, known_words
from envcfg.lint.resource_facts import (
    GPU_MASKS,
    ResourceShape,
    gpus_listed,
    has_known_size,
    step_shape,
)
from envcfg.lint.script_model import Command
from envcfg.lint.system_recognition import directives
from envcfg.lint.value_flow import (
    CommandOption,
    agent_of,
    options,
    program_name,
    program_row,
    setting_of,
)

_PER_NODE = ("nproc-per-node", "num-gpus", "num-accelerators")
_COUNTS = (*_PER_NODE, "num-processes")
_MEETS = frozenset({"MASTER_ADDR", "WORLD_SIZE"})
_WHOLE = {"exclusive": "", "mem": "0"}  # values that ask for all of a node
_OWN_GPUS = ("gpus", "gpus-per-node", "gpus-per-task", "gres", "tres-per-task")


class Start(NamedTuple):
    """One launch of the job's program: its command, its step, and what it starts."""

    command: Command
    step: Command | None
    processes: int | None  # processes that it starts in the whole job; None: unknown
    gpus: int | None  # GPUs of the nodes on which they run; None: unknown
    offset: int  # offset of the number of processes, or of the program


@detects("EC650")
def idle_gpus(job: ScriptJob) -> Iterator[Fault]:
    """GPUs, or whole nodes, that the job asks for and that no process can use."""
    if not SCHEDULERS[job.model.scheduler].sizes:
        return
    yield from _whole_node(job)
    starts = list(_starts(job))
    # Beside a step or a launcher, a program of the batch shell only prepares the data.
    if job.shape.nodes not in (None, 1) or any(_is_launch(start) for start in starts):
        starts = [start for start in starts if _is_launch(start)]
    # Programs side by side share the GPUs in a way that no single line shows.
    if any(start.command.context.background for start in starts):
        return
    for start in starts:
        masks = list(_hiding_mask(start, job))
        yield from masks or _few_processes(start, job)


def _whole_node(job: ScriptJob) -> Iterator[Fault]:
    """Yield an option that takes a node for one GPU: the others are paid for and idle."""
    one_gpu = _gpus_of(job, job.shape) == 1 and (job.shape.nodes or 1) == 1
    one_gpu &= not (job.profile and job.profile.gpus == 1)
    for name, option in directives(job).items() if one_gpu else ():
        if _WHOLE.get(name) == (option.value or ""):
            words = {"gpus": 1, "option": f"--{name}"}
            yield Fault(option.line_offset, words, "exclusive")


def _gpus_of(job: ScriptJob, shape: ResourceShape) -> int | None:
    """Return the number of GPUs on the nodes of *shape*, by the job's directives."""
    if shape.gpus_per_node is not None:
        return shape.gpus_per_node * (shape.nodes or 1)
    values = {n: d.value or "" for n, d in directives(job).items()}
    count = whole_number(values.get("gpus", "").rpartition(":")[2])
    if count is not None:
        return count if shape.nodes == job.shape.nodes else None
    each = whole_number(values.get("gpus-per-task", "").rpartition(":")[2])
    return each * shape.all_tasks if each is not None else None


def _starts(job: ScriptJob) -> Iterator[Start]:
    """Yield the launches of programs that may use GPUs.

    A step without tasks of its own has those of the job. An agent starts several processes
    in each task, or on each node if it finds the other nodes itself.
    """
    visited: set[int] = set()
    for command in job.model.commands:
        if command.offset in visited or not _is_main(command):
            continue
        step = job.model.step_of(command)
        if step is not None and (
            step.is_open
            or not step.options.keys().isdisjoint(_OWN_GPUS)
            or not has_known_size(step, job.shape)
        ):
            continue
        visited.add(command.offset)
        shape = job.shape if step is None else step_shape(step, job.shape)
        agent = agent_of(command)
        tasks = 1 if step is None else shape.all_tasks
        count: int | None = tasks
        offset = command.offset if step is None else step.offset
        if agent is not None:
            total = processes_of(command, shape)
            # torchrun starts one process unless it is told another number.
            names = {option.name for option in options(command)}
            is_told = command.is_open or not names.isdisjoint(_COUNTS)
            if total is None and "each_gpu" not in agent and not is_told:
                total = 1, command.offset
            machines = (shape.nodes or 1) if "own_hosts" in agent else tasks
            count, offset = (total[0] * machines, total[1]) if total else (None, offset)
        elif program_row(command) is not None:
            count = None  # it starts its processes, or others do
        nodes = (
            1 if step is None and not (agent and "own_hosts" in agent) else shape.nodes
        )
        gpus = _gpus_of(
            job, shape if nodes == shape.nodes else shape._replace(nodes=nodes)
        )
        yield Start(command, step, count, gpus, offset)


def _is_launch(start: Start) -> bool:
    return start.step is not None or agent_of(start.command) is not None


def _is_main(command: Command) -> bool:
    """Return whether a command may be the job's program, and not its preparation."""
    is_other = command.scope == "unknown" or command.substitution or command.by_envcfg
    if is_other or command.context.is_aside:
        return False
    if agent_of(command) is not None:
        return True
    words = [word.shown for word in command.arguments]
    if not re.fullmatch(r"python[\d.]*", command.name) or "-c" in words:
        return False
    if all(word[:1] == "-" and word != "-m" for word in words):
        return False
    parts = re.split(r"[\W_\d]+", " ".join(words[:3]).lower())
    return known_words("EC650", "prepares").isdisjoint(parts)


def _few_processes(start: Start, job: ScriptJob) -> Iterator[Fault]:
    """Yield launches of fewer processes than GPUs, or of more."""
    count, gpus = start.processes, start.gpus
    if count is None or gpus is None or count == gpus or gpus < 2:
        return
    words = {"gpus": gpus, "count": count, "name": program_name(start.command)}
    words["processes"] = "process" if count == 1 else "processes"
    if agent_of(start.command) is not None:
        form = "" if count < gpus else "more"
        yield Fault(start.offset, words, form)
    elif count < gpus:
        severity = _severity(start, job)
        if severity is None or not _has_own_number(start, gpus, job):
            yield Fault(start.offset, words, severity=severity)


def _has_own_number(start: Start, gpus: int, job: ScriptJob) -> bool:
    """Return whether an argument shows that the program starts its own processes."""
    each_node = job.shape.gpus_per_node or gpus
    numbers = {str(gpus), str(each_node), "-1", "auto", "all"}
    return start.command.is_open or not numbers.isdisjoint(_parts(start.command))


def _parts(command: Command) -> set[str]:
    """Return the parts of a command's arguments, in lower case."""
    text = " ".join(word.shown.lower() for word in command.arguments)
    return {*re.split(r"[\s=,:]", text), *re.split(r"[\W_]+", text)}


def _severity(start: Start, job: ScriptJob) -> Severity | None:
    """Return how certain it is that a program needs one process for each GPU.

    A program may use several GPUs itself. A task for each GPU, of which one is started,
    shows that this one does not, unless an argument has the number of GPUs.
    """
    is_parallel = not known_words("EC650", "parallel").isdisjoint(_parts(start.command))
    # EC633 reports a rendezvous in a script that starts nothing by srun.
    has_steps = any(command.is_step for command in job.model.commands)
    is_parallel |= has_steps and not _MEETS.isdisjoint(job.model.set_names)
    if start.step is None:
        is_started_once = job.shape.all_tasks == start.gpus
        is_own = _has_own_number(start, start.gpus or 0, job)
        return None if is_started_once and (is_parallel or not is_own) else "note"
    if start.step.is_srun and not _is_rank(start.command, job):
        return None if (start.processes or 1) > (job.shape.nodes or 1) else "note"
    return None


def _is_rank(command: Command, job: ScriptJob) -> bool:
    """Return whether the script, or the program's file, shows that a process is a rank."""
    words = [word.literal or "" for word in command.words]
    _, statements, _ = job.known.read_program(words)
    is_named = not {"RANK", "LOCAL_RANK"}.isdisjoint(job.model.set_names)
    return is_named or any(s.kind == "rank" and s.is_sure for s in statements)


def _hiding_mask(start: Start, job: ScriptJob) -> Iterator[Fault]:
    """Yield a mask that hides GPUs of the job from the one task that could use them."""
    each_node = job.shape.gpus_per_node
    shape = job.shape if start.step is None else step_shape(start.step, job.shape)
    if not each_node or (start.step is not None and (shape.per_node or 1) > 1):
        return
    for name in GPU_MASKS:
        mask = setting_of(start.command, name, job.model)
        count = gpus_listed(mask.literal or "") if mask else None
        if mask and count and count < each_node:
            words = {"name": mask.name, "value": mask.literal, "count": count}
            yield Fault(mask.offset, words | {"gpus": each_node}, "mask")
            return


def processes_of(command: Command, shape: ResourceShape) -> tuple[int, int] | None:
    """Return the number of processes that a launcher starts on a node, and its offset."""
    agent = agent_of(command)
    options_given = {option.name: option for option in options(command)}
    for name in _PER_NODE:
        if name in options_given:
            literal, offset = _literal(options_given[name])
            # "gpu" and "auto" mean one process for each visible GPU.
            if literal in ("gpu", "auto") and shape.gpus_per_node:
                return shape.gpus_per_node, offset
            count = whole_number(literal)
            return None if count is None else (count, offset)
    if "num-processes" in options_given:
        literal, offset = _literal(options_given["num-processes"])
        count = whole_number(literal)
        # accelerate counts processes of the whole job, not of a node.
        return (count // shape.nodes, offset) if count and shape.nodes else None
    if agent is not None and "each_gpu" in agent and shape.gpus_per_node:
        return shape.gpus_per_node, command.offset
    return None


def _literal(option: CommandOption) -> tuple[str | None, int]:
    return option.value.literal, option.value.offset
