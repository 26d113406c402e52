"""Statements that give variables their values."""

from __future__ import annotations

from typing import TYPE_CHECKING

from envcfg.lint.follow import Follower, Frame
from envcfg.lint.grammar import chars_of
from envcfg.lint.model import Array, Assignment, Value
from envcfg.lint.state import MANY
from envcfg.lint.text import unknown

if TYPE_CHECKING:
    from tree_sitter import Node

_DECLARES = frozenset({"export", "declare", "local", "readonly", "typeset"})


def _on_variable_assignments(follower: Follower, node: Node, frame: Frame) -> None:
    for each in node.children:
        follower.run(each, frame)


def _on_declaration_command(follower: Follower, node: Node, frame: Frame) -> None:
    word = node.children[0].type if node.children else ""
    said = [chars_of(frame.flat, each) for each in node.children[1:]]
    flags = "".join(each for each in said if each.startswith("-"))
    exported = (word == "export" and "n" not in flags) or "x" in flags
    how = "export" if exported else word if word in _DECLARES else "="
    for each in node.children[1:]:
        if each.type == "variable_assignment":
            assign_node(follower, each, frame, exported=exported, how=how)
        elif each.type == "variable_name" and exported:
            name = chars_of(frame.flat, each)
            frame.state.export(name)
            at = frame.flat.origin(each.start_byte)
            note = Assignment(
                name, None, frame.scope, at, at, True, frame.context,
                len(follower.model.commands), "export", unit=frame.unit, bare=True,
            )  # fmt: skip
            follower.model.assignments.append(note)
        elif each.is_named and each.type not in ("variable_name", "word"):
            follower.words([each], frame)


def _on_unset_command(follower: Follower, node: Node, frame: Frame) -> None:
    for each in node.children[1:]:
        name = chars_of(frame.flat, each)
        if each.is_named and name.isidentifier():
            at = frame.flat.origin(each.start_byte)
            follower.assign(name, None, frame, at=at, value_at=at, how="unset")
            frame.state.unset(name)


def assign_node(
    follower: Follower,
    node: Node,
    frame: Frame,
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
        words = follower.words(items, frame)[:MANY]
        value: Value = Array(tuple(each.text for each in words))
    else:
        # A value goes on to where the node ends, whatever the grammar made of it.
        value = follower.string(sign.end_byte, node.end_byte, frame)
    if subscript:
        value = unknown(f"${name}", frame.scope, at)
        appended = False
    follower.assign(
        name, value, frame, at=at, value_at=value_at, how=how,
        exported=exported, appended=appended, command=command,
    )  # fmt: skip


ASSIGNMENTS = {
    "variable_assignments": _on_variable_assignments,
    "variable_assignment": assign_node,
    "declaration_command": _on_declaration_command,
    "unset_command": _on_unset_command,
}
