"""Rendezvous: where ranks look for the first of them, and at which port."""

from __future__ import annotations

import re
from collections.abc import Iterator

from envcfg.characters import whole_number
from envcfg.findings import Severity
from envcfg.lint.facts import is_many
from envcfg.lint.flow import STEP_SIZES, is_agent, is_alone, is_port_name, options
from envcfg.lint.model import Assignment, Command, text_of
from envcfg.lint.rule import Fault, Job, detects, known_words
from envcfg.lint.system import shares_nodes
from envcfg.lint.text import Text, holes, literal, shown, start

_HERE = re.compile(r"^(?:localhost|127\.0\.0\.1|0\.0\.0\.0)(?::|$)")
_HOSTNAME = re.compile(r"^(?:/bin/|/usr/bin/)?hostname\b")
_NTH = re.compile(r"hostname\s+(?:-I|--all-ip-addresses)\b.*\|\s*(?:awk|cut)\b")
_PORT_OPTIONS = frozenset({"master-port", "main-process-port", "rdzv-port"})
_ALL_OPTIONS = _PORT_OPTIONS | {"rdzv-endpoint"}
_OCTAL = re.compile(
    r"(?<!10#)(?:\$\{SLURM_JOB_?ID:\s*(?:-\d|\(-\d\))(?::\d+)?\}|\$\([^()]*tail\s+-c\s*-?\d[^()]*\))"
)
_INSIDE = ("task", "container")
_EPHEMERAL = range(32768, 61000)


@detects("EC416")
def address_in_task(job: Job) -> Iterator[Fault]:
    """Every node takes itself for the first, or the address is never seen."""
    addresses = known_words("EC416", "addresses")
    for each in job.model.assignments:
        if each.name in addresses and each.value is not None:
            yield from _set_address(each, text_of(each.value), job)
    yield from _unexported(job)
    if (job.shape.nodes or 1) > 1:
        yield from _told_addresses(job)


def _set_address(each: Assignment, value: Text, job: Job) -> Iterator[Fault]:
    """Yield what is wrong with the address that a variable gets.

    A variable of Slurm's that means another node is wrong in every scope, so it is looked
    for first. A task that names its own node is wrong on several nodes, unless each node is
    to be a job of its own. The batch shell may well name its own node, which is the first,
    but not by a name that each node takes for itself, if a step on all nodes sees it.
    """
    nodes = job.shape.nodes or 1
    by_launch = (h for h in holes(value) if h.name == "SLURM_LAUNCH_NODE_IPADDR")
    if launch := next(by_launch, None):
        severity: Severity = "error" if nodes > 1 else "warning"
        yield Fault(launch.at, {"value": "it"}, "launch-node", severity)
    elif nodes < 2:
        return
    elif each.scope in _INSIDE:
        at = _own(value)
        if at is not None and not _is_alone(each, job):
            yield Fault(max(at, each.at), {"value": shown(value), "name": each.name})
    elif each.scope == "batch" and each.exported and not each.context.conditions:
        said = literal(value)
        if said and _HERE.match(said) and _runs_everywhere(job):
            at = max(start(value), each.at)
            yield Fault(at, {"value": said, "name": each.name})


def _runs_everywhere(job: Job) -> bool:
    """Return whether a step runs on all nodes of the job."""
    return any(
        each.is_step and not STEP_SIZES & each.options.keys()
        for each in job.model.commands
    )


def _told_addresses(job: Job) -> Iterator[Fault]:
    """Yield options by which a launcher on several nodes is told of its own node."""
    for command in job.model.commands:
        if command.scope not in _INSIDE or not is_agent(command):
            continue
        asked = {o.name: o for o in options(command)}
        count = asked.get("nnodes") or asked.get("num-machines")
        if "standalone" in asked or is_alone(command):
            continue
        if count is not None and count.value.literal == "1":
            continue
        for option in asked.values():
            if option.name not in known_words("EC416", "options"):
                continue
            at = _own(option.value.text)
            if at is not None:
                words = {"value": option.value.shown, "name": f"--{option.name}"}
                yield Fault(at, words)


def _own(value: Text) -> int | None:
    """Return where *value* names the node on which it is read; None where it does not."""
    for hole in holes(value):
        if hole.scope not in _INSIDE:
            continue
        is_asked = hole.kind == "command" and _HOSTNAME.match(hole.text)
        if is_asked or hole.name in ("HOSTNAME", "SLURMD_NODENAME"):
            return hole.at
    said = literal(value)
    return start(value) if said is not None and _HERE.match(said) else None


def _is_alone(each: Assignment, job: Job) -> bool:
    """Return whether each rank or node is meant to be a job of its own."""
    tests = " ".join(each.context.conditions)
    ports = [a for a in job.model.assignments if is_port_name(a.name) and a.value]
    said = " ".join(shown(text_of(a.value)) for a in ports)
    by_node = re.search(r"NNODES|NUM_NODES|NODEID|PROCID", tests)
    return bool(by_node or re.search(r"LOCAL|RANK|PROCID|GPU", said))


