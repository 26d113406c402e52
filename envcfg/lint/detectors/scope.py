"""Scope and quoting: expansions by the wrong shell, on one node for all, or never."""

from __future__ import annotations

import re
from collections.abc import Iterator

from envcfg.backends.schedulers import PREFIXES
from envcfg.common.findings import Severity
from envcfg.job.plan.shell_text import SHELLS
from envcfg.lint.lint_rule import (
    Edit,
    Fault,
    ScriptJob,
    detects,
    known_values,
    known_words,
)
from envcfg.lint.program_starts import helpers
from envcfg.lint.resource_facts import asked_shape, most_nodes, step_nodes, step_shape
from envcfg.lint.script_model import Command, Expansion, texts
from envcfg.lint.traced_text import INSIDE, Hole, Text, Word, holes, shown, start
from envcfg.lint.value_flow import (
    RANKS,
    TESTS,
    Uses,
    asks_whether_set,
    command_with,
    is_agent,
    is_rank,
    options,
    uses,
)

_ROLES = re.compile(
    r"(?:LOCAL_|NODE_|GROUP_|GLOBAL_|WORLD_|MACHINE_)?RANK|(?:ROCR|HIP|CUDA)_VISIBLE_DEVICES|"
    r"MACHINE_RANK|NODE_ID|NODEID|LOCAL_ID|GPU_DEVICE_ORDINAL"
)
_SAYS = frozenset("echo printf logger cat".split())
_LITERAL_DOLLAR = re.compile(r"\$\{?([A-Z][A-Z0-9_]{2,})\b")
_QUOTED = re.compile(r"[\s'\"\\;|&<>()*?]|^$")  # needs quotes in a shell
_ORDER: tuple[Severity, ...] = ("note", "warning", "error")
_HOST = re.compile(r"^(?:/bin/|/usr/bin/)?(?:hostname|uname\s+-n)\b")
_MEETS = re.compile(
    r"ADDR|HOST|MASTER|HEAD|ENDPOINT|RDZV|COORD|SERVER|URL|IP$|NODE0|LEADER", re.I
)
# Options with the name of a process's node, or with a log file of that name.
_OF_NODES = re.compile(r"role|node-?name|local-addr|log-(?:dir|file|path)|run-name")


@detects("EC101")
def rank_in_batch(job: ScriptJob) -> Iterator[Fault]:
    """A rank's own variable, expanded once for all by the batch shell."""
    where, certain = uses(job.model), _certain(job)
    for expansion in job.model.expansions:
        if not is_rank(expansion.hole):
            continue
        # With a default or a test the script handles the missing rank.
        if expansion.is_known or expansion.hole.op[:2] in (":-", "-", ":?", ":+", "+"):
            continue
        if any(expansion.name in c for c in expansion.context.conditions):
            continue
        if expansion.context.function == "trap":
            continue
        if expansion.name == "SLURM_NODEID" and job.shape.nodes == 1:
            continue  # 0 is right for each task on one node
        fault = _worth(expansion, where, job, certain)
        if fault is not None:
            yield fault


def _worth(
    expansion: Expansion, where: Uses, job: ScriptJob, certain: Severity | None
) -> Fault | None:
    """Return the fault of a rank in the batch shell, by its worst use; None if it is right.

    Args:
        expansion: the rank's variable.
        where: uses of all expansions.
        job: the job.
        certain: severity of a wrong rank in this job; None: it is right.
    """
    severity = _worst_use(expansion, where, job)
    if severity == "error":
        severity = certain
    if severity is None:
        return None
    words = {"name": expansion.name}
    if severity == "error" and _is_lucky(expansion, where):
        return Fault(expansion.offset, words, "lucky")
    form = _file_form(expansion, job) if severity != "error" else ""
    if form == "output" or (form and severity == "note"):
        return Fault(expansion.offset, words, form)
    form, words["line"] = _repair(expansion, job)
    return Fault(expansion.offset, words, form, severity)


