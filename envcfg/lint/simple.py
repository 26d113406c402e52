"""Simple commands: their words, what they read and write, and tests."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from envcfg.lint.builtin import Redirects, assign_node
from envcfg.lint.expand import expand_arithmetic, expand_document
from envcfg.lint.follow import Frame
from envcfg.lint.grammar import chars_of, leaves, word_spans
from envcfg.lint.run import Assigns, record, start_command
from envcfg.lint.shell import Shell
from envcfg.lint.state import MOST
from envcfg.lint.text import Text, Word, plain

if TYPE_CHECKING:
    from tree_sitter import Node

_LINE_END = re.compile(r"(?<!\\)\n")
_FILE = re.compile(r"\{[A-Za-z_]\w*\}[<>]")  # of a redirection, and no word
_REDIRECTS = frozenset({"file_redirect", "heredoc_redirect", "herestring_redirect"})
_ARGUMENTS = frozenset(
    "word string raw_string simple_expansion expansion concatenation number".split()
)


def _on_test_command(frame: Frame, node: Node) -> None:
    sign = node.children[0].type if node.children else "["
    nodes = [leaf for each in node.children[1:-1] for leaf in leaves(each)]
    at = frame.flat.origin(node.start_byte)
    words = (Word(plain(sign, at), at), *frame.words(nodes))
    record(frame.inside(tested=True), words, is_builtin=True)


def _on_redirected_statement(frame: Frame, node: Node) -> None:
    body = node.child_by_field_name("body") or node.children[0]
    redirects = [each for each in node.children if each.type in _REDIRECTS]
    if body.type == "command":
        _command(frame, body, redirects)
        return
    _redirects(frame, redirects)  # whose words are expanded all the same
    if body.type not in _REDIRECTS:
        frame._replace(depth=frame.depth + 1).run(body)


def _redirects(frame: Frame, nodes: Sequence[Node]) -> Redirects:
    document: Text | None = None
    output: Text = ()
    for node in nodes:
        if node.type == "file_redirect":
            sign = next((c.type for c in node.children if not c.is_named), "")
            targets = [c for c in node.children if c.is_named]
            words = frame.words([c for c in targets if c.type != "file_descriptor"])
            if sign in (">", ">>", "&>", ">|", "&>>") and words:
                output = words[0].text
        elif node.type == "herestring_redirect":
            words = frame.words([c for c in node.children if c.is_named])
            document = words[0].text if words else None
        else:
            document = _document(node, frame, frame.shell(0, [], "document"))
            inner = [c for c in node.children if c.type == "file_redirect"]
            output = _redirects(frame, inner).output or output
    return Redirects(document, output)


def _document(node: Node, frame: Frame, shell: Shell) -> Text | None:
    parts = {each.type: each for each in node.children}
    begin, end = parts.get("heredoc_start"), parts.get("heredoc_end")
    if begin is None or end is None:
        return None
    chars = frame.flat.chars
    first = chars.find("\n", begin.end_byte) + 1
    last = chars.rfind("\n", 0, end.end_byte) + 1
    if not 0 < first <= last:
        return ()
    body = frame.flat.cut(first, last)
    is_quoted = any(sign in chars_of(frame.flat, begin) for sign in "'\"\\")
    return body if is_quoted else expand_document(body, shell)


def _command(frame: Frame, node: Node, around: Sequence[Node] = ()) -> None:
    """Follow a simple command: what it sets, reads and writes, then what it starts.

    The order is that of the shell: redirections are expanded before the words, and what a
    here-document is piped to comes last. What the grammar has put into the wrong node is
    put right on the way: assignments of the line before, words behind a here-document.

    Args:
        around: redirections of the statement in which it stands.
    """
    chars = frame.flat.chars
    assigned = [c for c in node.children if c.type == "variable_assignment"]
    skipped, name = set(assigned), node.child_by_field_name("name")
    begin = assigned[-1].end_byte if assigned else len(chars)
    if name is not None and _LINE_END.search(chars, begin, name.start_byte):
        # The grammar takes several of them for the beginning of the next line.
        for each in assigned:
            assign_node(frame, each)
        assigned = []
    inner = [c for c in node.children if c.type in _REDIRECTS]
    redirects = _redirects(frame, [*around, *inner])
    behind = [c for n in around if n.type == "heredoc_redirect" for c in n.children]
    skipped |= set(inner)
    nodes = [c for c in node.children if c not in skipped]
    arguments = (each for each in behind if each.type in _ARGUMENTS)
    spans = [
        (begin, end)
        for begin, end in word_spans([*nodes, *arguments], chars)
        if not _FILE.fullmatch(chars, begin, end + 1)
    ]

    def sets(within: Frame, number: int) -> None:
        for each in assigned:
            assign_node(within, each, exported=True, command=number)

    _start_variants(frame, spans, redirects, sets if assigned else None)
    if redirects.document is None:
        return
    for pipeline in behind:
        for each in pipeline.children if pipeline.type == "pipeline" else ():
            if each.type == "command":
                words = tuple(frame.words(each.children))
                start_command(frame, words, redirects)


def _start_variants(
    frame: Frame,
    spans: Sequence[tuple[int, int]],
    redirects: Redirects,
    assigns: Assigns | None,
) -> None:
    """Follow a command with each value of its variables, but equal words only once."""
    commands = frame.model.commands
    said: set[tuple[str, ...]] = set()
    pick, width = 0, 1
    while pick < min(width, MOST):
        widths: list[int] = []
        words = frame.spans(spans, pick, widths)
        width = max([width, *widths])
        key = tuple(each.shown for each in words)
        if key not in said:
            said.add(key)
            inside = frame
            if pick:
                inside = frame._replace(state=frame.state.fork(), variant=pick)
            number = len(commands)
            start_command(inside, tuple(words), redirects, assigns)
            if number < len(commands):
                at = frame.flat.origin(spans[0][0])
                commands[number] = commands[number]._replace(stands=at)
        pick += 1


def _on_arithmetic(frame: Frame, node: Node) -> None:
    shell = frame.shell(0, [])
    text = expand_arithmetic(frame.flat, node.start_byte, node.end_byte - 2, shell)
    at = frame.flat.origin(node.start_byte)
    words = (Word(plain("((", at), at), Word(text, at))
    record(frame.inside(tested=True), words, is_builtin=True)


SIMPLE = {
    "test_command": _on_test_command,
    "redirected_statement": _on_redirected_statement,
    "command": _command,
    "arithmetic": _on_arithmetic,
}
