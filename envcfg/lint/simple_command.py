"""Simple commands: their words, the files they read and write, and tests."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from envcfg.lint.command_effects import Assigns, record, start_command
from envcfg.lint.grammar import leaves, word_spans
from envcfg.lint.interpreter import Frame, Handler
from envcfg.lint.shell_builtins import Redirects, assign_node
from envcfg.lint.shell_state import MOST
from envcfg.lint.traced_text import Text, Word, plain
from envcfg.lint.word_expansion import expand_arithmetic, expand_document

if TYPE_CHECKING:
    from tree_sitter import Node

_LINE_END = re.compile(r"(?<!\\)\n")
_WRITES = frozenset("> >> &> >| &>>".split())


def _on_test_command(frame: Frame, node: Node) -> None:
    sign = node.children[0].type if node.children else "["
    nodes = [leaf for child in node.children[1:-1] for leaf in leaves(child)]
    offset = frame.flat.origin(node.start_byte)
    words = (Word(plain(sign, offset), offset), *frame.words(nodes))
    record(frame.inside(tested=True), words, is_builtin=True)


def _redirects(frame: Frame, node: Node) -> Redirects:
    """Expand the redirections of a command, and return its input and output."""
    document, file = frame.piped, None
    output: Text = ()
    for redirection in frame.flat.layout.redirections(node.start_byte, node.end_byte):
        if redirection.body is not None:
            document = frame.flat.cut(*redirection.body)
            if not redirection.is_quoted:
                document = expand_document(document, frame.shell(0, [], "document"))
        elif not redirection.sign.startswith("<<-") and redirection.sign != "<<":
            words = frame.spans([(redirection.begin, redirection.end)], 0, [])
            if redirection.sign == "<<<":
                document = words[0].text if words else None
            elif redirection.sign in _WRITES and words:
                output = words[0].text
            # A file replaces a piped text, as the last redirection does in bash.
            elif redirection.sign == "<" and words:
                document, file = None, words[0]
    return Redirects(document, output, file)


def redirected(handler: Handler) -> Handler:
    """Return a handler that expands the redirections of a compound command first."""

    def follow(frame: Frame, node: Node) -> None:
        _redirects(frame, node)
        handler(frame, node)

    return follow


def _on_group(frame: Frame, node: Node) -> None:
    if node.children[0].type == "((":
        _on_arithmetic(frame, node)
    else:
        frame._replace(depth=frame.depth + 1).sequence(node.children)


def _command(frame: Frame, node: Node) -> None:
    """Follow a simple command: its assignments, redirections, and the program it starts.

    Redirections are expanded before the words. Assignments that the grammar took from the
    line before belong to the shell itself.
    """
    chars = frame.flat.chars
    assigned = [c for c in node.children if c.type == "variable_assignment"]
    skipped, name = set(assigned), node.child_by_field_name("name")
    begin = assigned[-1].end_byte if assigned else len(chars)
    if name is not None and _LINE_END.search(chars, begin, name.start_byte):
        # The grammar joins assignments of several lines with the next command.
        for assignment in assigned:
            assign_node(frame, assignment)
        assigned = []
    redirects = _redirects(frame, node)
    if node.start_byte in frame.flat.layout.empty:
        return
    spans = [*word_spans([c for c in node.children if c not in skipped], chars)]

    # Assignments are made late, because they need the number of the command.
    def sets(within: Frame, number: int) -> None:
        for word in assigned:
            assign_node(within, word, exported=True, command=number)

    _start_variants(frame, spans, redirects, sets if assigned else None)


def _start_variants(
    frame: Frame,
    spans: Sequence[tuple[int, int]],
    redirects: Redirects,
    assigns: Assigns | None,
) -> None:
    """Follow a command with each value of its variables, but equal words only once."""
    commands = frame.model.commands
    variants: set[tuple[str, ...]] = set()
    pick, width = 0, 1
    while pick < min(width, MOST):
        widths: list[int] = []
        words = frame.spans(spans, pick, widths)
        width = max([width, *widths])
        key = tuple(word.shown for word in words)
        # Different values may produce the same words.
        if key not in variants:
            variants.add(key)
            inside = frame
            if pick:
                inside = frame._replace(state=frame.state.fork(), variant=pick)
            number = len(commands)
            start_command(inside, tuple(words), redirects, assigns)
            if number < len(commands):
                offset = frame.flat.origin(spans[0][0])
                commands[number] = commands[number]._replace(stands=offset)
        pick += 1


def _on_arithmetic(frame: Frame, node: Node) -> None:
    shell = frame.shell(0, [])
    text = expand_arithmetic(frame.flat, node.start_byte, node.end_byte - 2, shell)
    offset = frame.flat.origin(node.start_byte)
    words = (Word(plain("((", offset), offset), Word(text, offset))
    record(frame.inside(tested=True), words, is_builtin=True)


SIMPLE = {
    "test_command": _on_test_command,
    "command": _command,
    "compound_statement": _on_group,
}
