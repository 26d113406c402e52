"""Rendezvous: the address and port at which ranks look for the first one."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping

from envcfg.common.characters import whole_number
from envcfg.common.findings import Severity
from envcfg.lint.detectors.data_flow import is_program, lost_settings
from envcfg.lint.lint_rule import Fault, ScriptJob, detects, known_values, known_words
from envcfg.lint.program_starts import load_programs
from envcfg.lint.resource_facts import (
    ResourceShape,
    asked_shape,
    is_many,
    step_nodes,
    steps,
)
from envcfg.lint.script_model import Assignment, Command, text_of
from envcfg.lint.script_source import read_beside
from envcfg.lint.system_recognition import shares_nodes
from envcfg.lint.traced_text import INSIDE, Text, holes, literal, shown, start
from envcfg.lint.value_flow import (
    inner_name,
    is_agent,
    is_alone,
    is_port_name,
    is_rank,
    options,
    task_setting,
)

_HERE = re.compile(r"^(?:tcp://)?(?:localhost|127\.0\.0\.1|0\.0\.0\.0)(?::|$)")
_HOSTNAME = re.compile(
    r"^\s*(?:(?:/usr)?/bin/)?(?:hostname\b|uname\s+(?:-n|--nodename)\b|hostnamectl\b|"
    r"cat\s+/(?:etc|proc/sys/kernel)/hostname\b|<\s*/etc/hostname\b)"
)
_PORT_OPTIONS = frozenset({"master-port", "main-process-port", "rdzv-port"})
_ALL_OPTIONS = _PORT_OPTIONS | {"rdzv-endpoint"}
# Leading zeros make bash read the last digits of a job id as octal.
_OCTAL = re.compile(
    r"(?<!10#)(?:\$\{SLURM_JOB_?ID:\s*(?:-\d|\(-\d\))(?::\d+)?\}|\$\([^()]*tail\s+-c\s*-?\d[^()]*\))"
)
_OF_TASK = re.compile(
    r"^\$|RANDOM|\$\$|BASHPID|(?:PROC|NODE)ID|\bdate\b|\bshuf\b|getsockname|EPOCH"
)
_SLURM = re.compile(r"(?i)slurm|munge|scontrol")
_IMAGES = ("image", "container-image")
# Linux gives these ports to outgoing connections, so a listener may find them in use.
_EPHEMERAL = range(32768, 61000)


@detects("EC416")
def address_in_task(job: ScriptJob) -> Iterator[Fault]:
    """Each node takes itself for the first, or the address never reaches a task."""
    addresses = known_words("EC416", "addresses")
    for assignment in job.model.assignments:
        if assignment.name in addresses and assignment.value is not None:
            yield from _set_address(assignment, assignment.text, job)
    yield from _unexported(job)
    if (job.shape.nodes or 1) > 1:
        yield from _told_addresses(job)


def _set_address(
    assignment: Assignment, value: Text, job: ScriptJob
) -> Iterator[Fault]:
    """Yield faults of the address in a variable.

    Slurm's variable for the submitting node is wrong in every scope, so it is checked
    first. A task that names its own node is wrong on several nodes, unless each node is
    meant as its own job. The batch shell may name its own node, which is the first, but
    not by a name that means another node in each step.
    """
    nodes = job.shape.nodes or 1
    by_launch = (h for h in holes(value) if h.name == "SLURM_LAUNCH_NODE_IPADDR")
    if launch := next(by_launch, None):
        yield Fault(
            launch.offset,
            {"value": "it"},
            "launch-node",
            "error" if nodes > 1 else "warning",
        )
    elif nodes < 2:
        return
    elif assignment.scope in INSIDE:
        offset = _own(value)
        if offset is not None and not _is_alone(assignment, job):
            yield Fault(
                max(offset, assignment.offset),
                {"value": shown(value), "name": assignment.name},
            )
    elif (
        assignment.scope == "batch"
        and assignment.exported
        and not assignment.context.is_chosen
    ):
        text = literal(value)
        # Without a step on all nodes the address is used on the first node only.
        counts = (step_nodes(step, job.shape) or 1 for step in steps(job.model))
        if text and _HERE.match(text) and max(counts, default=1) > 1:
            offset = max(start(value), assignment.offset)
            yield Fault(offset, {"value": text, "name": assignment.name})


def _told_addresses(job: ScriptJob) -> Iterator[Fault]:
    """Yield options that give a launcher on several nodes its own node."""
    for command in job.model.commands:
        if command.scope not in INSIDE:
            continue
        if is_agent(command):
            names = known_words("EC416", "options")
        elif job.model.children(command):
            continue  # the options are those of a program that it starts
        else:
            names = known_words("EC416", "programs")
        options_given = {o.name: o for o in options(command)}
        count = options_given.get("nnodes") or options_given.get("num-machines")
        if is_alone(command):
            continue
        # A launcher for one node may use its own address.
        if count is not None and count.value.literal == "1":
            continue
        for option in options_given.values():
            if option.name not in names:
                continue
            offset = _own(option.value.text)
            if offset is not None:
                words = {"value": option.value.shown, "name": f"--{option.name}"}
                yield Fault(offset, words)


def _own(value: Text) -> int | None:
    """Return the offset at which *value* names the node that evaluates it; None if none
    does."""
    for hole in holes(value):
        if hole.scope not in INSIDE:
            continue
        is_asked = hole.kind == "command" and _HOSTNAME.match(hole.text)
        if is_asked or hole.name in ("HOSTNAME", "SLURMD_NODENAME"):
            return hole.offset
    text = literal(value)
    return start(value) if text is not None and _HERE.match(text) else None


def _is_alone(assignment: Assignment, job: ScriptJob) -> bool:
    """Return whether each rank or node is meant as its own job."""
    tests = " ".join(assignment.context.conditions)
    ports = [a for a in job.model.assignments if is_port_name(a.name) and a.value]
    text = " ".join(a.shown for a in ports)
    by_node = re.search(r"NNODES|NUM_NODES|NODEID|PROCID", tests)
    return bool(by_node or re.search(r"LOCAL|RANK|PROCID|GPU", text))


def _unexported(job: ScriptJob) -> Iterator[Fault]:
    """Yield an address that is computed and never reaches a task."""
    model = job.model
    if model.scope != "batch":
        return
    # A step that only looks at its nodes needs no address, and deepspeed finds its own.
    ranks = [c for c in model.commands if c.scope in INSIDE and is_program(c, model)]
    serious: Severity = "error" if ranks else "warning"
    for fault in lost_settings(model):
        if fault.words["name"] == "MASTER_ADDR" and not fault.form:
            # One node finds itself, and an address option replaces the variable.
            is_set = any(
                option.name in known_words("EC416", "options")
                for command in model.commands
                for option in options(command)
            )
            yield fault._replace(
                form="unexported",
                severity="note" if is_set or job.shape.nodes == 1 else serious,
            )


@detects("EC461")
def wrong_identity(job: ScriptJob) -> Iterator[Fault]:
    """A rank, a count or an address with the value of another one.

    The number of nodes and tasks of the steps that get it decides whether it is wrong.
    Launchers such as torchrun replace ranks and counts.
    """
    sources = known_values("EC461", "sources").items()
    yield from _several_names(job)
    yield from _in_programs(job)
    is_replaced = any(map(is_agent, job.model.commands))
    for assignment in job.model.assignments:
        value = assignment.text
        text = shown(value) if literal(value) is None else f"'{literal(value)}'"
        for right, source in sources:
            pattern = source["pattern"]
            match = re.fullmatch(pattern, f"{assignment.name}={text}", re.DOTALL)
            if not match or (is_replaced and right != "address"):
                continue
            # EC101 reports ranks that the batch shell expands. An element of an array is
            # one line of the output of its command.
            if any(is_rank(h) or h.loose for h in holes(value)):
                continue
            name = inner_name(assignment.name)
            shapes = (
                asked_shape(step, job.shape)
                for step in steps(job.model)
                if task_setting(step, name, job.model) is assignment
            )
            if any(_is_other(source, match, shape) for shape in shapes):
                words = {"name": assignment.name, "value": text}
                yield Fault(assignment.offset, words, right)
                break


def _in_programs(job: ScriptJob) -> Iterator[Fault]:
    """Yield the files of programs of several tasks in which the rank is a constant."""
    constant = re.compile(known_values("EC461", "texts")["constant"])
    for command in job.model.commands:
        step = job.model.step_of(command)
        if step is None or asked_shape(step, job.shape).all_tasks < 2:
            continue
        for word in command.words:
            path = os.path.join(os.path.dirname(job.model.path), word.literal or "")
            data = read_beside(path) if path.endswith(".py") else None
            if match := constant.search(data.decode("latin-1")) if data else None:
                line = match.string.count("\n", 0, match.start(1)) + 1
                words = {
                    "name": f"{word.literal}:{line}: {match[2]}",
                    "value": match[3],
                }
                yield Fault(word.offset, words, "program")


def _several_names(job: ScriptJob) -> Iterator[Fault]:
    """Yield the first step that gets the names of all nodes, one in each line, for one."""
    lines = re.compile(known_values("EC461", "texts")["lines"])
    for step in steps(job.model):
        name = step.options.get("nodelist")
        # Without quotes bash has made one element of each line.
        if name and not name.is_loose and lines.fullmatch(name.shown):
            words = {"name": "--nodelist", "value": name.shown}
            yield Fault(step.offset, words, "several")
            return


def _is_other(
    source: Mapping[str, str], match: re.Match[str], shape: ResourceShape
) -> bool:
    """Return whether a source gives another value than the right one in a step."""
    numbers = {"nodes": shape.nodes, "tasks": shape.per_node, "all": shape.all_tasks}
    if source["if"] == "count":
        return shape.nodes is not None and int(match[1]) != shape.all_tasks
    return (numbers[source["if"]] or 1) > 1


@detects("EC417")
def slurm_in_container(job: ScriptJob) -> Iterator[Fault]:
    """Slurm's commands in a container that has only the image's programs."""
    binds = (a.value for a in job.model.assignments if "BIND" in a.name)
    binds_text = " ".join(shown(text_of(bind)) for bind in binds)
    if _SLURM.search(binds_text):
        return
    for command in job.model.commands:
        is_tool = command.name in known_words("EC417", "tools")
        if command.scope != "container" or not is_tool:
            continue
        # A command name from a variable is not certainly this tool.
        if not (command.words[0].literal or "").endswith(command.name):
            continue
        if any(command.name in c for c in command.context.conditions):
            continue  # the script tests for it first, as with "command -v"
        ancestors = job.model.ancestors(command)
        if any(map(_brings_slurm, ancestors)):
            continue
        # Unknown options may bind Slurm's files into the container.
        is_unsure = command.context.forgiven or any(
            above.is_open for above in ancestors
        )
        words = {"name": command.name}
        yield Fault(command.offset, words, "", "warning" if is_unsure else None)


def _brings_slurm(container: Command) -> bool:
    """Return whether a container has the host's Slurm, or an image named after Slurm."""
    program = load_programs().get(container.name)
    binds = program.binds if program else frozenset()
    brings = known_words("EC417", "brings")
    return any(
        name in brings
        or (_SLURM.search(word.shown) and (name in binds or name in _IMAGES))
        for name, word in container.options_in_order
    )


