"""Processes: their starter, their number, and the GPUs they can use."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from envcfg.backends.launchers import ONCE
from envcfg.common.characters import whole_number
from envcfg.common.findings import Severity
from envcfg.job.plan.program_start import KINDS
from envcfg.lint.lint_rule import Fault, ScriptJob, detects, known_words
from envcfg.lint.resource_facts import (
    GPU_MASKS,
    asked_shape,
    gpus_asked,
    gpus_listed,
    is_helper,
    step_shape,
    steps,
)
from envcfg.lint.script_model import Array, Assignment, Command, Model
from envcfg.lint.system_recognition import directives
from envcfg.lint.traced_text import INSIDE, holes, literal, shown
from envcfg.lint.value_flow import (
    RANKS,
    CommandOption,
    agent_of,
    inner_name,
    is_agent,
    options,
    program_name,
    program_row,
    task_setting,
)

_PROCESSES = frozenset("nproc-per-node num-processes num-gpus num-accelerators".split())
_BINDERS = frozenset("gpus-per-task gpu-bind ntasks-per-gpu tres-per-task".split())
# Options and the verb of a launcher, then Python with the script, which comes too late.
_INTERPRETER = re.compile(
    r"(?:launch )?(?:-[^\s=]+=\S* |(?!-m )-[^\s=]+ (?:(?!\S*python|\S+\.py )[^-\s]\S* )?)*"
    r"((?:\S+/)?python[\d.]*) (?:-[uOB]+ )*\S+\.py(?= |$)"
)
_WRAPPER = re.compile(r"(?i)\.sh$|wrap|select|bind|affinity")


@detects("EC633")
def launcher_mismatch(job: ScriptJob) -> Iterator[Fault]:
    """Processes that each task of Slurm starts again, or fewer than requested."""
    directives_given = directives(job)
    counts = gpus_asked({name: d.value or "" for name, d in directives_given.items()})
    if len(set(counts.values())) > 1:
        text = " and ".join(
            f"--{name}={directives_given[name].value}" for name in counts
        )
        offset = max(directives_given[name].offset for name in counts)
        yield Fault(offset, {"said": text}, "different")
    yield from _interpreters(job)
    if job.model.scope != "batch":
        return
    yield from _many_agents(job)
    yield from _many_programs(job)
    yield from _agent_without_srun(job)
    yield from _apart(job)
    yield from _programs_apart(job)
    yield from _without_hosts(job)
    yield from _program_without_srun(job)


def _interpreters(job: ScriptJob) -> Iterator[Fault]:
    """Yield ``torchrun python train.py``: the launcher takes python for the script."""
    for command in job.model.commands:
        words = " ".join(word.shown for word in command.arguments)
        if agent_of(command) is None or not (match := _INTERPRETER.match(words)):
            continue
        if all(option.name != "no-python" for option in options(command)):
            # A word of several lines or with blanks is not the interpreter alone.
            found = (w.offset for w in command.arguments if w.shown == match[1])
            offset = next(found, command.offset)
            names = {"name": program_name(command), "word": match[1]}
            yield Fault(offset, names, "interpreter")


def _many_agents(job: ScriptJob) -> Iterator[Fault]:
    """Yield launchers that several tasks of a node start at once."""
    model = job.model
    for command in model.commands:
        agent = agent_of(command)
        if agent is None or command.scope not in INSIDE:
            continue
        step = model.step_of(command)
        counts = [option for option in options(command) if option.name in _PROCESSES]
        if step is None or step.is_open or (command.is_open and not counts):
            continue
        shape = step_shape(step, job.shape)
        tasks = shape.per_node
        if tasks is None and shape.nodes == 1:
            tasks = shape.tasks
        # torchrun starts one process by default, other launchers one for each GPU.
        starts_many = "each_gpu" in agent
        if counts:  # a value that is not a number means one process for each GPU
            starts_many = whole_number(counts[0].value.literal) not in (0, 1)
        if tasks is None or tasks < 2 or not starts_many:
            continue
        # A test on the local rank starts the launcher once for each node.
        if any("LOCALID" in c or "PROCID" in c for c in command.context.conditions):
            continue
        yield Fault(command.offset, {"tasks": tasks, "name": program_name(command)})


def _many_programs(job: ScriptJob) -> Iterator[Fault]:
    """Yield programs of the table that several tasks start, though one start is enough."""
    model = job.model
    for command in model.commands:
        step = model.step_of(command)
        row = program_row(command)
        if row is None or step is None or step.is_open or command.is_open:
            continue
        # Each task may have a part of its own, such as a port or a file.
        is_own = any(RANKS.search(text) for text in command.context.conditions)
        # Each may use a part of the GPUs of its node.
        is_own |= row.get("when", "")[:2] in known_words("EC633", "parts")
        by_task = (h.scope != "batch" for w in command.words for h in holes(w.text))
        if is_own or any(by_task):
            continue
        if row["kind"] == "node" and not _starts_ranks(row, command, step, job):
            continue
        shape, name = step_shape(step, job.shape), program_name(command)
        if KINDS[row["kind"]] == ONCE and shape.all_tasks > 1:
            yield Fault(
                command.offset, {"tasks": shape.all_tasks, "name": name}, "once"
            )
        elif row["kind"] == "node" and (count := shape.per_node or 1) > 1:
            yield Fault(command.offset, {"tasks": count, "name": name})


def _starts_ranks(
    row: Mapping[str, Any], command: Command, step: Command, job: ScriptJob
) -> bool:
    """Return whether a program of the table is certainly no rank itself."""
    names = job.model.set_names
    if "RANK" in names:
        return False
    # A program with variables is one process if it gets none of them and sees one GPU.
    if "variables" in row and names.isdisjoint(row["variables"]):
        return _BINDERS.isdisjoint({*directives(job), *step.options})
    # A launcher with options before its script is one process without them.
    options_of_row = " ".join((*row.get("options", ()), row.get("ranks", ""))).split()
    return row.get("place") != "begin" or _is_given(options_of_row, command, job)


def _is_given(names: Sequence[str], command: Command, job: ScriptJob) -> bool:
    """Return whether a command has one of the options, or the script sets the variable."""
    own = {name.replace("_", "-") for name in names}
    words = {word.shown.partition("=")[0].replace("_", "-") for word in command.words}
    return not (own.isdisjoint(words) and job.model.set_names.isdisjoint(names))


def _agent_without_srun(job: ScriptJob) -> Iterator[Fault]:
    """Yield launchers that start on the first node only, although the job has several."""
    model, nodes = job.model, job.shape.nodes or 1
    programs = {command.name for command in model.commands if not command.is_srun}
    # Another starter, such as mpirun, may reach the other nodes.
    if nodes < 2 or programs & known_words("EC633", "starters"):
        return
    for command in model.commands:
        agent, row = agent_of(command), program_row(command)
        # Ray may be the cluster of a program that runs once, and a server in the
        # background that of other steps.
        is_server = row is not None and "port" in row and command.context.background
        is_node = row is not None and row["kind"] == "node" and not is_server
        is_node = is_node and programs.isdisjoint(known_words("EC633", "clusters"))
        is_agent_here = agent is not None and "own_hosts" not in agent
        if command.scope not in ("batch", "container") or not (
            is_node or is_agent_here
        ):
            continue
        is_step = command.scope != "batch" and _starts_everywhere(command, model)
        if is_step or model.step_of(command) is not None:
            continue
        # A branch may belong to jobs of one node.
        if command.context.is_aside:
            continue
        words = {"name": program_name(command), "nodes": nodes}
        yield Fault(command.offset, words, "first-node")


def _starts_everywhere(command: Command, model: Model) -> bool:
    """Return whether envcfg starts a command on all nodes."""
    # A launch line without a starter stays on the first node.
    above = [ancestor for ancestor in model.ancestors(command) if ancestor.by_envcfg]
    return command.by_envcfg and not any(a.scope == "batch" for a in above)


def _apart(job: ScriptJob) -> Iterator[Fault]:
    """Yield launchers on several nodes that do not know the other nodes."""
    visited: set[int] = set()
    for command in job.model.commands:
        step = job.model.step_of(command)
        agent = agent_of(command)
        if agent is None or "counts_all" not in agent or step is None:
            continue
        nodes = step_shape(step, job.shape).nodes
        options_given = {option.name: option for option in options(command)}
        may_be_told = command.is_open and "num-machines" not in options_given
        is_open = step.is_open or may_be_told or "config-file" in options_given
        if is_open or not nodes or nodes < 2 or command.offset in visited:
            continue
        # A step on a named node is one of several that the script starts itself.
        if command.context.is_chosen or "nodelist" in step.options:
            continue
        visited.add(command.offset)
        yield from _machines(command, options_given, nodes, job)


def _without_hosts(job: ScriptJob) -> Iterator[Fault]:
    """Yield launchers that reach other nodes only by a list, and get none."""
    for command in job.model.commands:
        needed = [word for word in agent_of(command) or () if word.startswith("-")]
        step = job.model.step_of(command)
        shape = step_shape(step, job.shape) if step else job.shape
        is_unsure = command.is_open or command.context.is_chosen or command.by_envcfg
        if not needed or is_unsure or (step and "nodelist" in step.options):
            continue
        if (shape.nodes or 1) > 1 and not _is_given(needed, command, job):
            words = {"name": program_name(command), "nodes": shape.nodes}
            yield Fault(command.offset, {**words, "needed": needed[0]}, "no-hosts")


def _programs_apart(job: ScriptJob) -> Iterator[Fault]:
    """Yield programs of the table that get no address on several nodes."""
    for command in job.model.commands:
        step, row = job.model.step_of(command), program_row(command)
        # Servers on several nodes may be apart by design.
        if step is None or row is None or row["kind"] != "node" or "port" in row:
            continue
        values = {**row.get("options", {}), **row.get("variables", {})}
        if not values or step.is_open or command.is_open or "nodelist" in step.options:
            continue
        shape = step_shape(step, job.shape)
        # Several tasks of a node are another fault. A file of settings may name the nodes.
        is_told = any(
            word.literal is None or re.match("--.*config", word.shown)
            for word in command.words
        )
        is_several = (shape.nodes or 1) > 1 and (shape.per_node or 1) == 1
        if is_told or not is_several or command.context.is_chosen:
            continue
        needed = [
            name
            for name, value in values.items()
            if value == "{node_rank}" or value.startswith("{address}")
        ]
        if not _is_given(needed, command, job):
            words = {"name": program_name(command), "nodes": shape.nodes}
            words["needed"] = " and ".join(needed)
            yield Fault(command.offset, words, "programs-apart")


def _machines(
    command: Command, asked: Mapping[str, CommandOption], nodes: int, job: ScriptJob
) -> Iterator[Fault]:
    """Yield launchers with options for one machine, or for the processes of one."""
    machines = asked.get("num-machines")
    count = machines.value.literal if machines else "1"
    if count == "1" and not any("ACCELERATE" in n for n in job.model.set_names):
        offset = machines.value.offset if machines else command.offset
        words = {"name": program_name(command), "nodes": nodes}
        yield Fault(offset, words, "apart")
        return
    total, each_node = asked.get("num-processes"), job.shape.gpus_per_node
    literal = total.value.literal if total else None
    if total and each_node and literal == str(each_node) and count == str(nodes):
        words = {"count": each_node, "nodes": nodes, "all": each_node * nodes}
        yield Fault(total.value.offset, words, "all-nodes")


def _program_without_srun(job: ScriptJob) -> Iterator[Fault]:
    """Yield a program that starts once, although the job has several nodes or tasks.

    The job must use GPUs, and nothing in the script may start other processes: no starter,
    no agent, no file of hosts. Then the first Python program outside of branches and traps
    is the one that runs on the first node only.
    """
    model, shape = job.model, job.shape
    nodes = shape.nodes or 1
    tasks = shape.all_tasks
    starters = {c.name for c in model.commands} & known_words("EC633", "starters")
    names = [directive.name for directive in model.directives]
    gpus = shape.gpus_per_node is not None or any("gpu" in name for name in names)
    # Without a rendezvous the program of one node may be a single process by design.
    meets = {"MASTER_ADDR", "WORLD_SIZE", "RANK"} & model.set_names
    if max(tasks, nodes) < 2 or starters or not gpus or not (meets or nodes > 1):
        return
    # A program that gets a file of hosts starts its processes itself.
    has_hosts = model.flat is not None and "hostfile" in model.flat.chars.lower()
    if has_hosts or any(is_agent(command) for command in model.commands):
        return
    for command in model.commands:
        is_main = command.scope in ("batch", "container") and not command.substitution
        if not is_main or not command.name.startswith("python"):
            continue
        if _starts_everywhere(command, model):
            continue
        if command.context.is_aside:
            continue
        words = {"tasks": tasks, "name": command.name, "nodes": nodes}
        words["gpus"] = shape.gpus_per_node or "GPUS"
        # A sourced file may start the program in another way.
        form = "no-srun" if nodes < 2 else "each-gpu"
        yield Fault(command.offset, words, form, "warning" if model.opaque else None)
        return


@detects("EC632")
def gpu_mask(job: ScriptJob) -> Iterator[Fault]:
    """Two layers of masks: the second counts within the first."""
    assignments = [
        assignment
        for assignment in job.model.assignments
        if assignment.name in GPU_MASKS
    ]
    masks = [assignment for assignment in assignments if assignment.value is not None]
    # Each fault has its own form, and one mask may have several of them.
    yield from _too_many_gpus(masks, job)
    yield from _counted_twice(job)
    if any(assignment.how == "unset" for assignment in assignments):
        return
    by_name = {a.name: a for a in masks}
    outer = by_name.get("ROCR_VISIBLE_DEVICES")
    inner = [by_name[n] for n in GPU_MASKS[1:] if n in by_name]
    for mask in inner:
        # A copy of the outer mask counts in the wrong numbers inside it.
        if any(h.name == "ROCR_VISIBLE_DEVICES" for h in holes(mask.text)):
            yield Fault(mask.offset, {"name": mask.name}, "copied")
            return
    twice = [mask for mask in inner if outer and _cuts_twice(outer, mask)]
    yield from (Fault(mask.offset, {"name": mask.name}) for mask in twice[:1])


def _cuts_twice(outer: Assignment, inner: Assignment) -> bool:
    """Return whether *inner* counts GPUs that *outer* has certainly hidden."""
    if inner.context.is_chosen or outer.context.is_chosen or not inner.exported:
        return False
    both = [outer.shown, inner.shown]
    if all(re.search(r"LOCALID|LOCAL_RANK", v) for v in both):
        return True
    # The same list from 0 selects the same GPUs in both layers.
    is_full = both[0] == both[1] and both[0].startswith("0")
    return all(re.fullmatch(r"\d(?:,\d)*", v) for v in both) and not is_full


def _too_many_gpus(masks: list[Assignment], job: ScriptJob) -> Iterator[Fault]:
    """Yield lists with more GPUs than the job has on a node."""
    gpus = job.shape.gpus_per_node
    for mask in masks:
        count = gpus_listed(mask.shown)
        if gpus and count and count > gpus:
            words = {"name": mask.name, "count": count, "gpus": gpus}
            yield Fault(mask.offset, words, "too-many")


def _counted_twice(job: ScriptJob) -> Iterator[Fault]:
    """Yield tasks that count GPUs by their rank among those that are left to them."""
    given = directives(job)
    is_bound = "gpus-per-task" in given and given["gpus-per-task"].value == "1"
    for step in steps(job.model):
        shape = asked_shape(step, job.shape)
        if (shape.per_node or 1) < 2:
            continue
        settings = (
            task_setting(step, name, job.model) for name in (*GPU_MASKS, "LOCAL_RANK")
        )
        by_rank = [
            setting
            for setting in settings
            if setting and any(h.name == "SLURM_LOCALID" for h in holes(setting.text))
        ]
        masks = [setting for setting in by_rank if setting.name in GPU_MASKS]
        if is_bound and "gpu-bind" not in {*given, *step.options}:
            yield from (Fault(m.offset, {"name": m.name}, "bound") for m in masks)
        elif masks and by_rank[-1].name == "LOCAL_RANK":
            yield Fault(by_rank[-1].offset, {"name": masks[0].name}, "twice")


@detects("EC649")
def inherited_mask(job: ScriptJob) -> Iterator[Fault]:
    """One mask for all tasks of a node, which hides GPUs that they need."""
    gpus, model = job.shape.gpus_per_node, job.model
    if _BINDERS & directives(job).keys():
        return
    for step in steps(model):
        if not _BINDERS.isdisjoint(step.options) or step.by_envcfg:
            continue
        shape = job.shape if step.is_open else step_shape(step, job.shape)
        tasks = shape.per_node or 1
        for name in GPU_MASKS:
            mask = task_setting(step, name, model)
            count = _gpus_named(mask, model) if mask is not None else None
            # If the number of GPUs is unknown, a list may name all of them.
            if mask is None or count is None or count >= min(gpus or 2, tasks):
                continue
            if is_helper(step, model):
                continue
            severity = _mask_severity(mask, step, job) if gpus else "note"
            words = {"name": name, "value": mask.shown, "tasks": tasks}
            yield Fault(mask.offset, words, severity=severity)


def _mask_severity(mask: Assignment, step: Command, job: ScriptJob) -> Severity:
    """Return how certain it is that the tasks of a step see a mask.

    Slurm itself sets all but HIP_VISIBLE_DEVICES for each step that has GPUs, before a
    task or the start of a container sets them. A wrapper that is not read may do so too.
    """
    programs = job.model.children(step)
    if step.is_open or any(_WRAPPER.search(c.words[0].shown) for c in programs):
        return "note"
    # The number of GPUs in an unknown element of an array is a guess.
    elements = [hole for hole in holes(mask.text) if hole.op == "["]
    if not all(_element_counts(hole.name, job.model) for hole in elements):
        return "warning"
    name = inner_name(mask.name)
    is_of_step = mask.command == step.number and step.name in ("srun", "flux")
    is_last = mask.scope in INSIDE and not is_of_step
    is_sure = is_last or name == "HIP_VISIBLE_DEVICES" or name != mask.name
    return "error" if is_sure else "warning"


def _gpus_named(mask: Assignment, model: Model) -> int | None:
    """Return how many GPUs a mask names for all tasks; None if that is not known."""
    text = mask.text
    value = literal(text)
    if value is not None:
        return gpus_listed(value)
    hole = text[0].hole if len(text) == 1 else None
    if hole is None or hole.scope != "batch":
        return None
    if hole.op == "[":
        counts = _element_counts(hole.name, model)
        # An element with unknown content is most likely one GPU.
        return counts.pop() if len(counts) == 1 else None if counts else 1
    # The rank of the batch shell is 0. Without a default, another rule reports it.
    is_rank = hole.op[:1] in (":", "-") and RANKS.fullmatch(hole.name)
    return 1 if is_rank else None


def _element_counts(array: str, model: Model) -> set[int | None]:
    """Return how many GPUs the elements of an array name; empty: they are not known."""
    values = [a.value for a in model.assignments if a.name == array]
    items = [
        item for value in values if isinstance(value, Array) for item in value.items
    ]
    return {gpus_listed(shown(item)) for item in items}
