"""Scope and quoting: what is expanded by the wrong shell, on one node for all, or never."""

from __future__ import annotations

import re
from collections.abc import Iterator

from envcfg.findings import Severity
from envcfg.lint.facts import most_nodes
from envcfg.lint.flow import TESTS, Uses, asks_whether_set, is_agent, options, uses
from envcfg.lint.model import Command, Expansion, texts
from envcfg.lint.program import SHELLS
from envcfg.lint.rule import Edit, Fault, Job, detects, known_words
from envcfg.lint.text import Hole, Word, holes

_RANKS = re.compile(
    r"SLURM_(?:PROCID|LOCALID|NODEID|TASK_PID)|PMIX?_(?:LOCAL_)?RANK|MPI_LOCALRANKID|"
    r"OMPI_COMM_WORLD_(?:NODE_|LOCAL_)?RANK|FLUX_TASK_(?:RANK|LOCAL_ID)"
)
_ROLES = re.compile(
    r"(?:LOCAL_|NODE_|GROUP_|GLOBAL_|WORLD_|MACHINE_)?RANK|(?:ROCR|HIP|CUDA)_VISIBLE_DEVICES|"
    r"MACHINE_RANK|NODE_ID|NODEID|LOCAL_ID|GPU_DEVICE_ORDINAL"
)
_SAYS = frozenset({"echo", "printf", "logger", "cat"})
_LITERAL_DOLLAR = re.compile(r"\$\{?([A-Z][A-Z0-9_]{2,})\b")
_ORDER: tuple[Severity, ...] = ("note", "warning", "error")
_HOST = re.compile(r"^(?:/bin/|/usr/bin/)?hostname\b")
_MEETS = re.compile(
    r"ADDR|HOST|MASTER|HEAD|ENDPOINT|RDZV|COORD|SERVER|URL|IP$|NODE0|LEADER", re.I
)
# Options by which a process says on which node it is, or writes to a file of that name.
_OF_NODES = re.compile(r"role|node-?name|local-addr|log-(?:dir|file|path)|run-name")


@detects("EC101")
def rank_in_batch(job: Job) -> Iterator[Fault]:
    """A rank's own variable, expanded once for all by the batch shell."""
    if job.model.scope != "batch":
        return
    where, certain = uses(job.model), _certain(job)
    for each in job.model.expansions:
        if each.hole.scope != "batch" or not _RANKS.fullmatch(each.name):
            continue
        if each.is_known or each.hole.op[:2] in (":-", "-", ":?", ":+", "+"):
            continue
        if any(each.name in c for c in each.context.conditions):
            continue
        if each.context.function == "trap":
            continue
        if each.name == "SLURM_NODEID" and job.shape.nodes == 1:
            continue  # 0, as it is for each task
        found = _worth(each, where, job, certain)
        if found is not None:
            yield found


def _worth(
    each: Expansion, where: Uses, job: Job, certain: Severity | None
) -> Fault | None:
    """Return the fault that a rank of the batch shell is, by the worst that is made of it.

    Args:
        certain: what a wrong rank is worth in this job; None: it is right.
    """
    severity = _worst_use(each, where, job)
    if severity == "error":
        severity = certain
    if severity is None:
        return None
    words = {"name": each.name}
    if severity == "error" and _is_lucky(each, where):
        return Fault(each.at, words, "lucky")
    return Fault(each.at, words, severity=severity)


def _worst_use(each: Expansion, where: Uses, job: Job) -> Severity | None:
    """Return how bad the worst use of a rank is; None: it is only asked whether it is set.

    An option or a variable that says who a rank is makes it wrong without a doubt. So does
    a test, as one rank is chosen there. In any other variable, or in a path, all ranks
    share what each was to have, which is likely wrong. What is printed, or is a word of a
    step, may be meant so. Where no use is known, a test around it decides.
    """
    found: list[Severity] = []
    given = where.options.get(each.at, ())
    told = {option.name for option in given if option.command.name not in _SAYS}
    if told & known_words("EC101", "roles"):
        found.append("error")
    found += [
        "error" if _ROLES.fullmatch(assignment.name) else "warning"
        for assignment in where.values.get(each.at, ())
    ]
    for command, word in where.words.get(each.at, ()):
        if command.name in TESTS:
            if asks_whether_set(command):
                return None
            found.append("error")
        elif command.name in _SAYS or command.is_step or command.name in SHELLS:
            found.append("note")
        else:
            found.append("warning" if "/" in word.shown else "note")
    if not found and each.use != "document":
        numbered = job.model.commands[each.number : each.number + 1]
        return "error" if any(c.name in TESTS for c in numbered) else "note"
    return max(found, key=_ORDER.index, default="note")


def _is_lucky(each: Expansion, where: Uses) -> bool:
    """Return whether it is the number of a node, which c10d does not read."""
    return any(
        other.name == "rdzv-backend" and other.value.literal == "c10d"
        for option in where.options.get(each.at, ())
        if option.name in known_words("EC101", "roles")
        for other in options(option.command)
    )