def _repair(expansion: Expansion, job: ScriptJob) -> tuple[str, str]:
    """Return the form of the hint, and a launch line in which tasks expand the rank."""
    model, command = job.model, command_with(job.model, expansion)
    step = command and (command if command.is_step else model.step_of(command))
    step = step or next((c for c in model.commands if c.is_step), None)
    program = next(iter(model.children(step)), None) if step else None
    if step is None or program is None:
        return "", ""
    own = [hole for word in program.words for hole in holes(word.text)]
    if program.name in SHELLS and expansion.offset in {hole.offset for hole in own}:
        return "quotes", ""
    shown_words = [word.shown for word in program.words]
    # Quotes are not shown, and a value of the batch shell may be unset in the task.
    is_plain = not any(_QUOTED.search(word) for word in shown_words)
    if program.name in SHELLS or not is_plain or not all(map(is_rank, own)):
        return "", ""
    begin = " ".join(word.shown for word in step.words[: -len(program.words)])
    exported = "".join(
        f"export {a.name}=${expansion.name}; "
        for a in model.assignments
        if expansion.offset in {hole.offset for hole in holes(a.text)}
    )
    return "own", f"{begin} bash -c '{exported}exec {' '.join(shown_words)}'"


def _file_form(expansion: Expansion, job: ScriptJob) -> str:
    """Return the form of the fault if a rank is in the name of a file that tasks write.

    A program of a task that writes it overwrites what the others write. What srun itself
    writes, or the batch shell for it, is one file with the output of all tasks.
    """
    forms = set()
    for command in job.model.commands:
        step = command if command.is_step else job.model.step_of(command)
        if step is None or step_shape(step, job.shape).tasks == 1:
            continue
        if any(hole.offset == expansion.offset for hole in _file_holes(command)):
            forms.add("step-output" if command is step else "output")
    return min(forms, default="")


def _file_holes(command: Command) -> Iterator[Hole]:
    """Yield the holes in the names of files that a command's options or arguments write."""
    yield from holes(command.output)
    if command.is_step:
        for name in ("output", "error"):
            if name in command.options:
                yield from holes(command.options[name].text)
        return
    before, outputs = "", known_words("EC101", "outputs")
    for name, value in command.options_in_order:
        if name in outputs:
            yield from holes(value.text)
    for word in command.arguments:
        option, equals, _ = word.shown.lstrip("-").partition("=")
        is_option = word.shown.startswith("-")
        # A value may follow "-o" in the same word. Other letters have no common meaning.
        is_glued = word.shown[:2] == "-o" and not equals
        if before in outputs or is_glued or (equals and _name(option) in outputs):
            yield from holes(word.text)
        before = _name(option) if is_option else ""


@detects("EC762")
def one_file_for_all(job: ScriptJob) -> Iterator[Fault]:
    """A file of one name that the program of each task writes from its beginning."""
    yield from _shared_folders(job)
    for command in job.model.commands:
        step, texts = job.model.step_of(command), list[Text]()
        if step is None or command.context.is_chosen:
            continue
        if command.name == "tee":
            texts = [word.text for word in command.arguments]
        elif command.name in known_words("EC762", "profilers"):
            outputs = known_words("EC762", "outputs")
            texts = [word.text for o, word in command.options_in_order if o in outputs]
        elif command.name not in helpers():
            texts = [command.output]
        shape = asked_shape(step, job.shape)
        for text in texts if shape.all_tasks > 1 else ():
            path, offset = shown(text), start(text)
            # EC101 reports ranks that the batch shell expands.
            is_own = any(h.scope != "batch" or is_rank(h) for h in holes(text))
            is_added = job.before(offset).rstrip("\"' ").endswith(">>")
            if re.match(r"(?!/dev/|-)[^%]+$", path) and not (is_own or is_added):
                words = {"name": command.name, "path": path}
                yield Fault(max(offset, command.offset), words)


