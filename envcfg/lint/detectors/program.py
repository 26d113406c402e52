"""The batch script as a program: what it returns, where it is, what is left on."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from envcfg.findings import Severity
from envcfg.lint.facts import is_helper, steps
from envcfg.lint.flow import inner_name, is_agent, is_server, text_of
from envcfg.lint.model import Command, Context, Model
from envcfg.lint.rule import Edit, Fault, Job, detects, known_values, known_words
from envcfg.lint.text import Hole, holes, literal

_PATHS = frozenset({"dirname", "readlink", "realpath", "cd"})
_THROUGH = frozenset("time env nice ionice stdbuf timeout command nohup".split())


@detects("EC734")
def lost_exit_code(job: Job) -> Iterator[Fault]:
    """A job that ends well whatever its step did."""
    model = job.model
    if model.scope != "batch" or not model.directives:
        return
    if any(e.name in ("?", "PIPESTATUS") for e in model.expansions):
        return
    step = next(
        filter(lambda each: _is_main(each, model), reversed(steps(model))), None
    )
    if step is None or step.context.tested or step.context.function:
        return
    context = step.context
    if context.background:
        yield from _waited_for(step, job)
    elif context.loop:
        return
    elif context.forgiven:
        yield Fault(step.at, {"what": "|| true"})
    elif context.piped:
        if "pipefail" not in context.options:
            message = "the exit code of srun is lost: that of the pipe's end counts"
            yield Fault(
                step.at, {"what": "the pipe"}, None, message, "set -o pipefail before"
            )
    elif "errexit" not in context.options and (after := _after(step, job)):
        # What may fail itself, as a second program, can say what the job is worth.
        severity: Severity | None = (
            None if after.name in known_words("EC734", "succeed") else "note"
        )
        yield Fault(step.at, {"what": after.name or "what follows"}, severity)


def _is_main(step: Command, model: Model) -> bool:
    """Return whether *step* is what the job is for: the script itself starts it.

    So it does where only ``time`` or the like stands before it.
    """
    if step.substitution or step.scope != "batch" or len(step.words) < 2:
        return False
    if any(each.name not in _THROUGH for each in model.ancestors(step)):
        return False
    return bool(model.children(step)) and not is_helper(step, model)


def _waited_for(step: Command, job: Job) -> Iterator[Fault]:
    """Yield where all steps are in the background, and none is waited for by its id."""
    model = job.model
    if any(each.name == "!" for each in model.expansions) or is_server(step, job):
        return
    waits = [c for c in model.commands if c.name == "wait" and c.number > step.number]
    if not waits or any(each.arguments for each in waits):
        return
    if any(c.name in ("exit", "return") for c in model.commands[waits[-1].number :]):
        return
    message = "the exit code of srun is lost: wait without an id ends with 0"
    fix = 'pid=$! behind the &, and wait "$pid"'
    yield Fault(waits[0].at, {"what": "wait"}, None, message, fix)


def _after(step: Command, job: Job) -> Command | None:
    """Return the command that ends the script in place of *step*."""
    inside = {step.number}
    found = None
    top = [step, *job.model.ancestors(step)][-1]
    for each in job.model.commands[step.number + 1 :]:
        if each.parent in inside or each.at in (step.at, top.at):
            inside.add(each.number)
        elif (
            each.substitution
            or each.unit != step.unit
            or each.parent is not None
            or each.context.function
        ):
            continue
        elif (
            each.is_step
            or each.name in known_words("EC734", "ends")
            or each.context.options & {"errexit"}
        ):
            return None
        else:
            found = each
    return found


@detects("EC735")
def no_exec(job: Job) -> Iterator[Fault]:
    """A shell that stays between Slurm and the program, and gets its signals."""
    model = job.model
    if model.scope != "unknown" or model.is_dump or not model.commands:
        return
    if any(c.name in ("trap", "wait", "exec") for c in model.commands):
        return
    last = next(
        (c for c in reversed(model.commands) if c.parent is None and c.unit == 0
         and not c.substitution), None
    )  # fmt: skip
    if last is None:
        return
    forgiven, set_options = last.context.forgiven, last.context.options
    if last.context != Context(forgiven=forgiven, options=set_options):
        return  # in the middle of something
    hands_on = any(h.name in ("@", "*") for w in last.words for h in holes(w.text))
    is_program = last.name.startswith("python") or is_agent(last) or not last.name
    if hands_on and is_program:
        at = last.at if last.stands < 0 else last.stands
        words = {"name": last.name or "the program"}
        yield Fault(at, words, edit=Edit(at, at, "exec "))


@detects("EC736")
def script_location(job: Job) -> Iterator[Fault]:
    """The place of a script that sbatch has copied elsewhere."""
    model = job.model
    if model.scope != "batch" or not model.directives:
        return
    yield from _late(job)
    yield from _made_too_late(job)
    for each in model.expansions:
        cut = each.name in ("0", "BASH_SOURCE") and each.hole.op[:1] == "%"
        if cut and each.hole.scope == "batch" and not _is_elsewhere(each.at, job):
            yield Fault(each.at, {"name": "$0" if each.name == "0" else "BASH_SOURCE"})
    for hole in _looked_up(job):
        # Offsets of another file are of what is sourced, which stays where it is.
        own = any(d.line_at <= hole.at for d in model.directives)
        if not own or _is_elsewhere(hole.at, job):
            continue
        if ":-" not in job.before(hole.at):
            yield Fault(hole.at, {"name": "$0" if hole.name == "0" else "BASH_SOURCE"})


def _looked_up(job: Job) -> Iterator[Hole]:
    """Yield the script's own name where a command makes a folder of it."""
    for command in job.model.commands:
        if command.name not in _PATHS or command.scope != "batch":
            continue
        if any("SLURM" in c or "BASH_SOURCE" in c for c in command.context.conditions):
            continue
        for word in command.arguments:
            for hole in holes(word.text):
                if hole.name in ("0", "BASH_SOURCE") and not hole.op:
                    yield hole


