"""Programs that start another: what they are told, what they start, and in which scope."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

from envcfg.datafile import knowledge_path, load_kept
from envcfg.lint.text import Scope, Text, Word, start

SHELLS = frozenset({"bash", "sh", "zsh", "dash", "ksh"})
_IMAGE = re.compile(r"\.(?:sif|img|simg|sqsh|squashfs)$|://|^[\w./-]+:[\w.-]+$|^\d")
_LINES = knowledge_path("launch_lines.yaml")
_FILES = [
    os.path.join(os.path.dirname(__file__), f"{name}.yaml")
    for name in ("words", "agents", "programs")
]
_ASSIGNS = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")


class Program(NamedTuple):
    """One entry of ``programs.yaml``."""

    kind: str = ""
    scope: Scope | None = None
    verbs: tuple[str, ...] = ()
    operands: int = 0
    short: Mapping[str, str] = {}
    values: frozenset[str] = frozenset()
    same: Mapping[str, str] = {}
    assigns: bool = False
    behind: str = ""
    containers: tuple[str, ...] = ()
    prefix: str = ""
    single_dash: bool = False
    shell: bool = False


class Start(NamedTuple):
    """What a program is told, and what it starts.

    Attributes:
        options: by long name, without dashes; the word is the value, or the option itself.
        assigned: words ``NAME=value`` before the command.
        rest: the command that is started.
        scope: in which it runs; None: as before.
        shell: a shell there reads the words once more.
        is_open: some of the words are not known, options or the beginning of the command.
    """

    options: Mapping[str, Word]
    assigned: tuple[Word, ...]
    rest: tuple[Word, ...]
    scope: Scope | None
    shell: bool = False
    is_open: bool = False


class Agent(NamedTuple):
    """One entry of ``agents.yaml``: a program that starts processes of its own."""

    modules: tuple[str, ...] = ()
    verb: str = ""
    each_gpu: bool = False
    own_hosts: bool = False
    counts_all: bool = False


@cache
def _tables() -> Sequence[Mapping[str, Any]]:
    """Return what ``words``, ``agents``, ``programs`` and the lines of launchers say."""
    return load_kept("programs", [*_FILES, _LINES])


def load_words() -> Mapping[str, Any]:
    """Return what ``words.yaml`` says."""
    return _tables()[0]


@cache
def load_agents() -> Mapping[str, Agent]:
    """Return every such program by its name."""
    return {name: Agent(**entry) for name, entry in _tables()[1].items()}


def find_agent(name: str, arguments: Sequence[str]) -> Agent | None:
    """Return the agent that a command is, by its own name or as a module of Python."""
    agents = load_agents()
    if agent := agents.get(name):
        return agent if not agent.verb or agent.verb in arguments[:2] else None
    if name.startswith("python") and "-m" in arguments:
        module = arguments[arguments.index("-m") + 1 :][:1]
        found = (each for each in agents.values() if {*module} & {*each.modules})
        return next(found, None)
    return None


@cache
def load_programs() -> Mapping[str, Program]:
    """Return every program that is known to start others, by its name."""
    return {name: _program(entry) for name, entry in _tables()[2].items()}


def _program(entry: Mapping[str, Any]) -> Program:
    fields = {k: v for k, v in entry.items() if k not in ("source", "date", "line")}
    fields["values"] = frozenset(fields.get("values", "").split())
    if line := entry.get("line"):
        known = _tables()[3][line]
        fields["values"] |= {*known["values"].split()}
        letters = known["short"].items()
        fields["short"] = {a: name for a, name in letters if name in fields["values"]}
    for key in ("verbs", "containers"):
        fields[key] = tuple(fields.get(key, ()))
    return Program(**fields)


def unwrap(name: str, words: Sequence[Word]) -> Start | None:
    """Return what *name* starts with *words*, its own name not among them."""
    program = load_programs().get(name)
    if program is None:
        return None
    words = list(words)
    if program.verbs:
        at = next((i for i, w in enumerate(words) if w.literal in program.verbs), None)
        before = words[: at or 0]
        if at is None or any(w.shown[:1] != "-" and not w.is_loose for w in before):
            return None
        words = words[at + 1 :]
    options, rest, is_open = _options(program, words, program.operands)
    assigned: list[Word] = []
    while program.assigns and rest and _ASSIGNS.match(rest[0].shown):
        assigned.append(rest.pop(0))
    scope = program.scope
    entered = [options[each].shown for each in program.containers if each in options]
    if entered and entered != ["none"]:
        scope = "container"
    if "launch-line" in options:
        scope = None
    return Start(options, tuple(assigned), tuple(rest), scope, program.shell, is_open)


def _options(
    program: Program, words: list[Word], operands: int
) -> tuple[dict[str, Word], list[Word], bool]:
    options: dict[str, Word] = {}
    vague: list[Word] = []  # options, or an image, or nothing
    at = 0
    while at < len(words):
        word = words[at]
        said = word.shown
        if word.is_loose and word.text[0].hole and not _names_program(word):
            vague.append(word)
            at += 1
        elif said == "--":
            at += 1
            break
        elif program.behind and said[:1] != "-":
            at += 1
        elif said.startswith("-") and len(said) > 1 and not word.text[0].hole:
            at = _option(program, words, at, options)
        elif operands and not (vague and not _is_image(word)):
            options.setdefault("image", word)
            operands -= 1
            at += 1
        else:
            break
    if operands and vague:
        options.setdefault("image", vague.pop())
    return options, words[at:], bool(vague)


def _is_image(word: Word) -> bool:
    """Return whether a word looks like an image rather than like a command."""
    said = word.literal
    return said is None or bool(_IMAGE.search(said))


def _names_program(word: Word) -> bool:
    """Return whether a word that is not known goes on as a path (``$DIR/run.sh``)."""
    return len(word.text) > 1 and word.text[-1].chars.startswith("/")


def _option(
    program: Program, words: list[Word], at: int, options: dict[str, Word]
) -> int:
    word = words[at]
    said = word.shown
    long = said.startswith("--") or program.single_dash
    if long and said.lstrip("-").partition("=")[0] not in program.short:
        name = said.lstrip("-").partition("=")[0]
        name = program.same.get(name, name)
        takes, skip = name in program.values, said.find("=") + 1
    else:
        takes, name = said[1:2] in program.short, said[1:2]
        name = program.short.get(name, name)
        skip = (3 if said[2] == "=" else 2) if takes and len(said) > 2 else 0
    if skip:
        options[name] = split_at(word, skip)
        return at + 1
    takes = takes and at + 1 < len(words)
    options[name] = words[at + 1] if takes else word
    return at + (2 if takes else 1)


def split_at(word: Word, index: int) -> Word:
    """Return what stands behind the first *index* characters, none of them a hole."""
    text: Text = ()
    for piece in word.text:
        text += (piece,) if piece.hole else piece.cut(index)
        index = 0 if piece.hole else max(index - len(piece.chars), 0)
    where = start(text)
    return Word(text, where if where >= 0 else word.at, word.quoted)
