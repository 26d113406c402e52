"""Statements that choose, repeat or join others: what is true behind them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from envcfg.lint.follow import Frame
from envcfg.lint.grammar import chars_of
from envcfg.lint.model import Value
from envcfg.lint.state import State
from envcfg.lint.text import Text, unknown

if TYPE_CHECKING:
    from tree_sitter import Node

_CONTROL = ("then", "elif_clause", "else_clause", "fi")


def _on_list(frame: Frame, node: Node) -> None:
    parts, operators = [node], list[str]()
    while parts[0].type == "list" and len(parts[0].children) >= 3:
        operators.insert(0, parts[0].children[1].type)
        parts[:1] = [parts[0].children[0], parts[0].children[-1]]
    before = ""
    for number, part in enumerate(parts):
        inside = frame
        if number < len(operators):
            rest = chars_of(frame.flat, parts[number + 1]).split(maxsplit=1)
            is_lost = operators[number] == "||" and rest[:1] in (["true"], [":"])
            inside = frame.inside(tested=not is_lost, forgiven=is_lost)
        if number:
            state = frame.state.fork()
            inside.under(before, state).run(part)
            frame.state.join([frame.state.fork(), state])
        else:
            inside.run(part)
        if number < len(operators):
            sign = "" if operators[number] == "&&" else "! "
            before = sign + chars_of(frame.flat, part)


def _on_pipeline(frame: Frame, node: Node) -> None:
    parts = [each for each in node.children if each.is_named]
    for each in parts[:-1]:
        inside = frame.inside(piped=True)._replace(state=frame.state.fork())
        inside.run(each)
    if parts:
        inside = frame._replace(state=frame.state.fork(), depth=frame.depth + 1)
        inside.run(parts[-1])


def _on_subshell(frame: Frame, node: Node) -> None:
    inside = frame._replace(state=frame.state.fork())
    inside._replace(depth=frame.depth + 1).sequence(node.children)


def _on_negated_command(frame: Frame, node: Node) -> None:
    frame.inside(tested=True).sequence(node.children)


def _on_if_statement(frame: Frame, node: Node) -> None:
    before = frame.state
    states: list[State] = []
    failed = ""
    clauses = [node, *(c for c in node.children if c.type.endswith("if_clause"))]
    for clause in clauses:
        condition, body = halves(clause)
        frame.inside(tested=True).sequence(condition)
        said = " ".join(
            chars_of(frame.flat, each) for each in condition if each.is_named
        )
        states.append(before.fork())
        both = " && ".join(filter(None, (failed, said)))
        frame.under(both, states[-1]).sequence(body)
        failed = " && ".join(filter(None, (failed, f"! ( {said} )")))[:400]
    states.append(before.fork())  # behind the last of them, or none
    for clause in node.children:
        if clause.type == "else_clause":
            frame.under(failed, states[-1]).sequence(clause.children)
    before.join(states)


def _on_while_statement(frame: Frame, node: Node) -> None:
    head = [each for each in node.children if each.type != "do_group"]
    frame.inside(tested=True, loop=True).sequence(head)
    _loop(frame, node, " ".join(chars_of(frame.flat, each) for each in head))


def _on_for_statement(frame: Frame, node: Node) -> None:
    values: list[Text] = []
    name = None
    for each in node.children:
        if each.type == "variable_name":
            name = each
        elif each.is_named and each.type != "do_group":
            values += [word.text for word in frame.words([each])]
    if name is not None:
        at = frame.flat.origin(name.start_byte)
        said = chars_of(frame.flat, name)
        value: Value = unknown(f"${said}", frame.scope, at)
        if len(values) == 1:
            value = values[0]
        frame.assign(said, value, at=at, value_at=at, how="for")
    _loop(frame, node)


def _on_c_style_for_statement(frame: Frame, node: Node) -> None:
    for each in node.children:
        if each.type == "variable_assignment":
            frame.state.forget(chars_of(frame.flat, each).partition("=")[0].strip())
    _loop(frame, node)


def _loop(frame: Frame, node: Node, condition: str = "") -> None:
    once = frame.state.fork()
    inside = frame.under(condition, once).inside(loop=True)
    for each in node.children:
        if each.type == "do_group":
            inside.run(each)
    once.ended = False
    frame.state.join([frame.state.fork(), once])


def _on_case_statement(frame: Frame, node: Node) -> None:
    subject, states, is_whole = "", [], False
    for each in node.children:
        if each.type == "case_item":
            state = frame.state.fork()
            pattern = chars_of(frame.flat, each).partition(")")[0].strip()
            is_whole = is_whole or pattern == "*"
            inside = frame.under(f"case {subject} in {pattern}", state)
            body = [c for c in each.children if is_statement(c)]
            inside.sequence(body)
            states.append(state)
        elif each.is_named and not subject:
            subject = chars_of(frame.flat, each)
            frame.words([each])
    if not is_whole:
        states.append(frame.state.fork())
    frame.state.join(states)


def halves(clause: Node) -> tuple[list[Node], list[Node]]:
    """Return condition and body of a branch."""
    condition: list[Node] = []
    body: list[Node] = []
    part = condition
    for each in clause.children:
        if each.type == "then":
            part = body
        elif each.type in _CONTROL:
            break
        else:
            part.append(each)
    return condition, body


def is_statement(node: Node) -> bool:
    """Return whether a part of a branch is followed."""
    return node.is_named and (
        node.type.endswith(("command", "statement", "assignment", "assignments"))
        or node.type in ("list", "pipeline", "subshell", "ERROR")
    )


BRANCHES = {
    "list": _on_list,
    "pipeline": _on_pipeline,
    "subshell": _on_subshell,
    "negated_command": _on_negated_command,
    "if_statement": _on_if_statement,
    "while_statement": _on_while_statement,
    "for_statement": _on_for_statement,
    "c_style_for_statement": _on_c_style_for_statement,
    "case_statement": _on_case_statement,
}