def _is_elsewhere(at: int, job: Job) -> bool:
    """Return whether *at* is in another file than the script."""
    return at < job.model.own or at >= job.model.own + job.model.size


def _late(job: Job) -> Iterator[Fault]:
    late = [d for d in job.model.directives if d.late]
    if late:
        message = (
            "sbatch stops reading at the first command: this line counts for nothing"
        )
        yield Fault(
            late[0].line_at, {}, None, message, "move it up, before all commands"
        )
    for each in job.model.directives:
        value = each.value or ""
        if not each.late and re.search(r"\$\{?[A-Za-z_]", value):
            message = "sbatch expands no variables: {value} is taken as it stands"
            fix = "a pattern of sbatch such as %j or %x, or the option on the command line"
            yield Fault(each.at, {"value": value}, None, message, fix)


def _made_too_late(job: Job) -> Iterator[Fault]:
    """Yield where the script makes the folder that its own output had to be in."""
    folders = {
        os.path.normpath(os.path.dirname(each.value or "")): each.name
        for each in job.model.directives
        if each.name in ("output", "error") and "/" in (each.value or "")
    }
    for command in job.model.commands:
        if command.name != "mkdir" or command.scope != "batch" or command.unit:
            continue
        if command.context.conditions or command.context.function:
            continue
        for word in command.arguments:
            said = os.path.normpath(word.literal or ".")
            if said in folders:
                message = "{folder} is made when the job runs, too late for --{option}"
                fix = (
                    "make it before sbatch: without it the job fails, and says nothing"
                )
                words = {"folder": said, "option": folders[said]}
                yield Fault(word.at, words, "warning", message, fix)
                return


@detects("EC737")
def debug_left_on(job: Job) -> Iterator[Fault]:
    """What helps to find a fault, and slows every run."""
    for each in job.model.assignments:
        if each.value is None or each.context.conditions:
            continue
        if not (each.exported or each.how == "env" or each.command is not None):
            continue
        name = inner_name(each.name)
        value = literal(text_of(each.value))
        if value is not None and value in known_values("EC737", "values").get(name, ()):
            is_slow = name in known_words("EC737", "slow")
            severity: Severity | None = None if is_slow else "note"
            yield Fault(each.at, {"name": name, "value": value}, severity)
        elif name == "NCCL_DEBUG_SUBSYS" and value:
            parts = set(value.upper().split(","))
            if not any(p.startswith("^") for p in parts) and not parts & {"NET", "ALL"}:
                message = "{value} hides why a network plugin was not loaded"
                edit = Edit(each.value_at, each.value_at + len(value), "INIT,ENV,NET")
                fix = "INIT,ENV,NET"
                yield Fault(each.at, {"value": value}, "note", message, fix, edit)
