"""The commands of a script as they are written: where each stands, and its words."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from envcfg.launch.line import begins_line
from envcfg.lint.grammar import parse, word_spans
from envcfg.lint.program import load_programs

if TYPE_CHECKING:
    from tree_sitter import Node

_PLAIN = re.compile(r"[A-Za-z0-9_@%+=:,./-]+")
_DIRECTIVE = re.compile(r"#!|#+[ \t]*(?:SBATCH|PBS|flux:|BSUB|envcfg:)")
_QUOTED = re.compile(r"'([^']*)'|\"([^\"$`\\]*)\"")
# What stands before the words of a command, or among them, and is none of them.
_NO_WORDS = frozenset(
    "variable_assignment file_redirect herestring_redirect heredoc_redirect".split()
)
# The shell's own words before a command, which a function can follow as well.
PASSED = frozenset({"exec", "command", "time"})
# Programs that start the words behind theirs, and change nothing that these say.
RUNNERS = frozenset("timeout nice ionice nohup stdbuf env".split())


class Written(NamedTuple):
    """A command of the script itself.

    Attributes:
        start, end: offsets of the command, with what is set for it alone.
        spans: of each of its words.
        words: each as bash takes it; None where it is expanded, or quoted in parts.
        first: the number of the word by which a launch line begins; None: it is none.
    """

    start: int
    end: int
    spans: tuple[tuple[int, int], ...]
    words: tuple[str | None, ...]
    first: int | None

    @property
    def is_run(self) -> bool:
        """Whether a program before the launch line starts it, which knows no functions."""
        return any(word in RUNNERS for word in self.before)

    @property
    def before(self) -> tuple[str | None, ...]:
        """The words before the launch line."""
        return self.words[: self.first or 0]


class Text(NamedTuple):
    """A script as it is written.

    Attributes:
        commands: all that stand in it, in no string.
        functions: the names that it gives to functions and aliases.
        body: offset of the first command, and of the comments right above it.
        unclear: offsets of what bash may read otherwise than the grammar does.
    """

    commands: tuple[Written, ...]
    functions: frozenset[str]
    body: int
    unclear: tuple[int, ...] = ()


def read_text(chars: str) -> Text:
    """Return the commands of a script; one character is one byte."""
    root = parse(chars)
    commands, functions, unclear = [], set(), []
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if node.type == "command":
            commands.append(_written(node, chars))
        elif node.type == "function_definition":
            functions.add(_named(node, chars))
        elif node.type == "heredoc_redirect" and not _ends_as_bash_reads(node, chars):
            unclear.append(node.start_byte)
        waiting += node.children
    for each in commands:
        if each.words[:1] == ("alias",):
            functions |= {(word or "").partition("=")[0] for word in each.words[1:]}
    return Text(
        tuple(commands), frozenset(functions), _body(chars), tuple(sorted(unclear))
    )


def innermost(commands: tuple[Written, ...], at: int) -> Written | None:
    """Return the smallest command in which an offset is."""
    around = (each for each in commands if each.start <= at < each.end)
    return min(around, key=lambda each: each.end - each.start, default=None)


def _ends_as_bash_reads(document: Node, chars: str) -> bool:
    """Tell whether a here-document ends where bash ends it: at a line that is its word.

    The grammar also takes a line with blanks behind the word for the end.
    """
    parts = {each.type: each for each in document.children}
    first, last = parts.get("heredoc_start"), parts.get("heredoc_end")
    if first is None or last is None or last.is_missing:
        return False
    word = re.sub(r"['\"\\]", "", chars[first.start_byte : first.end_byte])
    line = chars[chars.rfind("\n", 0, last.start_byte) + 1 :].partition("\n")[0]
    is_indented = chars.startswith("<<-", document.start_byte)
    return word == (line.lstrip("\t") if is_indented else line)


def _written(node: Node, chars: str) -> Written:
    parts = [each for each in node.children if each.type not in _NO_WORDS]
    spans = tuple(word_spans(parts, chars))
    words = tuple(_literal(chars[start:end]) for start, end in spans)
    return Written(node.start_byte, node.end_byte, spans, words, _first(words))


def _first(words: tuple[str | None, ...]) -> int | None:
    """Return where a launch line begins, before which other programs may stand."""
    for number, word in enumerate(words):
        if word and begins_line(word):
            return number
        name = os.path.basename(word or "")
        if number == 0 and name and name not in PASSED and name not in load_programs():
            return None
    return None


def _literal(text: str) -> str | None:
    if _PLAIN.fullmatch(text):
        return text
    found = _QUOTED.fullmatch(text)
    return None if found is None else found[1] or found[2] or ""


def _named(node: Node, chars: str) -> str:
    name = node.child_by_field_name("name")
    return chars[name.start_byte : name.end_byte] if name else ""


def _body(chars: str) -> int:
    """Return where the first command begins, with the comments that belong to it."""
    at = body = 0
    for line in iter_lines(chars):
        said = line.strip(" \t\n")
        if said and not said.startswith("#"):
            return body
        at += len(line)
        if not said or _DIRECTIVE.match(said):
            body = at
    return at


def iter_lines(chars: str) -> Iterator[str]:
    """Yield lines as bash has them: a byte of a letter, as in Å, ends none."""
    return (line[0] for line in re.finditer(r"[^\n]*\n|[^\n]+", chars))