@detects("EC419")
def port(job: ScriptJob) -> Iterator[Fault]:
    """A port that another job may use, or that cannot be computed."""
    for name, value, scope in _port_values(job):
        offset, text = literal(value), start(value)
        if (number := whole_number(offset)) and text >= 0:
            is_taken = number in _EPHEMERAL and scope != "unknown"
            is_shared = shares_nodes(job) and scope == "batch"
            form = "taken" if is_taken else "shared" if is_shared else "fixed"
            yield Fault(text, {"port": offset, "name": name}, form)
        for hole in holes(value):
            is_sum = hole.kind == "arithmetic"
            # Each task would compute a port of its own.
            is_random = _OF_TASK.search(hole.name + hole.text)
            if is_sum and _OCTAL.search(hole.text):
                yield Fault(hole.offset, {"port": "", "name": name}, "octal")
            elif is_random and hole.scope in INSIDE and is_many(job.shape):
                yield Fault(hole.offset, {"port": "", "name": name}, "random")


def _port_values(job: ScriptJob) -> Iterator[tuple[str, Text, str]]:
    for assignment in job.model.assignments:
        if is_port_name(assignment.name) and assignment.value is not None:
            yield assignment.name, assignment.text, assignment.scope
    for command in job.model.commands:
        is_run = not command.substitution or is_agent(command)
        for option in options(command) if is_run else ():
            if option.name not in _ALL_OPTIONS or is_alone(command):
                continue
            if option.name in _PORT_OPTIONS:
                yield f"--{option.name}", option.value.text, command.scope
            elif option.name == "rdzv-endpoint":
                text = option.value.text
                # Only a known end of the endpoint can be checked as a port.
                if text and not text[-1].hole and ":" in text[-1].chars:
                    rest = text[-1].cut(text[-1].chars.rindex(":") + 1)
                    yield f"--{option.name}", rest, command.scope
