"""Where a value goes: which variables and which arguments a ``$`` ends in."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from envcfg.lint.model import Assignment, Command, Expansion, Model, text_of, texts
from envcfg.lint.program import Agent, find_agent, load_agents, split_at
from envcfg.lint.text import Word, holes, literal

if TYPE_CHECKING:
    from envcfg.lint.rule import Job

_PORTS = re.compile(r"(?:MASTER|RDZV|MAIN_PROCESS|RENDEZVOUS|RAY|DIST|HEAD)_?PORT")

TESTS = frozenset({"[", "[[", "((", "test"})
# Options by which a step may run on a part of the job's nodes.
STEP_SIZES = frozenset({"nodes", "nodelist", "ntasks"})
_PREFIX = re.compile(r"^(?:SINGULARITY|APPTAINER)ENV_")
_SERVER = re.compile(
    r"(?i)^(?:ray|redis|dask|mlflow|vllm)\b|serve|head|master|schedul|control"
)


class Option(NamedTuple):
    """An option of a command: its name with dashes, and its value."""

    name: str
    value: Word
    command: Command


class Uses(NamedTuple):
    """All places in which holes end, by the offset of their ``$``."""

    values: dict[int, list[Assignment]]
    words: dict[int, list[tuple[Command, Word]]]
    options: dict[int, list[Option]]


@lru_cache(maxsize=1024)
def inner_name(name: str) -> str:
    """Return the name that a variable has inside a container, without its prefix."""
    return _PREFIX.sub("", name)


@lru_cache(maxsize=4)
def inner_names(model: Model) -> set[str]:
    """Return the variables that are set anywhere, without prefixes of containers."""
    return {inner_name(name) for name in model.set_names()}


def values_of(job: Job, name: str) -> list[tuple[Assignment, str | None]]:
    """Return what a variable is set to, in any scope and with any prefix of a container."""
    return [
        (each, literal(text_of(each.value)))
        for each in job.model.assignments
        if inner_name(each.name) == name and each.value is not None
    ]


@lru_cache(maxsize=4)
def uses(model: Model) -> Uses:
    """Return where every hole of *model* ends; it is looked for once."""
    found = Uses({}, {}, {})
    for assignment in model.assignments:
        for text in texts(assignment.value):
            for hole in holes(text):
                found.values.setdefault(hole.at, []).append(assignment)
    for command in model.commands:
        for word in command.words:
            for hole in holes(word.text):
                found.words.setdefault(hole.at, []).append((command, word))
        for option in options(command):
            for hole in holes(option.value.text):
                found.options.setdefault(hole.at, []).append(option)
    return found


def options(command: Command) -> Iterator[Option]:
    """Yield the long options of a command with what stands behind each."""
    words = command.words
    for number, word in enumerate(words):
        if not word.text or word.text[0].chars[:1] != "-":
            continue
        said = word.shown
        if not said.startswith("--") or len(said) < 3:
            continue
        name, equals, _ = said[2:].partition("=")
        name = name.replace("_", "-")
        if equals:
            yield Option(name, split_at(word, said.index("=") + 1), command)
        elif number + 1 < len(words):
            yield Option(name, words[number + 1], command)


def agent_of(command: Command) -> Agent | None:
    """Return the record of what starts processes of its own, as torchrun does."""
    # Asked of every command by many rules: most are none by their names alone.
    if command.name not in load_agents() and not (
        command.name.startswith("python")
        and any(each.literal == "-m" for each in command.words)
    ):
        return None
    return find_agent(command.name, [each.shown for each in command.arguments])


def is_agent(command: Command) -> bool:
    """Return whether a command starts processes of its own."""
    return agent_of(command) is not None


def is_server(step: Command, job: Job) -> bool:
    """Return whether a step in the background is what others then ask for something."""
    if not step.is_step or not step.context.background:
        return False
    said = [each.shown for each in step.words]
    for each in job.model.children(step):
        said += [word.shown for word in each.words]
    return any(map(_SERVER.search, said))


def image_names(job: Job) -> list[str]:
    """Return the file names of the images that are started, as far as they are known."""
    said = [
        each.options[name].shown
        for each in job.model.commands
        for name in ("image", "container-image")
        if name in each.options and (each.is_image or each.is_step)
    ]
    names = [
        os.path.basename(each) for each in said if "$" not in os.path.basename(each)
    ]
    return list(dict.fromkeys(names))


def program_name(command: Command) -> str:
    """Return what a launcher is called in a message."""
    return "the launcher" if command.name.startswith("python") else command.name


def is_port_name(name: str) -> bool:
    """Return whether a variable of this name holds the port of a rendezvous."""
    return bool(_PORTS.fullmatch(name))


def command_with(commands: list[Command], each: Expansion) -> Command | None:
    """Return the command in whose words the arguments stand."""
    if each.is_known:
        return commands[each.number]
    for command in commands[each.number : each.number + 3]:
        for word in command.words:
            if any(hole.at == each.at for hole in holes(word.text)):
                return command
    return None


def asks_whether_set(command: Command) -> bool:
    """Return whether a test asks only whether a variable is set, or empty."""
    return any(each.shown in ("-z", "-n", "-v") for each in command.words)


def is_alone(command: Command) -> bool:
    """Return whether a launcher is told to ask no other node."""
    return any(each.literal == "--standalone" for each in command.words)