def _shared_folders(job: ScriptJob) -> Iterator[Fault]:
    """Yield folders that programs of several tasks or nodes fill as if each were alone."""
    nodes, shared = most_nodes(job.model, job.shape), known_values("EC762", "shared")
    for command in job.model.commands:
        is_kept = {"container-name", "container-writable"} <= command.options.keys()
        if is_kept and (asked_shape(command, job.shape).per_node or 1) > 1:
            name = command.options["container-name"]
            yield Fault(name.offset, {"path": name.shown}, "container")
        is_meeting = nodes > 1 and command.name in shared["programs"]
        for option in options(command) if is_meeting else ():
            path = option.value.shown
            if option.name == "temp-dir" and re.match(shared["folders"], path):
                yield Fault(option.value.offset, {"path": path}, "ray")


def _name(option: str) -> str:
    return option.replace("_", "-")


def _worst_use(expansion: Expansion, where: Uses, job: ScriptJob) -> Severity | None:
    """Return the severity of the worst use of a rank; None: a test only asks if it is set.

    An option or variable that identifies a rank makes it certainly wrong. So does a test,
    because it selects one rank. In another variable or a path all ranks share a value that
    was meant for each, which is probably wrong. A printed value or a word of a step may be
    intended. Without a known use a surrounding test decides.
    """
    severities: list[Severity] = []
    options_at = where.options.get(expansion.offset, ())
    option_names = {
        # Messages with a rank are only text.
        option.name
        for option in options_at
        if option.command.name not in _SAYS
    }
    if option_names & known_words("EC101", "roles"):
        severities.append("error")
    severities += [
        "error" if _ROLES.fullmatch(assignment.name) else "warning"
        for assignment in where.values.get(expansion.offset, ())
    ]
    for command, word in where.words.get(expansion.offset, ()):
        if command.name in TESTS:
            if asks_whether_set(command):
                return None
            severities.append("error")
        elif command.name in _SAYS or command.is_step or command.name in SHELLS:
            severities.append("note")
        else:
            severities.append("warning" if "/" in word.shown else "note")
    if not severities and expansion.use != "document":
        numbered = job.model.commands[expansion.number : expansion.number + 1]
        return "error" if any(c.name in TESTS for c in numbered) else "note"
    return max(severities, key=_ORDER.index, default="note")


def _is_lucky(expansion: Expansion, where: Uses) -> bool:
    """Return whether the rank is a node number, which c10d ignores."""
    return any(
        second.name == "rdzv-backend" and second.value.literal == "c10d"
        for option in where.options.get(expansion.offset, ())
        if option.name in known_words("EC101", "roles")
        for second in options(option.command)
    )


def _certain(job: ScriptJob) -> Severity | None:
    """Return the severity of a wrong rank: in a job of one task it is right."""
    shape = job.shape
    # A single task has rank 0, and the batch shell's value is that one.
    alone = shape.nodes == 1 and (shape.per_node or 1) == 1
    option_names = {name for c in job.model.commands if c.is_step for name in c.options}
    if alone and not {"ntasks", "ntasks-per-node"} & option_names:
        return None
    many = most_nodes(job.model, shape) > 1 or (shape.per_node or shape.tasks or 1) > 1
    return "error" if many else "warning"


