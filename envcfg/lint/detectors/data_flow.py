"""Values that do not reach the program: variables of the shell, of Slurm, and quotes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache

from envcfg.common.findings import Severity
from envcfg.job.request.amounts import array_marks
from envcfg.lint.detectors.cores import is_affected
from envcfg.lint.lint_rule import Fault, ScriptJob, detects, known_values, known_words
from envcfg.lint.program_starts import helpers
from envcfg.lint.script_model import (
    Array,
    Assignment,
    Command,
    Expansion,
    Model,
    text_of,
)
from envcfg.lint.shell_builtins import BUILTINS
from envcfg.lint.system_recognition import directives
from envcfg.lint.traced_text import INSIDE, Text, holes, literal, shown
from envcfg.lint.value_flow import TESTS, command_with, is_agent, uses

_MAIN = re.compile(r"python[\d.]*$")
# These set no variable of the job's programs.
_HARMLESS = re.compile(
    r"(?:module|ml) |source .*(?:activate|conda|modules?|profile|bashrc)\b"
)
_BY_TASK = re.compile(r"\$\{\w+\[\$?\{?SLURM_ARRAY_TASK_ID\}?\]\}")
_KEPT = frozenset({"=", "read"})
_SIZES = re.compile("WORLD_SIZE|NPROC|GPUS|NTASKS")


@detects("EC251")
def not_exported(job: ScriptJob) -> Iterator[Fault]:
    """A value that only programs read, and that no program of the job gets."""
    for fault in lost_settings(job.model):
        # Slurm, the system and modules export these, and a new value goes with them.
        inherited = () if fault.form else known_words("EC251", "inherited")
        if fault.form != "dropped" and fault.words["name"] not in inherited:
            yield fault


@lru_cache(maxsize=4)
def lost_settings(model: Model) -> Sequence[Fault]:
    """Return the values that a script sets for programs, and that none of them gets.

    A value that a word of the script uses reaches programs in another way. Programs are all
    commands but builtins and those that only look or tidy up. A fault with the form
    `dropped` is at the command that passes the value on to no program.
    """
    used = {e.name for e in model.expansions if not _is_shown(e, model)}
    values: dict[str, list[Assignment]] = {}
    for assignment in () if model.is_dump else model.assignments:
        if assignment.name not in used and _is_for_programs(assignment, model):
            values.setdefault(assignment.name, []).append(assignment)
    programs = [command for command in model.commands if is_program(command, model)]
    starts = [c for c in programs if c.scope in INSIDE or is_agent(c)]
    starts = starts or [c for c in programs if _MAIN.match(c.name) or c.is_step]
    # An unread file may set the variable.
    is_sure = all(_HARMLESS.match(o.description) for o in model.opaque) and all(
        command.name for command in programs
    )
    faults: list[Fault] = []
    for name, assignments in values.items():
        inside = (command.gives(name) for command in programs)
        if any(variable is not None and variable.is_given for variable in inside):
            continue
        offset, form = assignments[0].offset, ""
        words = {"name": name}
        if any(a.exported or a.is_local for a in assignments):
            if not starts:
                continue
            form, by = _loss(assignments, starts[-1], model)
            words["program"] = by.name
            offset = by.offset if form == "dropped" else offset
        is_certain = model.scope == "batch" and (is_sure or not form)
        faults.append(Fault(offset, words, form, None if is_certain else "note"))
    return faults


def _loss(
    assignments: Sequence[Assignment], start: Command, model: Model
) -> tuple[str, Command]:
    """Return the form in which a value is lost on its way to *start*, and the command."""
    name = assignments[0].name
    for command in (start, *model.ancestors(start)):
        variable = command.find(name)
        if variable is not None and variable.is_given:
            return "dropped", command
    if all(assignment.number > start.number for assignment in assignments):
        return "late", start
    is_unset = any(a.name == name and not a.text for a in model.assignments)
    return "unset" if is_unset else "apart", start


def _is_for_programs(assignment: Assignment, model: Model) -> bool:
    """Return whether a value is for programs, and not for one command alone."""
    from envcfg.knowledge.variables import find_variable

    name, names = assignment.name, known_values("EC251", "names")
    is_read = assignment.text and not re.match(names["starters"], name)
    context = assignment.context
    if not is_read or context.function == "trap" or assignment.how in ("for", "env"):
        return False
    number = len(model.commands) if assignment.command is None else assignment.command
    if any(c.name not in helpers() for c in model.commands[number : number + 1]):
        return False
    variable = find_variable(name)
    is_known = variable is not None and variable.is_read
    return is_known or bool(re.fullmatch(names["read"], name))


def is_program(command: Command, model: Model) -> bool:
    """Return whether a command runs a program that does more than look or tidy up."""
    quiet = helpers() | known_words("EC251", "quiet") | TESTS | BUILTINS.keys()
    is_own = command.name in quiet or command.name in model.functions
    # The batch script asks a substitution for its output.
    is_asked = command.substitution and command.scope not in INSIDE
    return not (is_own or is_asked or model.children(command))


def _is_shown(expansion: Expansion, model: Model) -> bool:
    """Return whether a value is only printed or tested, and given to no program."""
    if expansion.use != "word":
        return False
    command = command_with(model, expansion)
    return command is not None and command.name in TESTS | {"echo", "printf"}


@detects("EC256")
def lost_value(job: ScriptJob) -> Iterator[Fault]:
    """A value that a subshell or a function keeps to itself, and that is used outside."""
    model = job.model
    # With this option the last part of a pipeline is no subshell.
    if any(
        c.name == "shopt" and "lastpipe" in c.words[-1].shown for c in model.commands
    ):
        return
    unset = {a.name for a in model.assignments if a.how == "unset" or a.bare}
    first: dict[str, Assignment] = {}
    for assignment in model.assignments:
        is_kept = assignment.how in _KEPT or assignment.is_local
        # Another shell or file is apart on purpose.
        is_own = assignment.scope == "batch" and not assignment.unit
        is_own &= assignment.is_local or not assignment.context.function
        if is_kept and is_own and assignment.command is None:
            first.setdefault(assignment.name, assignment)
    for expansion in model.expansions:
        setting = first.get(expansion.name)
        # The interpreter knows the values of the shell in which it expands.
        is_set = expansion.is_known or expansion.hole.op or expansion.name in unset
        if setting is None or is_set or expansion.hole.scope != "batch":
            continue
        if (setting.number, setting.offset) < (expansion.number, expansion.offset):
            del first[expansion.name]
            form = "local" if setting.is_local else ""
            yield Fault(setting.offset, {"name": expansion.name}, form)


@detects("EC257")
def never_set(job: ScriptJob) -> Iterator[Fault]:
    """A variable that is set nowhere, with a name that differs little from another."""
    model = job.model
    if model.is_dump:
        return
    # X=$X sets nothing.
    set_names = {a.name for a in model.assignments if a.shown != f"${a.name}"}
    names = {_plain(name): name for name in set_names if len(name) > 4}
    for expansion in model.expansions:
        name = expansion.name
        right = names.get(_plain(name))
        is_set = name in set_names or expansion.hole.op
        if right is None or is_set or expansion.hole.scope != "batch":
            continue
        # A variable of the system may have another with a similar name.
        values = [a.text for a in model.assignments if a.name == right]
        is_source = any(hole.name == name for value in values for hole in holes(value))
        is_tested = any(name in test for test in expansion.context.conditions)
        if not (is_source or is_tested or name.startswith("SLURM_")):
            set_names.add(name)  # one finding for each name
            yield Fault(expansion.offset, {"name": name, "variable": right})
    yield from _names_as_values(job)
    yield from _beyond_list(job)


def _beyond_list(job: ScriptJob) -> Iterator[Fault]:
    """Yield elements of a list that a job of the array does not find."""
    option = directives(job).get("array")
    try:
        last = array_marks(option.value or "").rfind(1) if option else -1
    except ValueError:
        return
    values = [(a.name, a.value) for a in job.model.assignments]
    counts = Counter(name for name, _ in values)
    lists = {
        name: value.items
        for name, value in values
        if isinstance(value, Array)
        and not (counts[name] > 1 or any(map(_is_several, value.items)))
    }
    for expansion in job.model.expansions:
        items = lists.get(expansion.name, ())
        is_by_task = _BY_TASK.match(job.behind(expansion.offset))
        if 0 < len(items) <= last and is_by_task:
            words = {"name": expansion.name, "count": len(items), "index": last}
            yield Fault(expansion.offset, words | {"last": len(items) - 1}, "beyond")
            return


def _is_several(item: Text) -> bool:
    """Return whether an item with a variable or a pattern may be several words, or none."""
    return bool(set("*?[{") & set(shown(item))) or any(h.loose for h in holes(item))


def _names_as_values(job: ScriptJob) -> Iterator[Fault]:
    """Yield variables that hold the name of another one, and that are used as a path."""
    values = {
        a.name: a
        for a in job.model.assignments
        if a.how == "=" and a.literal in known_words("EC257", "folders")
    }
    for expansion in job.model.expansions:
        assignment = values.get(expansion.name)
        if assignment is None or expansion.hole.op:
            continue
        command = command_with(job.model, expansion)
        if command is not None and command.name in ("cd", "mkdir", "pushd"):
            value = literal(text_of(values.pop(expansion.name).value))
            words = {"name": expansion.name, "variable": value}
            yield Fault(assignment.offset, words, "no-dollar")


def _plain(name: str) -> str:
    """Return a name without its case and underscores."""
    return name.replace("_", "").lower()


@detects("EC252")
def slurm_count(job: ScriptJob) -> Iterator[Fault]:
    """A count of Slurm that is unset here, or not a number.

    Slurm sets such a variable only if its option is given. Uses with a default, in a test
    of the variable, or in a script that sets it, are left out. A typed count such as
    ``a100:4`` is set, but is no number.
    """
    model = job.model
    # Only Slurm's directives are kept there.
    if not model.directives:
        return
    values = {n: d.value or "" for n, d in directives(job).items()}
    table = known_values("EC252", "counts")
    visited: set[str] = set()
    for expansion in model.expansions:
        name = expansion.name
        if name not in table or name in visited or name in model.set_names:
            continue
        is_tested = any(name in test for test in expansion.context.conditions)
        if (
            expansion.hole.op
            or is_tested
            or expansion.hole.scope not in ("batch", "task")
        ):
            continue
        options = table[name].split()
        given = [values[option] for option in options if option in values]
        fault = _wrong_count(expansion, job, options[0], given)
        if fault is not None:
            visited.add(name)
            yield fault


def _wrong_count(
    expansion: Expansion, job: ScriptJob, option: str, given: list[str]
) -> Fault | None:
    """Return the fault of a count with these values of its options; None: it is right."""
    name = expansion.name
    # Tasks and cores have no type; --tres-per-task has a colon before other things.
    typed = next((value for value in given if ":" in value and "GPUS" in name), None)
    gone = known_values("EC252", "gone").get(name) if given else None
    affected = is_affected(job, gone) if gone else False
    is_wrong = (
        typed or affected is not False if given else expansion.hole.scope == "batch"
    )
    severity = _needs_number(expansion, job) if is_wrong else None
    if severity is None:
        return None
    words = {"name": name, "option": option}
    if affected is not False:
        # If the version of Slurm is unknown, the count may be right.
        return Fault(expansion.offset, words, "gone", severity if affected else "note")
    if typed is not None:
        return Fault(expansion.offset, {**words, "value": typed}, "typed")
    return Fault(expansion.offset, words, severity=severity)


def _needs_number(expansion: Expansion, job: ScriptJob) -> Severity | None:
    """Return the severity if the count is empty or not a number at its use; None:
    harmless.
    """
    for option in uses(job.model).options.get(expansion.offset, ()):
        if is_agent(option.command) or option.command.is_step:
            return "error"
    for assignment in job.model.assignments:
        holes_used = list(holes(assignment.text))
        is_sum = any(
            hole.kind == "arithmetic" and re.search(rf"\b{expansion.name}\b", hole.text)
            for hole in holes_used
        )
        is_plain = any(hole.offset == expansion.offset for hole in holes_used)
        # A number of threads may be empty: programs then use their default.
        if is_sum or (is_plain and _SIZES.search(assignment.name)):
            return "warning"
    return None


def literal_quotes(command: Command) -> int | None:
    """Return the offset of a quote in a value that reaches a program as it is."""
    # A shell or eval reads the text once more, and then the quotes count.
    if command.name in known_words("EC105", "readers") or not command.name:
        return None
    for word in command.arguments:
        for piece in word.text[:1]:
            is_own = piece.offset < 0 or piece.offset >= command.offset
            is_quote = piece.hole is None and piece.chars[:1] in ("'", '"')
            if is_quote and not is_own and not word.quoted:
                return piece.offset
    return None
