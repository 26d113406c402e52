"""The commands of a script in its text: their places and words."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from envcfg.backends.schedulers import MARK_WORDS
from envcfg.job.plan.launch_line import begins_line
from envcfg.lint.grammar import parse, word_spans
from envcfg.lint.program_starts import load_programs
from envcfg.lint.redirection import layout_of

if TYPE_CHECKING:
    from tree_sitter import Node

_PLAIN = re.compile(r"[A-Za-z0-9_@%+=:,./-]+")
_DIRECTIVE = re.compile(rf"#!|#+[ \t]*(?:{MARK_WORDS}|envcfg:)")
_QUOTED = re.compile(r"'([^']*)'|\"([^\"$`\\]*)\"")
# Commands that print functions, or export them. They may be in texts for other shells.
_COPY = re.compile(
    r"\b(?:(?:declare|typeset|export)[ \t]+-[A-Za-z]*f[A-Za-z]*|type(?=[ \t]+[\w\"]))"
    r"((?:[ \t]+[\w\"'$@{}.:-]+)*)"
)
_COMMENT = re.compile(r"(?:^|(?<=\s))#.*", re.MULTILINE)
# The shell's own words before a command, which a function can follow as well.
PASSED = frozenset({"exec", "command", "time"})
# Programs that start the words after theirs, and do not change their meaning.
RUNNERS = frozenset(
    "timeout nice ionice nohup stdbuf env numactl taskset /usr/bin/time".split()
)


class ScriptCommand(NamedTuple):
    """A command of the script itself."""

    start: int  # offset of the command, with its own assignments
    end: int
    spans: tuple[tuple[int, int], ...]  # of each of its words
    # Each as bash reads it; None if it is expanded, or quoted in parts.
    words: tuple[str | None, ...]
    # Number of the word that begins a launch line; None: there is none.
    first: int | None

    @property
    def is_run(self) -> bool:
        """Whether another program starts the launch line and so cannot call functions."""
        return any(word in RUNNERS for word in self.before)

    @property
    def before(self) -> tuple[str | None, ...]:
        """The words before the launch line."""
        return self.words[: self.first or 0]


class Text(NamedTuple):
    """The text of a script."""

    commands: tuple[ScriptCommand, ...]
    functions: frozenset[str]  # names of its functions and aliases
    body: int  # offset of the first command, and of the comments right above it
    # Offsets of here-documents without the line that ends them.
    unclear: tuple[int, ...] = ()
    # Offsets of the functions that it gives to other shells, by name.
    copied: tuple[tuple[str, int, int], ...] = ()


def read_text(chars: str) -> Text:
    """Return the commands of a script; one character is one byte."""
    root = parse(chars)
    commands, functions, bodies = [], set(), []
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if node.type == "command":
            commands.append(_written(node, chars))
        elif node.type == "function_definition":
            functions.add(_name_of(node, chars))
            bodies.append((_name_of(node, chars), node.start_byte, node.end_byte))
        waiting += node.children
    for command in commands:
        if command.words[:1] == ("alias",):
            functions |= {(word or "").partition("=")[0] for word in command.words[1:]}
    documents = layout_of(chars).documents()
    unclear = tuple(
        offset for offset, redirection in documents if not redirection.is_ended
    )
    copies = _COPY.findall(_COMMENT.sub("", chars))
    copied = tuple(body for body in bodies if any(_has(c, body[0]) for c in copies))
    return Text(tuple(commands), frozenset(functions), _body(chars), unclear, copied)


def innermost(commands: tuple[ScriptCommand, ...], offset: int) -> ScriptCommand | None:
    """Return the innermost command that contains the offset."""
    around = (command for command in commands if command.start <= offset < command.end)
    return min(around, key=lambda written: written.end - written.start, default=None)


def _has(words: str, function: str) -> bool:
    """Return whether a command with these *words* may print or export *function*."""
    names = re.findall(r"[^\s\"']+", words)
    return not names or function in names or "$" in words


def _written(node: Node, chars: str) -> ScriptCommand:
    parts = [child for child in node.children if child.type != "variable_assignment"]
    spans = tuple(word_spans(parts, chars))
    words = tuple(_literal(chars[start:end]) for start, end in spans)
    return ScriptCommand(node.start_byte, node.end_byte, spans, words, _first(words))


def _first(words: tuple[str | None, ...]) -> int | None:
    """Return the index of the word that begins a launch line, after other programs."""
    for number, word in enumerate(words):
        if word and begins_line(word):
            return number
        name = os.path.basename(word or "")
        # An unknown program may change the meaning of the words after it.
        if number == 0 and name and name not in PASSED and name not in load_programs():
            return None
    return None


def _literal(text: str) -> str | None:
    if _PLAIN.fullmatch(text):
        return text
    match = _QUOTED.fullmatch(text)
    return None if match is None else match[1] or match[2] or ""


def _name_of(node: Node, chars: str) -> str:
    name = node.child_by_field_name("name")
    return chars[name.start_byte : name.end_byte] if name else ""


def _body(chars: str) -> int:
    """Return the offset of the first command, with the comments that belong to it."""
    position = body = 0
    for line in iter_lines(chars):
        word = line.strip(" \t\n")
        if word and not word.startswith("#"):
            return body
        position += len(line)
        if not word or _DIRECTIVE.match(word):
            body = position
    return position


def iter_lines(chars: str) -> Iterator[str]:
    """Yield lines as bash reads them: other control characters end no line."""
    return (line[0] for line in re.finditer(r"[^\n]*\n|[^\n]+", chars))
