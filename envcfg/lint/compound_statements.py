"""Statements that choose, repeat or join others, and the state after them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from envcfg.lint.grammar import chars_of
from envcfg.lint.interpreter import Frame
from envcfg.lint.script_model import Value
from envcfg.lint.shell_builtins import printed_text
from envcfg.lint.shell_state import State
from envcfg.lint.traced_text import Text, unknown

if TYPE_CHECKING:
    from tree_sitter import Node

_CONTROL = ("then", "elif_clause", "else_clause", "fi")


def _on_list(frame: Frame, node: Node) -> None:
    parts, operators = [node], list[str]()
    # The grammar nests lists to the left; rules need them in order.
    while parts[0].type == "list" and len(parts[0].children) >= 3:
        operators.insert(0, parts[0].children[1].type)
        parts[:1] = [parts[0].children[0], parts[0].children[-1]]
    before = ""
    for number, part in enumerate(parts):
        inside = frame
        if number < len(operators):
            rest = chars_of(frame.flat, parts[number + 1]).split(maxsplit=1)
            # "|| true" ignores a failure, while another command reacts to it.
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
    """Follow each part in its own subshell, with the text that the part before prints."""
    parts = [child for child in node.children if child.is_named]
    piped = frame.piped
    for number, part in enumerate(parts):
        inside = frame.inside(piped=True) if number + 1 < len(parts) else frame
        inside = inside._replace(
            state=frame.state.fork(), depth=frame.depth + 1, piped=piped
        )
        count = len(frame.model.commands)
        inside.run(part)
        commands = frame.model.commands[count:]
        # Only a single command has a known output.
        piped = (
            printed_text(commands[0]) if part.type == "command" and commands else None
        )


def _on_subshell(frame: Frame, node: Node) -> None:
    # A subshell cannot change the variables of its parent.
    inside = frame._replace(state=frame.state.fork(), depth=frame.depth + 1)
    inside.sequence(node.children)


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
        text = " ".join(
            chars_of(frame.flat, child) for child in condition if child.is_named
        )
        states.append(before.fork())
        both = " && ".join(filter(None, (failed, text)))
        frame.under(both, states[-1]).sequence(body)
        # Conditions of later branches grow with each branch, so they are cut.
        failed = " && ".join(filter(None, (failed, f"! ( {text} )")))[:400]
    states.append(before.fork())  # the state after "else", or without any branch
    for clause in node.children:
        if clause.type == "else_clause":
            frame.under(failed, states[-1]).sequence(clause.children)
    before.join(states)


def _on_while_statement(frame: Frame, node: Node) -> None:
    head = [child for child in node.children if child.type != "do_group"]
    frame.inside(tested=True, loop=True).sequence(head)
    _loop(frame, node, " ".join(chars_of(frame.flat, child) for child in head))


def _on_for_statement(frame: Frame, node: Node) -> None:
    values: list[Text] = []
    name = None
    for child in node.children:
        if child.type == "variable_name":
            name = child
        elif child.is_named and child.type != "do_group":
            values += [word.text for word in frame.words([child])]
    if name is not None:
        offset = frame.flat.origin(name.start_byte)
        message = chars_of(frame.flat, name)
        value: Value = unknown(f"${message}", frame.scope, offset)
        # With several words the variable takes all of them, one after another.
        if len(values) == 1:
            value = values[0]
        frame.assign(message, value, at=offset, value_at=offset, how="for")
    _loop(frame, node)


def _on_c_style_for_statement(frame: Frame, node: Node) -> None:
    for child in node.children:
        if child.type == "variable_assignment":
            # The counter changes in each round, so its value is unknown.
            frame.state.forget(chars_of(frame.flat, child).partition("=")[0].strip())
    _loop(frame, node)


def _loop(frame: Frame, node: Node, condition: str = "") -> None:
    # One round shows all commands; more rounds would only repeat them.
    once = frame.state.fork()
    inside = frame.under(condition, once).inside(loop=True)
    for child in node.children:
        if child.type == "do_group":
            inside.run(child)
    once.ended = False
    frame.state.join([frame.state.fork(), once])


def _on_case_statement(frame: Frame, node: Node) -> None:
    subject, states, is_whole = "", [], False
    for child in node.children:
        if child.type == "case_item":
            state = frame.state.fork()
            pattern = chars_of(frame.flat, child).partition(")")[0].strip()
            is_whole = is_whole or pattern == "*"
            inside = frame.under(f"case {subject} in {pattern}", state)
            inside.sequence(case_body(child))
            states.append(state)
        elif child.is_named and not subject:
            subject = chars_of(frame.flat, child)
            frame.words([child])
    # Without "*" no branch may match, and the state before remains possible.
    if not is_whole:
        states.append(frame.state.fork())
    frame.state.join(states)


def halves(clause: Node) -> tuple[list[Node], list[Node]]:
    """Return condition and body of a branch."""
    condition: list[Node] = []
    body: list[Node] = []
    part = condition
    for child in clause.children:
        if child.type == "then":
            part = body
        elif child.type in _CONTROL:
            break
        else:
            part.append(child)
    return condition, body


def case_body(item: Node) -> list[Node]:
    """Return the statements of a branch of ``case``, with the operators between them."""
    types = [child.type for child in item.children]
    begin = types.index(")") + 1 if ")" in types else 0
    return item.children[begin:]


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