def _unexported(job: Job) -> Iterator[Fault]:
    """Yield where the address is computed and no task ever sees it."""
    model = job.model
    first = _first_unseen(job)
    if first is None or first.context.function:
        return
    if any(c.is_step for c in model.commands):
        # One node finds itself, and a launcher that is told another way needs none.
        told = any(
            option.name in known_words("EC416", "options")
            for command in model.commands
            for option in options(command)
        )
        severity: Severity = "note" if told or job.shape.nodes == 1 else "error"
        yield Fault(first.at, {}, "unexported", severity)


def _first_unseen(job: Job) -> Assignment | None:
    """Return where the batch shell sets a MASTER_ADDR that it keeps to itself."""
    model = job.model
    if model.scope != "batch" or model.is_dump:
        return None
    assigned = [a for a in model.assignments if a.name == "MASTER_ADDR"]
    if any(a.exported for a in assigned):
        return None
    if any(e.name == "MASTER_ADDR" for e in model.expansions):
        return None
    if any("allexport" in c.context.options for c in model.commands):
        return None
    mine = (a for a in assigned if a.how == "=" and a.scope == "batch")
    return next((a for a in mine if a.command is None), None)


@detects("EC417")
def slurm_in_container(job: Job) -> Iterator[Fault]:
    """Slurm's commands where only the image's programs are."""
    binds = (a.value for a in job.model.assignments if "BIND" in a.name)
    said = " ".join(shown(text_of(each)) for each in binds)
    if re.search(r"(?i)slurm|munge|scontrol", said):
        return
    for command in job.model.commands:
        is_tool = command.name in known_words("EC417", "tools")
        if command.scope != "container" or not is_tool:
            continue
        if not (command.words[0].literal or "").endswith(command.name):
            continue
        if any(command.name in c for c in command.context.conditions):
            continue  # asked for first, as by command -v
        containers = [c for c in job.model.ancestors(command) if c.options or c.is_open]
        if any(map(_brings_slurm, containers)):
            continue
        severity: Severity | None = None
        if any(each.is_open for each in containers) or command.context.forgiven:
            severity = "warning"
        yield Fault(command.at, {"name": command.name}, severity=severity)


def _brings_slurm(container: Command) -> bool:
    """Return whether words up to the image name something of Slurm's."""
    image = container.options.get("image")
    for word in container.words:
        if re.search(r"(?i)slurm|munge|scontrol|/usr/bin\b", word.shown):
            return True
        if word is image:
            break
    return False


@detects("EC418")
def address_source(job: Job) -> Iterator[Fault]:
    """The address of the n-th interface, whichever that is."""
    addresses = known_words("EC416", "addresses")
    for each in job.model.assignments:
        is_address = each.name in addresses
        for hole in holes(text_of(each.value)):
            is_nth = hole.kind == "command" and _NTH.search(hole.text)
            if is_nth and (is_address or "HOST_IP" in each.name):
                yield Fault(hole.at, {"name": each.name})


@detects("EC419")
def port(job: Job) -> Iterator[Fault]:
    """A port that another job may have, or that cannot be computed."""
    for name, value, scope in _port_values(job):
        said, at = literal(value), start(value)
        if (number := whole_number(said)) and at >= 0:
            is_taken = number in _EPHEMERAL and scope != "unknown"
            is_shared = shares_nodes(job) and scope == "batch"
            form = "taken" if is_taken else "shared" if is_shared else "fixed"
            yield Fault(at, {"port": said, "name": name}, form)
        for hole in holes(value):
            is_sum = hole.kind == "arithmetic"
            is_random = hole.name == "RANDOM" or (is_sum and "RANDOM" in hole.text)
            if is_sum and _OCTAL.search(hole.text):
                yield Fault(hole.at, {"port": "", "name": name}, "octal")
            elif is_random and hole.scope in _INSIDE and is_many(job.shape):
                yield Fault(hole.at, {"port": "", "name": name}, "random")


def _port_values(job: Job) -> Iterator[tuple[str, Text, str]]:
    for each in job.model.assignments:
        if is_port_name(each.name) and each.value is not None:
            yield each.name, text_of(each.value), each.scope
    for command in job.model.commands:
        for option in () if command.substitution else options(command):
            if option.name not in _ALL_OPTIONS or is_alone(command):
                continue
            if option.name in _PORT_OPTIONS:
                yield f"--{option.name}", option.value.text, command.scope
            elif option.name == "rdzv-endpoint":
                said = option.value.text
                if said and not said[-1].hole and ":" in said[-1].chars:
                    rest = said[-1].cut(said[-1].chars.rindex(":") + 1)
                    yield f"--{option.name}", rest, command.scope