@detects("EC102")
def literal_dollar(job: ScriptJob) -> Iterator[Fault]:
    r"""``\$NAME`` that no shell is left to expand.

    In words of a launcher, or of Python inside a string, any name counts that the script,
    Slurm or a rank sets. In assignments of a task only Slurm's names count, because the
    start of a container expands its own variables again.
    """
    names = job.model.set_names
    for command in job.model.commands:
        if command.scope not in INSIDE:
            continue
        if any(word.literal == "-c" for word in command.words):
            continue  # its argument is a program in another language
        is_python = command.name.startswith("python") and command.unit
        # An unknown command may be a shell, such as a function of a sourced file. Some
        # helpers, such as awk, interpret a "$" themselves.
        if not (is_agent(command) or is_python):
            continue
        for word in command.words:
            for name, offset in _dollars(word):
                is_set = name.startswith(PREFIXES) or name in names
                if not (is_set or _ROLES.fullmatch(name)):
                    continue
                if job.before(offset).endswith("\\"):
                    words = {"name": name, "program": command.name}
                    yield Fault(offset - 1, words, edit=Edit(offset - 1, offset, ""))
    for assignment in job.model.assignments:
        in_task = assignment.scope in INSIDE and assignment.unit
        is_seen = assignment.command is not None or assignment.exported
        if not (in_task and is_seen) or assignment.how == "env":
            continue
        if assignment.name.startswith(("SINGULARITYENV_", "APPTAINERENV_")):
            continue
        for text in texts(assignment.value):
            for name, offset in _dollars(Word(text, assignment.value_at)):
                if name.startswith(PREFIXES) and job.before(offset).endswith("\\"):
                    yield Fault(offset - 1, {"name": name, "program": assignment.name})


def _dollars(word: Word) -> Iterator[tuple[str, int]]:
    for number, piece in enumerate(word.text):
        if piece.hole or piece.offset < 0:
            continue
        for match in _LITERAL_DOLLAR.finditer(piece.chars):
            yield match[1], piece.offset + match.start()
        # A dollar at the end of its piece continues in the next piece.
        if piece.chars == "$" and number + 1 < len(word.text):
            name = re.match(r"\{?([A-Z][A-Z0-9_]{2,})\b", word.text[number + 1].chars)
            if name:
                yield name[1], piece.offset


@detects("EC104")
def called_variable(job: ScriptJob) -> Iterator[Fault]:
    """``$(NAME)`` where ``${NAME}`` is meant."""
    from envcfg.knowledge.variables import find_variable

    names = job.model.set_names
    for command in job.model.commands:
        if not command.substitution or len(command.words) != 1:
            continue
        name = command.words[0].literal or ""
        # Lower-case commands in "$( )" are ordinary programs.
        if not re.fullmatch(r"[A-Z][A-Z0-9_]*", name) or name in job.model.functions:
            continue
        is_set = name in known_words("EC141", "always") or RANKS.fullmatch(name)
        if is_set or name in names or name.startswith(PREFIXES) or find_variable(name):
            offset, edit = command.offset, None
            if job.before(offset).endswith("("):
                edit = Edit(offset - 1, offset + len(name) + 1, f"{{{name}}}")
            yield Fault(offset - 2 if edit else offset, {"name": name}, edit=edit)


@detects("EC103")
def node_in_batch(job: ScriptJob) -> Iterator[Fault]:
    """The name of the first node, given to all nodes as their own."""
    if (job.shape.nodes or 0) < 2:
        return
    assigned = uses(job.model).values
    for hole in _in_tasks(job):
        # The first node's name is right in a variable for the rendezvous.
        meets = any(
            _MEETS.search(assignment.name)
            for assignment in assigned.get(hole.offset, ())
        )
        match = hole.name == "SLURMD_NODENAME" or _HOST.match(hole.text)
        if hole.scope == "batch" and match and not meets:
            yield Fault(hole.offset, {"name": hole.name or f"$({hole.text})"})


def _in_tasks(job: ScriptJob) -> Iterator[Hole]:
    """Yield node names that are the same for tasks on all nodes."""
    for assignment in job.model.assignments:
        if assignment.scope in INSIDE:
            for text in texts(assignment.value):
                yield from holes(text)
    for command in job.model.commands:
        if command.scope in INSIDE and not _is_one_node(command, job):
            yield from holes(command.output)
            for option in options(command):
                if _OF_NODES.fullmatch(option.name):
                    yield from holes(option.value.text)


def _is_one_node(command: Command, job: ScriptJob) -> bool:
    """Return whether the step that starts *command* may run on one node."""
    step = job.model.step_of(command)
    return step is not None and (step_nodes(step, job.shape) or 1) == 1
