"""Steps at the same time: those that wait for the resources of another, or for a server."""

from __future__ import annotations

from collections.abc import Iterator

from envcfg.lint.lint_rule import Fault, ScriptJob, detects, known_words
from envcfg.lint.program_starts import helpers
from envcfg.lint.resource_facts import is_helper, step_nodes
from envcfg.lint.script_model import Command
from envcfg.lint.value_flow import has_server_name

_MOST = 8  # steps in the background with which a step is compared


@detects("EC765")
def endless_wait(job: ScriptJob) -> Iterator[Fault]:
    """A step that cannot start beside another one, or a wait for a server."""
    batch = [
        command
        for command in job.model.commands
        if command.scope == "batch" and command.context.function != "trap"
    ]
    yield from _blocked(batch, job)
    servers: list[Command] = []
    is_job = True  # the servers are the whole job
    for command in batch:
        context = command.context
        if command.name in known_words("EC765", "stops"):
            return
        if context.background and _is_endless(command, job):
            servers.append(command)
        elif command.is_step or command.name.startswith(("python", "torchrun")):
            is_job &= command.substitution or is_helper(command, job.model)
        is_for_all = command.name == "wait" and len(command.words) == 1
        if is_for_all and servers and not (is_job or context.is_chosen):
            is_loop = servers[0].context.loop
            name = "a loop" if is_loop else servers[0].name
            yield Fault(command.offset, {"name": name}, "server")
            return


def _blocked(batch: list[Command], job: ScriptJob) -> Iterator[Fault]:
    """Yield the step that needs resources which another in the background holds."""
    running: list[Command] = []
    for step in batch:
        options = step.options.keys()
        if step.name in known_words("EC765", "stops") | {"wait"}:
            running.clear()
        is_other = step.context.is_chosen or known_words("EC765", "elsewhere") & options
        if not step.is_srun or step.is_open or step.variant or is_other:
            continue
        is_sharing = "overlap" in options or step.substitution
        for first in () if is_sharing else running[-_MOST:]:
            is_endless = _is_endless(first, job)
            is_parallel = step.context.background and not is_helper(first, job.model)
            if _meet(first, step, job) and (is_endless or is_parallel):
                form = "blocked" if is_endless else ""
                yield Fault(step.offset, {"name": step.name}, form)
                return
        # A step without these options takes all cores and GPUs of its nodes.
        if step.context.background and not known_words("EC765", "shares") & options:
            running.append(step)


def _meet(first: Command, second: Command, job: ScriptJob) -> bool:
    """Return whether two steps certainly use the same node."""
    nodes = job.shape.nodes
    if nodes and nodes in (step_nodes(step, job.shape) for step in (first, second)):
        return True
    names = [step.options.get("nodelist") for step in (first, second)]
    in_loop = first.context.loop or second.context.loop
    same = {name.shown for name in names if name}
    return nodes == 1 or (len(same) == 1 and None not in names and not in_loop)


def _is_endless(command: Command, job: ScriptJob) -> bool:
    """Return whether a program in the background runs until the end of the job."""
    words = known_words("EC765", "endless") & {
        word.shown.partition("=")[0] for word in command.words
    }
    if words and (is_helper(command, job.model) or command.name in helpers()):
        return True
    # The condition of "while true", in a script that leaves no loop early.
    if command.name in ("true", ":") and command.context.loop:
        names = {other.name for other in job.model.commands}
        return command.context.tested and names.isdisjoint(("break", "exit", "return"))
    return has_server_name(command, job)
