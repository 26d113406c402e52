"""Programs that start another program: their options, the program, and its scope."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from envcfg.backends.programs import load_all
from envcfg.common.datafile import load_kept
from envcfg.common.getopt import OptionTable, getopt, read_table
from envcfg.job.plan.shell_text import find_operand
from envcfg.lint.traced_text import (
    Flat,
    Scope,
    Text,
    Told,
    Word,
    joined,
    plain,
    start,
)

if TYPE_CHECKING:
    from envcfg.lint.script_model import Command

# Images have a known ending, a registry, a tag, or the digits of an image id.
_IMAGE = re.compile(r"\.(?:sif|img|simg|sqsh|squashfs)$|://|^[\w./-]+:[\w.-]+$|^\d")
_ASSIGNS = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")
# An assignment in a list with commas; quotes may protect them.
_IN_LIST = re.compile(r"(?:^|,)([A-Za-z_]\w*=)('[^']*'|\"[^\"]*\"|[^,]*)")


class Program(NamedTuple):
    """One entry of ``programs.yaml``."""

    kind: str = ""
    scope: Scope | None = None
    verbs: tuple[str, ...] = ()
    operands: int = 0
    table: OptionTable = OptionTable({})
    sets: frozenset[str] = frozenset()
    lists: bool = False
    binds: frozenset[str] = frozenset()
    inherits: bool = False
    assigns: bool = False
    behind: str = ""
    containers: tuple[str, ...] = ()
    prefix: str = ""
    shell: bool = False


class StartedProgram(NamedTuple):
    """The options of a program, and the program that it starts."""

    options_in_order: Told  # by long name; the word is the value, or the option
    # Words `NAME=value` of its options and before the command.
    assigned: tuple[Word, ...]
    rest: tuple[Word, ...]  # the command that is started
    scope: Scope | None  # in which it runs; None: the scope of its starter
    shell: bool = False  # True if a shell parses the words again
    is_open: bool = False  # True if options or the begin of the command are unknown
    inherits: bool = False  # True if it is a container that inherits the environment


class ShellInput(NamedTuple):
    """The input of a shell: a text, or a file."""

    text: Text | None
    arguments: tuple[Word, ...] = ()
    file: Word | None = None


@cache
def _tables() -> Sequence[Mapping[str, Any]]:
    """Return the tables of ``words`` and ``programs``."""
    return load_kept("lint-programs", "lint/words.yaml", "lint/programs.yaml")


@cache
def helpers() -> frozenset[str]:
    """Return the names of programs that only inspect or clean up."""
    return frozenset(_tables()[0]["helpers"].split())


@cache
def load_programs() -> Mapping[str, Program]:
    """Return every program that starts others, by its name."""
    lines = {
        name: {"line": name, **sections["lint"]}
        for name, sections in load_all().items()
    }
    # Backends override general knowledge of programs.
    entries = {**_tables()[1], **lines}
    return {
        name: _program({**entries.get(entry.get("like"), {}), **entry})
        for name, entry in entries.items()
    }


def _program(entry: Mapping[str, Any]) -> Program:
    # Launch lines share their options with job scripts: one table serves both.
    line = load_all()[entry["line"]]["line"] if "line" in entry else {}
    both = {**line, **entry}
    for key in ("values", "sets"):
        both[key] = f"{line.get(key, '')} {entry.get(key, '')}"
    both["short"] = {**line.get("short", {}), **entry.get("short", {})}
    # Other keys document the entry, or belong to launch lines.
    fields = {key: both[key] for key in Program._fields if key in both}
    fields["binds"] = frozenset(entry.get("binds", "").split())
    fields["sets"] = frozenset((*line.get("exports", ()), *both["sets"].split()))
    for key in ("verbs", "containers"):
        fields[key] = tuple(entry.get(key, ()))
    return Program(**fields, table=read_table(both))


def shell_input(command: Command) -> ShellInput:
    """Return the input of a shell: the text or file in its words, else its document."""
    index, letters = find_operand([word.shown for word in command.words])
    rest = command.words[index:]
    if "c" in letters:
        return ShellInput(rest[0].text if rest else None, rest[2:])
    if "s" in letters or not rest:
        return ShellInput(command.document)
    return ShellInput(None, rest[1:], rest[0])


def unwrap(name: str, words: Sequence[Word]) -> StartedProgram | None:
    """Return the program that *name* starts with *words* (without its own name)."""
    program = load_programs().get(name)
    if program is None:
        return None
    words = list(words)
    if program.verbs:
        index = next(
            (i for i, w in enumerate(words) if w.literal in program.verbs), None
        )
        before = words[: index or 0]
        # A word before the verb that is not an option means another use of the program.
        if index is None or any(w.shown[:1] != "-" and not w.is_loose for w in before):
            return None
        words = words[index + 1 :]
    lines, rest, is_open, assigned = _options(program, words, program.operands)
    options = dict(lines)
    while program.assigns and rest and _ASSIGNS.match(rest[0].shown):
        assigned.append(rest.pop(0))
    scope = program.scope
    entered = [
        options[container].shown
        for container in program.containers
        if container in options
    ]
    # The container "none" switches containers off for this step.
    if entered and entered != ["none"]:
        scope = "container"
    # envcfg prints a launch line there and starts nothing itself.
    if "launch-line" in options:
        scope = None
    return StartedProgram(
        tuple(lines), tuple(assigned), tuple(rest), scope, program.shell, is_open,
        inherits=program.inherits and scope == "container",
    )  # fmt: skip


def _options(
    program: Program, words: list[Word], operands: int
) -> tuple[list[tuple[str, Word]], list[Word], bool, list[Word]]:
    lines: list[tuple[str, Word]] = []
    assigned: list[Word] = []
    vague: list[Word] = []  # options, or an image, or nothing
    images: list[Word] = []
    # The text of a hole is no option, whatever its source looks like.
    texts = ["" if w.text and w.text[0].hole else w.shown for w in words]
    end = len(words)
    for option in getopt(program.table, texts):
        word = words[option.begin]
        if option.name:
            value = split_at(word, option.cut) if option.cut else word
            if option.end > option.begin + 1:
                value = words[option.begin + 1]
            lines.append((option.name, value))
            if option.name in program.sets:
                # A third word is the value of a variable named by the second.
                third = words[option.begin + 2 : option.end]
                assigned += _settings(program, value, third)
        # An unknown word may expand to several options, or to nothing.
        elif word.is_loose and word.text[0].hole and not _names_program(word):
            vague.append(word)
        elif option.value == "--":
            end = option.end
            break
        # After unknown words only a word that looks like an image is one.
        elif operands and not (vague and not _is_image(word)):
            images.append(word)
            operands -= 1
        elif not program.behind:
            end = option.begin
            break
    # Without another operand the last unknown word must be the image.
    if operands and vague:
        images.append(vague.pop())
    lines += [("image", image) for image in images[:1]]
    return lines, words[end:], bool(vague), assigned


def _settings(program: Program, word: Word, values: Sequence[Word]) -> list[Word]:
    """Return the words ``NAME=value`` in an option that sets variables."""
    for value in values:
        word = word._replace(text=joined([word.text, plain("="), value.text]))
    if program.lists:
        return list(split_list(word))
    return [word] if _ASSIGNS.match(word.shown) else []


def split_list(word: Word) -> Iterator[Word]:
    """Yield the words ``NAME=value`` of a list with commas."""
    flat = Flat(word.text)
    for match in _IN_LIST.finditer(flat.chars):
        begin, end = match.span(2)
        if match[2][:1] in ("'", '"'):
            begin, end = begin + 1, end - 1
        text = joined([flat.cut(*match.span(1)), flat.cut(begin, end)])
        yield Word(text, start(text), word.quoted)


def _is_image(word: Word) -> bool:
    """Return whether a word looks like an image rather than like a command."""
    literal = word.literal
    return literal is None or bool(_IMAGE.search(literal))


def _names_program(word: Word) -> bool:
    """Return whether an unknown word continues as a path (``$DIR/run.sh``)."""
    return len(word.text) > 1 and word.text[-1].chars.startswith("/")


def split_at(word: Word, index: int) -> Word:
    """Return the rest of a word after *index* characters, which contain no hole."""
    text: Text = ()
    for piece in word.text:
        text += (piece,) if piece.hole else piece.cut(index)
        index = 0 if piece.hole else max(index - len(piece.chars), 0)
    where = start(text)
    return Word(text, where if where >= 0 else word.offset, word.quoted)
