"""Commands of the shell itself, files that they read, and what gives variables values."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from envcfg.characters import whole_number
from envcfg.lint.follow import Frame
from envcfg.lint.grammar import chars_of
from envcfg.lint.model import Array, Assignment, Opaque, Value
from envcfg.lint.source import Source, read_beside
from envcfg.lint.state import MANY, set_options
from envcfg.lint.text import Text, Word, holes, literal, shown, spaced, unknown

if TYPE_CHECKING:
    from tree_sitter import Node

Builtin = Callable[[Frame, Sequence[Word]], None]
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_DEEPEST = 40
_DECLARES = frozenset({"export", "declare", "local", "readonly", "typeset"})


class Redirects(NamedTuple):
    """Where a command reads and writes.

    Attributes:
        document: what a here-document or here-string gives it, or None.
        output: the file that it writes, if any.
    """

    document: Text | None = None
    output: Text = ()


def find_file(frame: Frame, word: Word) -> Source | None:
    """Return the file that *word* names: given as well, or beside this one."""
    said = literal(word.text)
    if said is None:
        last = word.text[-1]
        if last.hole or not last.chars.startswith("/"):
            return None
        said = last.chars[1:]  # below a folder that is not known, most often this one
    if not said or "\0" in said:
        return None
    homes = (frame.folder, os.path.dirname(frame.model.path))
    paths = [os.path.normpath(os.path.join(home, said)) for home in homes]
    for source in frame.shared.sources.all:
        if os.path.normpath(source.path) in paths:
            return source
    if os.path.isabs(said):
        name = os.path.basename(said)
        same = [s for s in frame.shared.sources.all if os.path.basename(s.path) == name]
        return same[0] if len(same) == 1 else None
    if frame.model.path == "-":
        return None
    for path in paths:
        if not path.startswith("..") and (data := read_beside(path)) is not None:
            return frame.shared.sources.add(path, data)
    return None


def note_written(words: Sequence[Word], redirects: Redirects, frame: Frame) -> None:
    """A here-document that becomes a file, which may be started later."""
    name = os.path.basename(words[0].literal or "")
    target = redirects.output
    if name == "tee" and len(words) > 1:
        target = words[-1].text
    if name in ("cat", "tee") and target and redirects.document is not None:
        frame.state.files[file_key(shown(target))] = redirects.document


def find_written(word: Word, frame: Frame) -> Text | None:
    """Return the text of a file that the script itself has written before."""
    said = file_key(word.shown)
    found = frame.state.files.get(said)
    if found is None:
        name = os.path.basename(said)
        same = [t for p, t in frame.state.files.items() if os.path.basename(p) == name]
        found = same[0] if name and len(same) == 1 else None
    return found


def file_key(path: str) -> str:
    """Return the name by which a file that was written is found again."""
    return path.removeprefix("./").removeprefix("$PWD/")


def _eval(frame: Frame, words: Sequence[Word]) -> None:
    frame.run_text(spaced(words[1:]))


def _source(frame: Frame, words: Sequence[Word]) -> None:
    if len(words) < 2:
        return
    word = words[1]
    written = find_written(word, frame)
    if written is not None:
        frame.run_text(written)
        return
    source = find_file(frame, word)
    if any("envcfg wrap" in hole.text for hole in holes(word.text)):
        return  # what it prints is known
    if source is None or source.kind == "other" or frame.depth > _DEEPEST // 2:
        said = f"source {word.shown}"
        frame.model.opaque.append(Opaque(said, word.at, frame.scope))
        return
    frame._replace(depth=frame.depth + 1).run_source(source)


def _module(frame: Frame, words: Sequence[Word]) -> None:
    verbs = {each.shown for each in words[1:2]}
    if words[0].literal == "ml" or verbs & {"load", "use", "add", "swap", "restore"}:
        said = " ".join(each.shown for each in words)
        frame.model.opaque.append(Opaque(said, words[0].at, frame.scope))


def _set(frame: Frame, words: Sequence[Word]) -> None:
    said = [each.shown for each in words[1:]]
    if "--" in said:
        frame.state.arguments = tuple(words[said.index("--") + 2 :])
    frame.state.options = set_options(said, frame.state.options)


def _shift(frame: Frame, words: Sequence[Word]) -> None:
    arguments = frame.state.arguments
    if arguments is None:
        return
    gone = whole_number(words[1].literal) if len(words) > 1 else 1
    known = gone is not None and not frame.context.conditions
    known = known and not any(each.is_loose for each in arguments[:gone])
    frame.state.arguments = arguments[gone:] if known else None


def _read(frame: Frame, words: Sequence[Word]) -> None:
    for word in words[1:]:
        said = word.literal or ""
        if _NAME.fullmatch(said):
            value = unknown(f"${said}", frame.scope, word.at)
            frame.assign(said, value, at=word.at, value_at=word.at, how="read")


def _printf(frame: Frame, words: Sequence[Word]) -> None:
    if len(words) > 2 and words[1].literal == "-v":
        _read(frame, words[1:3])


def _end(frame: Frame, _: Sequence[Word]) -> None:
    frame.state.ended = True


def _trap(frame: Frame, words: Sequence[Word]) -> None:
    if len(words) > 2 and words[1].shown not in ("-", "--"):
        state = frame.state.fork()
        inside = frame.inside(function="trap")
        inside._replace(state=state).run_text(words[1].text)


BUILTINS: Mapping[str, Builtin] = {
    "eval": _eval,
    "set": _set,
    "shift": _shift,
    "printf": _printf,
    "trap": _trap,
    **dict.fromkeys(("source", "."), _source),
    **dict.fromkeys(("module", "ml"), _module),
    **dict.fromkeys(("read", "mapfile", "readarray", "getopts"), _read),
    **dict.fromkeys(("exit", "return"), _end),
}


def _on_variable_assignments(frame: Frame, node: Node) -> None:
    for each in node.children:
        frame.run(each)


def _on_declaration_command(frame: Frame, node: Node) -> None:
    word = node.children[0].type if node.children else ""
    said = [chars_of(frame.flat, each) for each in node.children[1:]]
    flags = "".join(each for each in said if each.startswith("-"))
    exported = (word == "export" and "n" not in flags) or "x" in flags
    how = "export" if exported else word if word in _DECLARES else "="
    for each in node.children[1:]:
        if each.type == "variable_assignment":
            assign_node(frame, each, exported=exported, how=how)
        elif each.type == "variable_name" and exported:
            name = chars_of(frame.flat, each)
            frame.state.export(name)
            at = frame.flat.origin(each.start_byte)
            note = Assignment(
                name, None, frame.scope, at, at, True, frame.context,
                len(frame.model.commands), "export", unit=frame.unit, bare=True,
            )  # fmt: skip
            frame.model.assignments.append(note)
        elif each.is_named and each.type not in ("variable_name", "word"):
            frame.words([each])


def _on_unset_command(frame: Frame, node: Node) -> None:
    for each in node.children[1:]:
        name = chars_of(frame.flat, each)
        if each.is_named and name.isidentifier():
            at = frame.flat.origin(each.start_byte)
            frame.assign(name, None, at=at, value_at=at, how="unset")
            frame.state.unset(name)


def assign_node(
    frame: Frame,
    node: Node,
    *,
    exported: bool = False,
    how: str = "=",
    command: int | None = None,
) -> None:
    """Give a variable the value that stands behind its name.

    Args:
        how: as of an ``Assignment``.
        command: number of the command for which alone it holds.
    """
    if not node.children:
        return
    target, flat = node.children[0], frame.flat
    name, subscript, _ = chars_of(flat, target).partition("[")
    sign = next((c for c in node.children if c.type in ("=", "+=")), None)
    if sign is None or not name.isidentifier():
        return
    appended = sign.type == "+="
    at, value_at = flat.origin(target.start_byte), flat.origin(sign.end_byte)
    rest = node.children[node.children.index(sign) + 1 :]
    if rest and rest[0].type == "array":
        items = [c for c in rest[0].children if c.is_named and c.type != "comment"]
        words = frame.words(items)[:MANY]
        value: Value = Array(tuple(each.text for each in words))
    else:
        # A value goes on to where the node ends, whatever the grammar made of it.
        value = frame.string(sign.end_byte, node.end_byte)
    if subscript:
        value = unknown(f"${name}", frame.scope, at)
        appended = False
    frame.assign(
        name, value, at=at, value_at=value_at, how=how, exported=exported,
        appended=appended, command=command,
    )  # fmt: skip


ASSIGNMENTS = {
    "variable_assignments": _on_variable_assignments,
    "variable_assignment": assign_node,
    "declaration_command": _on_declaration_command,
    "unset_command": _on_unset_command,
}
