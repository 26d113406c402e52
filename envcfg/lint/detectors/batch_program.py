"""The batch script as a program: its exit code, its folder, and options left on."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from envcfg.backends.schedulers import SCHEDULERS, SUBMITTERS
from envcfg.lint.lint_rule import Fault, ScriptJob, detects, known_values, known_words
from envcfg.lint.traced_text import Hole, holes
from envcfg.lint.value_flow import inner_name

# Commands that make a folder of a path, and so reveal a look-up of the script's place.
_PATHS = frozenset("dirname readlink realpath cd".split())


@detects("EC736")
def script_location(job: ScriptJob) -> Iterator[Fault]:
    """The place of a script that sbatch has copied elsewhere."""
    model = job.model
    if model.flat is None:
        return
    yield from _late(job)
    yield from _made_too_late(job)
    yield from _set_too_late(job)
    # Only schedulers that copy the script move it away from its folder.
    if model.scheduler not in known_words("EC736", "copies"):
        return
    # "${0%/*}" is the folder of the script; "$0" alone may be a mere usage message.
    cuts = [e.hole for e in model.expansions if e.hole.op[:1] == "%"]
    for hole in (*filter(_is_own_name, cuts), *_looked_up(job)):
        # Offsets of another file belong to a sourced script, which is not copied.
        own = any(d.line_offset <= hole.offset for d in model.directives)
        if (model.directives and not own) or _is_elsewhere(hole.offset, job):
            continue
        # A default after ":-" is used outside a job only, and is correct there.
        if hole.scope == "batch" and ":-" not in job.before(hole.offset):
            name = "$0" if hole.name == "0" else hole.name
            yield Fault(hole.offset, {"name": name})


def _is_own_name(hole: Hole) -> bool:
    return hole.name in ("0", "BASH_SOURCE")


def _looked_up(job: ScriptJob) -> Iterator[Hole]:
    """Yield the script's own name if a command makes a folder of it."""
    for command in job.model.commands:
        if command.name not in _PATHS or command.scope != "batch":
            continue
        # A test of SLURM or BASH_SOURCE shows that the author knows about the copy.
        if any("SLURM" in c or "BASH_SOURCE" in c for c in command.context.conditions):
            continue
        for word in command.arguments:
            for hole in holes(word.text):
                if _is_own_name(hole) and hole.op in ("", "["):
                    yield hole


def _is_elsewhere(offset: int, job: ScriptJob) -> bool:
    """Return whether *offset* is in another file than the script."""
    return offset < job.model.own or offset >= job.model.own + job.model.size


def _late(job: ScriptJob) -> Iterator[Fault]:
    # All late directives have one cause, so one finding is enough.
    late = [d for d in job.model.directives if d.late]
    if late:
        yield Fault(late[0].line_offset, {}, "late")
    for directive in job.model.directives:
        value = directive.value or ""
        # Slurm's own patterns use "%": a dollar sign is never replaced here.
        if not directive.late and re.search(r"\$\{?[A-Za-z_]", value):
            yield Fault(directive.offset, {"value": value}, "variable")


def _set_too_late(job: ScriptJob) -> Iterator[Fault]:
    """Yield assignments of variables that only the submission reads, before the script
    runs.
    """
    model = job.model
    # A script that submits another sets these variables for that job.
    if any(command.name in SUBMITTERS for command in model.commands):
        return
    for assignment in model.assignments:
        if (
            assignment.name in known_words("EC736", "submitted")
            and assignment.scope == "batch"
        ):
            yield Fault(assignment.offset, {"name": assignment.name}, "submitted")
    scheduler = SCHEDULERS[model.scheduler]
    paths = re.compile(
        rf"^{scheduler.mark}[ \t]+{scheduler.path_options or '(?!)'}[ \t]+"
        rf"(\S*\$\{{?(?!{scheduler.prefix})[A-Za-z_]\S*)",
        re.MULTILINE,
    )
    for line in paths.finditer(model.flat.chars if model.flat else ""):
        offset = model.flat.origin(line.start(1)) if model.flat else -1
        yield Fault(offset, {"value": line[1]}, "pbs-path")


def _made_too_late(job: ScriptJob) -> Iterator[Fault]:
    """Yield mkdir commands for the folder of the output, which the job needs earlier."""
    folders = {
        os.path.normpath(os.path.dirname(directive.value or "")): directive.name
        for directive in job.model.directives
        if directive.name in ("output", "error") and "/" in (directive.value or "")
    }
    for command in job.model.commands:
        if command.name != "mkdir" or command.scope != "batch" or command.unit:
            continue
        # A branch may run in another job, which prepares the folder for this one.
        if command.context.is_chosen or command.context.function:
            continue
        for word in command.arguments:
            folder = os.path.normpath(word.literal or ".")
            if folder in folders:
                words = {"folder": folder, "option": folders[folder]}
                yield Fault(word.offset, words, "output-folder")
                return


@detects("EC737")
def debug_left_on(job: ScriptJob) -> Iterator[Fault]:
    """Settings for debugging that slow every run."""
    for assignment in job.model.assignments:
        is_ours = assignment.is_seen and not assignment.context.is_chosen
        if assignment.value is None or not is_ours:
            continue
        name = inner_name(assignment.name)
        value = assignment.literal
        if value is not None and value in known_values("EC737", "values").get(name, ()):
            is_slow = name in known_words("EC737", "slow")
            yield Fault(
                assignment.offset,
                {"name": name, "value": value},
                severity=None if is_slow else "note",
            )
        elif name == "NCCL_DEBUG_SUBSYS" and value:
            parts = set(value.upper().split(","))
            # Without NET the log lacks the lines that check-log needs.
            if not any(p.startswith("^") for p in parts) and not parts & {"NET", "ALL"}:
                yield Fault(assignment.offset, {"value": value}, "hides")
