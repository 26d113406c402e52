"""The destinations of a value: the variables and arguments in which a ``$`` ends."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from envcfg.job.plan.command_launcher import first_words, launcher_of
from envcfg.job.plan.shell_text import SHELLS
from envcfg.lint.program_starts import split_at
from envcfg.lint.script_model import (
    Assignment,
    Command,
    Expansion,
    Model,
    texts,
)
from envcfg.lint.traced_text import Hole, Word, holes

if TYPE_CHECKING:
    from envcfg.lint.lint_rule import ScriptJob

_PORTS = re.compile(r"(?:MASTER|RDZV|MAIN_PROCESS|RENDEZVOUS|RAY|DIST|HEAD)_?PORT")

RANKS = re.compile(
    r"SLURM_(?:PROCID|LOCALID|NODEID|TASK_PID)|PMIX?_(?:LOCAL_)?RANK|MPI_LOCALRANKID|"
    r"OMPI_COMM_WORLD_(?:NODE_|LOCAL_)?RANK|FLUX_TASK_(?:RANK|LOCAL_ID)"
)
TESTS = frozenset("[ [[ (( test".split())
_PREFIX = re.compile(r"^(?:SINGULARITY|APPTAINER)ENV_")
_SERVER = re.compile(
    r"(?i)^(?:ray|redis|dask|mlflow|vllm|tensorboard|jupyter)\b|serve|head|master|schedul|control"
)


class CommandOption(NamedTuple):
    """An option of a command: its name with dashes, and its value."""

    name: str
    value: Word
    command: Command


class Uses(NamedTuple):
    """The places in which holes end, by the offset of their ``$``."""

    values: dict[int, list[Assignment]]
    words: dict[int, list[tuple[Command, Word]]]
    options: dict[int, list[CommandOption]]


@lru_cache(maxsize=1024)
def inner_name(name: str) -> str:
    """Return the name that a variable has inside a container, without its prefix."""
    return _PREFIX.sub("", name)


@lru_cache(maxsize=4)
def inner_names(model: Model) -> set[str]:
    """Return the variables that are set anywhere, without prefixes of containers."""
    return {inner_name(name) for name in model.set_names}


def values_of(job: ScriptJob, name: str) -> list[tuple[Assignment, str | None]]:
    """Return the values of a variable, in any scope and with any prefix of a container."""
    return [
        (assignment, assignment.literal)
        for assignment in job.model.assignments
        if inner_name(assignment.name) == name and assignment.value is not None
    ]


def setting_of(command: Command, name: str, model: Model) -> Assignment | None:
    """Return the assignment of a value that a command's program gets; None: unknown."""
    variable = command.gives(name)
    if variable is None or not variable.exported or variable.origin < 0:
        return None
    setting = model.assignments[variable.origin]
    return None if setting.context.is_chosen else setting


def task_setting(step: Command, name: str, model: Model) -> Assignment | None:
    """Return the assignment of a value that the tasks of a step get; None: unknown."""
    below = [step]
    for command in below:  # it grows; what another step starts belongs to that step
        below += [child for child in model.children(command) if not child.is_step]
    return setting_of(below[-1], name, model)


@lru_cache(maxsize=4)
def uses(model: Model) -> Uses:
    """Return the place in which every hole of *model* ends; computed once."""
    uses_found = Uses({}, {}, {})
    for assignment in model.assignments:
        for text in texts(assignment.value):
            for hole in holes(text):
                uses_found.values.setdefault(hole.offset, []).append(assignment)
    for command in model.commands:
        for word in command.words:
            for hole in holes(word.text):
                uses_found.words.setdefault(hole.offset, []).append((command, word))
        for option in options(command):
            for hole in holes(option.value.text):
                uses_found.options.setdefault(hole.offset, []).append(option)
    return uses_found


def options(command: Command) -> Iterator[CommandOption]:
    """Yield the long options of a command, each with its value."""
    for word, following in zip(command.words, (*command.words[1:], None), strict=True):
        name, equals, _ = word.shown.partition("=")
        # A short option has no common meaning between launchers.
        if not name.startswith("--") or name == "--" or word.text[0].hole:
            continue
        if value := split_at(word, len(name) + 1) if equals else following:
            # Python's launchers accept both "_" and "-".
            yield CommandOption(name[2:].replace("_", "-"), value, command)