def _certain(job: Job) -> Severity | None:
    """Return what a wrong rank is worth: in a job of one task it is right."""
    shape = job.shape
    alone = shape.nodes == 1 and (shape.per_node or 1) == 1
    told = {name for c in job.model.commands if c.is_step for name in c.options}
    if alone and not {"ntasks", "ntasks-per-node"} & told:
        return None
    many = most_nodes(job.model, shape) > 1 or (shape.per_node or shape.tasks or 1) > 1
    return "error" if many else "warning"


@detects("EC102")
def literal_dollar(job: Job) -> Iterator[Fault]:
    r"""``\$NAME`` that no shell is left to expand.

    In the words of a launcher, or of Python within a string, it is any name that the script
    or Slurm sets, or that is a rank's. In what a task assigns it is one of Slurm's alone:
    the start of a container reads its own variables once more.
    """
    known = job.model.set_names()
    for command in job.model.commands:
        if command.scope not in ("task", "container"):
            continue
        if any(each.literal == "-c" for each in command.words):
            continue  # a program of its own, in a language of its own
        is_python = command.name.startswith("python") and command.unit
        # What nobody knows may be a shell, as a function of a sourced file often is; and
        # some helpers, such as awk, read a $ themselves.
        if not (is_agent(command) or is_python):
            continue
        for word in command.words:
            for name, at in _dollars(word):
                is_set = name.startswith("SLURM_") or name in known
                if not (is_set or _ROLES.fullmatch(name)):
                    continue
                if job.before(at).endswith("\\"):
                    words = {"name": name, "program": command.name}
                    yield Fault(at - 1, words, edit=Edit(at - 1, at, ""))
    for each in job.model.assignments:
        in_task = each.scope in ("task", "container") and each.unit
        is_seen = each.command is not None or each.exported
        if not (in_task and is_seen) or each.how == "env":
            continue
        if each.name.startswith(("SINGULARITYENV_", "APPTAINERENV_")):
            continue
        for text in texts(each.value):
            for name, at in _dollars(Word(text, each.value_at)):
                if name.startswith("SLURM_") and job.before(at).endswith("\\"):
                    yield Fault(at - 1, {"name": name, "program": each.name})


def _dollars(word: Word) -> Iterator[tuple[str, int]]:
    for number, piece in enumerate(word.text):
        if piece.hole or piece.at < 0:
            continue
        for found in _LITERAL_DOLLAR.finditer(piece.chars):
            yield found[1], piece.at + found.start()
        # A dollar that ends its piece goes on in the next.
        if piece.chars == "$" and number + 1 < len(word.text):
            name = re.match(r"\{?([A-Z][A-Z0-9_]{2,})\b", word.text[number + 1].chars)
            if name:
                yield name[1], piece.at


@detects("EC104")
def called_variable(job: Job) -> Iterator[Fault]:
    """``$(NAME)`` where ``${NAME}`` is meant."""
    from envcfg.knowledge.variables import find_variable

    names = job.model.set_names()
    for command in job.model.commands:
        if not command.substitution or len(command.words) != 1:
            continue
        name = command.words[0].literal or ""
        if not re.fullmatch(r"[A-Z][A-Z0-9_]*", name) or name in job.model.functions:
            continue
        if name in names or name.startswith("SLURM_") or find_variable(name):
            at, edit = command.at, None
            if job.before(at).endswith("("):
                edit = Edit(at - 1, at + len(name) + 1, f"{{{name}}}")
            yield Fault(at - 2 if edit else at, {"name": name}, edit=edit)


@detects("EC103")
def node_in_batch(job: Job) -> Iterator[Fault]:
    """The name of the first node, given to all of them as their own."""
    if job.model.scope != "batch" or (job.shape.nodes or 0) < 2:
        return
    assigned = uses(job.model).values
    for hole in _in_tasks(job):
        meets = any(_MEETS.search(each.name) for each in assigned.get(hole.at, ()))
        named = hole.name == "SLURMD_NODENAME" or _HOST.match(hole.text)
        if hole.scope == "batch" and named and not meets:
            yield Fault(hole.at, {"name": hole.name or f"$({hole.text})"})


def _in_tasks(job: Job) -> Iterator[Hole]:
    """Yield what tasks of all nodes take for the name of their own."""
    for each in job.model.assignments:
        if each.scope in ("task", "container"):
            for text in texts(each.value):
                yield from holes(text)
    for command in job.model.commands:
        if command.scope in ("task", "container") and not _is_one_node(command, job):
            yield from holes(command.output)
            for option in options(command):
                if _OF_NODES.fullmatch(option.name):
                    yield from holes(option.value.text)


def _is_one_node(command: Command, job: Job) -> bool:
    """Return whether the step that starts *command* is told on how many nodes, or which."""
    step = job.model.step_of(command)
    return step is not None and not {"nodes", "nodelist"}.isdisjoint(step.options)
