"""Shell builtins, the files that they read, and assignments of variables."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from envcfg.common.characters import whole_number
from envcfg.lint.grammar import chars_of
from envcfg.lint.interpreter import Frame
from envcfg.lint.script_model import (
    OF_FUNCTIONS,
    Array,
    Assignment,
    Command,
    Opaque,
    Value,
)
from envcfg.lint.script_source import Source, read_beside
from envcfg.lint.shell_state import MANY, set_options
from envcfg.lint.traced_text import Text, Word, holes, literal, shown, spaced, unknown

if TYPE_CHECKING:
    from tree_sitter import Node

Builtin = Callable[[Frame, Sequence[Word]], None]
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_DEEPEST = 40
_ECHO_OPTIONS = re.compile("-[neE]+")
_ONE_FORMAT = re.compile(r"%[sb](?:\\n)?")


class Redirects(NamedTuple):
    """The input and output of a command."""

    document: Text | None = None  # the text of a here-document or here-string, or None
    output: Text = ()  # the file that it writes, if any
    file: Word | None = None  # the file that it reads, if any


def find_file(frame: Frame, word: Word) -> Source | None:
    """Return the file that *word* names: an argument of lint, or near the script."""
    text = literal(word.text)
    if text is None:
        last = word.text[-1]
        if last.hole or not last.chars.startswith("/"):
            return None
        text = last.chars[1:]  # below an unknown folder, usually that of the script
    if not text or "\0" in text:
        return None
    # A relative path may start at the folder of the file or of the submitted script.
    homes = (frame.folder, os.path.dirname(frame.model.path))
    paths = [os.path.normpath(os.path.join(home, text)) for home in homes]
    for source in frame.shared.sources.all:
        if os.path.normpath(source.path) in paths:
            return source
    # An absolute path does not exist here, but a file with its name may be given.
    if os.path.isabs(text):
        name = os.path.basename(text)
        same = [s for s in frame.shared.sources.all if os.path.basename(s.path) == name]
        return same[0] if len(same) == 1 else None
    # A script from stdin has no folder to look in.
    if frame.model.path == "-":
        return None
    for path in paths:
        # Files above the current folder are not part of the script.
        if not path.startswith("..") and (data := read_beside(path)) is not None:
            return frame.shared.sources.add(path, data)
    return None


def note_written(words: Sequence[Word], redirects: Redirects, frame: Frame) -> None:
    """Store a here-document that becomes a file, which a later command may start."""
    name = os.path.basename(words[0].literal or "")
    target = redirects.output
    if name == "tee" and len(words) > 1:
        target = words[-1].text
    if name in ("cat", "tee") and target and redirects.document is not None:
        frame.state.files[file_key(shown(target))] = redirects.document


def printed_text(command: Command) -> Text | None:
    """Return the text that a command prints, if it does nothing else; None: unknown."""
    words = command.arguments
    if command.name == "echo":
        while words and _ECHO_OPTIONS.fullmatch(words[0].shown):
            words = words[1:]
        return spaced(words) if words else None
    # Other formats change the text, which then is unknown.
    if command.name == "printf" and words and _ONE_FORMAT.fullmatch(words[0].shown):
        return spaced(words[1:2])
    if command.name == "printf" and len(words) == 1 and "%" not in words[0].shown:
        return words[0].text
    return command.document if command.name == "cat" and not words else None


def find_written(word: Word, frame: Frame) -> Text | None:
    """Return the text of a file that the script itself has written before."""
    key = file_key(word.shown)
    text = frame.state.files.get(key)
    if text is None:
        # A unique name is enough, because scripts write and start by different folders.
        name = os.path.basename(key)
        same = [t for p, t in frame.state.files.items() if os.path.basename(p) == name]
        text = same[0] if name and len(same) == 1 else None
    return text


def file_key(path: str) -> str:
    """Return the key of a written file for later look-ups."""
    return path.removeprefix("./").removeprefix("$PWD/")


def _eval(frame: Frame, words: Sequence[Word]) -> None:
    frame.run_text(spaced(words[1:]), interpreter=frame.interpreter)


def _source(frame: Frame, words: Sequence[Word]) -> None:
    if len(words) < 2:
        return
    word = words[1]
    # A file that the script wrote itself is newer than any file on disk.
    written = find_written(word, frame)
    if written is not None:
        frame.run_text(written)
        return
    source = find_file(frame, word)
    if any("envcfg wrap" in hole.text for hole in holes(word.text)):
        return  # the output of envcfg is known
    # An unread file may set any variable, so rules must know that it was there.
    if source is None or source.kind == "other" or frame.depth > _DEEPEST // 2:
        text = f"source {word.shown}"
        frame.model.opaque.append(Opaque(text, word.offset, frame.scope))
        return
    frame._replace(depth=frame.depth + 1).run_source(
        source, interpreter=frame.interpreter
    )


def _module(frame: Frame, words: Sequence[Word]) -> None:
    # Other verbs, such as "list", change no variable.
    verbs = {word.shown for word in words[1:2]}
    if words[0].literal == "ml" or verbs & {"load", "use", "add", "swap", "restore"}:
        text = " ".join(word.shown for word in words)
        frame.model.opaque.append(Opaque(text, words[0].offset, frame.scope))


def _set(frame: Frame, words: Sequence[Word]) -> None:
    words_given = [word.shown for word in words[1:]]
    if "--" in words_given:
        frame.state.arguments = tuple(words[words_given.index("--") + 2 :])
    frame.state.options = set_options(words_given, frame.state.options)


def _shift(frame: Frame, words: Sequence[Word]) -> None:
    arguments = frame.state.arguments
    if arguments is None:
        return
    # A shift in a branch or loop happens an unknown number of times.
    gone = whole_number(words[1].literal) if len(words) > 1 else 1
    context = frame.context
    is_certain = gone is not None and not (context.conditions or context.loop)
    # An unquoted unknown argument may be several words.
    is_certain = is_certain and not any(
        argument.is_loose for argument in arguments[:gone]
    )
    frame.state.arguments = arguments[gone:] if is_certain else None


def _assign_read(frame: Frame, words: Sequence[Word]) -> None:
    for word in words[1:]:
        # Options and prompts are not names, and are skipped by the pattern.
        message = word.literal or ""
        if _NAME.fullmatch(message):
            value = unknown(f"${message}", frame.scope, word.offset)
            frame.assign(
                message, value, at=word.offset, value_at=word.offset, how="read"
            )


def _printf(frame: Frame, words: Sequence[Word]) -> None:
    if len(words) > 2 and words[1].literal == "-v":
        _assign_read(frame, words[1:3])


def _end(frame: Frame, words: Sequence[Word]) -> None:
    if words[0].literal == "return":
        frame.shared.returned.append(frame.state.fork())
    frame.state.ended = True


def _trap(frame: Frame, words: Sequence[Word]) -> None:
    # "trap - EXIT" only removes a trap.
    if len(words) > 2 and words[1].shown not in ("-", "--"):
        # The trap runs later: its assignments must not change the current state.
        state = frame.state.fork()
        inside = frame.inside(function="trap")
        inside._replace(state=state).run_text(
            words[1].text, interpreter=frame.interpreter
        )


BUILTINS: Mapping[str, Builtin] = {
    "eval": _eval,
    "set": _set,
    "shift": _shift,
    "printf": _printf,
    "trap": _trap,
    **dict.fromkeys(("source", "."), _source),
    **dict.fromkeys(("module", "ml"), _module),
    **dict.fromkeys(("read", "mapfile", "readarray", "getopts"), _assign_read),
    **dict.fromkeys(("exit", "return"), _end),
}


def _on_variable_assignments(frame: Frame, node: Node) -> None:
    for child in node.children:
        frame.run(child)


def _on_declaration_command(frame: Frame, node: Node) -> None:
    word = node.children[0].type if node.children else ""
    words = [chars_of(frame.flat, child) for child in node.children[1:]]
    flags = "".join(word for word in words if word.startswith("-"))
    # "export -n" removes the export, and "-x" adds it to other commands.
    exported = (word == "export" and "n" not in flags) or "x" in flags
    how = word if word in OF_FUNCTIONS else "export" if exported else "="
    if exported and "f" in flags:
        functions = frame.state.functions
        copied = {name: functions[name] for name in words if name in functions}
        frame.state.passed = {**frame.state.passed, **copied}
        return
    for child in node.children[1:]:
        if child.type == "variable_assignment":
            assign_node(frame, child, exported=exported, how=how)
        elif child.type == "variable_name" and word == "export" and not exported:
            frame.state.export(chars_of(frame.flat, child), exported=False)
        elif child.type == "variable_name" and exported:
            name = chars_of(frame.flat, child)
            frame.state.export(name)
            offset = frame.flat.origin(child.start_byte)
            # A bare export has no value, but its place matters for rules.
            note = Assignment(
                name, None, frame.scope, offset, offset, True, frame.context,
                len(frame.model.commands), "export", unit=frame.unit, bare=True,
            )  # fmt: skip
            frame.model.assignments.append(note)
        elif child.is_named and child.type not in ("variable_name", "word"):
            frame.words([child])


def _on_unset_command(frame: Frame, node: Node) -> None:
    for child in node.children[1:]:
        name = chars_of(frame.flat, child)
        if child.is_named and name.isidentifier():
            offset = frame.flat.origin(child.start_byte)
            # The assignment is recorded first, while the variable is still set.
            frame.assign(name, None, at=offset, value_at=offset, how="unset")
            frame.state.unset(name)


def assign_node(
    frame: Frame,
    node: Node,
    *,
    exported: bool = False,
    how: str = "=",
    command: int | None = None,
) -> None:
    """Assign the value after the name of a variable.

    Args:
        frame: the position in the script.
        node: the assignment.
        exported: True if programs inherit the variable.
        how: as of an ``Assignment``.
        command: number of the only command with this value.
    """
    if not node.children:
        return
    target, flat = node.children[0], frame.flat
    name, subscript, _ = chars_of(flat, target).partition("[")
    sign = next((c for c in node.children if c.type in ("=", "+=")), None)
    if sign is None or not name.isidentifier():
        return
    appended = sign.type == "+="
    offset, value_at = flat.origin(target.start_byte), flat.origin(sign.end_byte)
    rest = node.children[node.children.index(sign) + 1 :]
    if rest and rest[0].type == "array":
        items = [c for c in rest[0].children if c.is_named and c.type != "comment"]
        words = frame.words(items)[:MANY]
        value: Value = Array(tuple(word.text for word in words))
    else:
        # The value ends with its node, because the grammar may split it wrongly.
        value = frame.string(sign.end_byte, node.end_byte)
    # One element does not show the whole array.
    if subscript:
        value = unknown(f"${name}", frame.scope, offset)
        appended = False
    frame.assign(
        name, value, at=offset, value_at=value_at, how=how, exported=exported,
        appended=appended, command=command,
    )  # fmt: skip


ASSIGNMENTS = {
    "variable_assignments": _on_variable_assignments,
    "variable_assignment": assign_node,
    "declaration_command": _on_declaration_command,
    "unset_command": _on_unset_command,
}