def agent_of(command: Command) -> Sequence[str] | None:
    """Return the properties of a program that starts processes, as torchrun does."""
    return (_row(command) or {}).get("agent")


def program_row(command: Command) -> Mapping[str, Any] | None:
    """Return the row of a program in the table of programs that keep their own start.

    Launchers that envcfg replaces, such as torchrun, are agents.
    """
    row = _row(command)
    return row if row and "launcher" not in row else None


def _row(command: Command) -> Mapping[str, Any] | None:
    # Many rules ask for every command, so the name alone decides most of them.
    if not command.name.startswith("python") and command.name not in _first_words():
        return None
    launcher = launcher_of([word.shown for word in command.words])
    return launcher[0] if launcher else None


@lru_cache(maxsize=1)
def _first_words() -> frozenset[str]:
    return frozenset(first_words())


def is_agent(command: Command) -> bool:
    """Return whether a command starts its own processes."""
    return agent_of(command) is not None


def is_server(step: Command, job: ScriptJob) -> bool:
    """Return whether a step in the background is a server for later steps."""
    return step.is_step and step.context.background and has_server_name(step, job)


def has_server_name(step: Command, job: ScriptJob) -> bool:
    """Return whether a command starts a program with the name of a server."""
    programs = list(_descendants(step, job.model)) or [step]
    # Options such as --master_addr or --num_heads are those of training programs.
    names = (name for program in programs for name in _program_names(program))
    return any(map(_SERVER.search, names))


def _descendants(command: Command, model: Model) -> Iterator[Command]:
    for child in model.children(command):
        # The text of a shell is followed, so that its commands are children.
        if child.name not in SHELLS or not model.children(child):
            yield child
        yield from _descendants(child, model)


def _program_names(command: Command) -> Iterator[str]:
    """Yield the name of a program, and of its script, module or subcommand."""
    yield command.name
    if is_agent(command):
        return  # it starts training, whatever the name of the script
    words = [word.shown for word in command.arguments]
    yield next((word for word in words if not word.startswith("-")), "")


def image_names(job: ScriptJob) -> list[str]:
    """Return the file names of the started images, if they are known."""
    words = [
        command.options[name].shown
        for command in job.model.commands
        for name in ("image", "container-image")
        if name in command.options and (command.is_image or command.is_step)
    ]
    names = [
        os.path.basename(name) for name in words if "$" not in os.path.basename(name)
    ]
    return list(dict.fromkeys(names))


def program_name(command: Command) -> str:
    """Return the name of a launcher for messages."""
    if not command.name.startswith("python"):
        return command.name
    words = [word.shown for word in command.words]
    match = launcher_of(words)
    has_module = match is not None and "launcher" not in match[0] and "-m" in words
    return words[words.index("-m") + 1] if has_module else "the launcher"


def is_port_name(name: str) -> bool:
    """Return whether a variable of this name holds the port of a rendezvous."""
    return bool(_PORTS.fullmatch(name))


def command_with(model: Model, expansion: Expansion) -> Command | None:
    """Return the command whose words contain *expansion*."""
    if expansion.is_known:
        # A spoilt statement may end before its command, which is then not recorded.
        return next(iter(model.commands[expansion.number : expansion.number + 1]), None)
    # The command is recorded after its words, so it is one of the next few.
    numbers = range(expansion.number, expansion.number + 3)
    users = uses(model).words.get(expansion.offset, ())
    return next((command for command, _ in users if command.number in numbers), None)


def is_rank(hole: Hole) -> bool:
    """Return whether the batch shell expands a rank's own variable, for all tasks."""
    return hole.scope == "batch" and bool(RANKS.fullmatch(hole.name))


def asks_whether_set(command: Command) -> bool:
    """Return whether a test asks only whether a variable is set, or empty."""
    signs = (word.shown for word in command.words if command.name in TESTS)
    return not {"-z", "-n", "-v"}.isdisjoint(signs)


def is_alone(command: Command) -> bool:
    """Return whether an option tells a launcher to contact no other node."""
    return any(word.literal == "--standalone" for word in command.words)
