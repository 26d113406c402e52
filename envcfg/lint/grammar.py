"""The grammar of bash, by tree-sitter: the tree of a script, and the words in it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from envcfg.common.errors import LibraryError
from envcfg.lint.redirection import layout_of
from envcfg.lint.traced_text import Flat

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

_DEEPEST = 40
_STATEMENTS = frozenset(
    "comment command list pipeline variable_assignment declaration_command \n".split(
        " "
    )
)
_OPERATORS = frozenset(
    {"unary_expression", "binary_expression", "parenthesized_expression"}
)


@lru_cache(maxsize=32)
def parse(chars: str) -> Node:
    """Return the tree of a script without its redirections; a character is a byte.

    Text that the grammar cannot read becomes an ``ERROR`` node; the rest is read.
    """
    bare = layout_of(chars).bare
    return _parser().parse(bare.encode("latin-1")).root_node


@cache
def _parser() -> Parser:
    try:
        import tree_sitter_bash
        from tree_sitter import Language, Parser
    except ImportError as err:
        raise LibraryError(
            package="tree-sitter tree-sitter-bash", use="reading bash"
        ) from err
    return Parser(Language(tree_sitter_bash.language()))


def unread_spans(root: Node) -> Iterator[tuple[int, int]]:
    """Yield the parts of a script that the grammar cannot read, as offsets.

    A part reaches to the end of its statement at the top: an error may move the end of
    each statement around it.
    """
    for statement in [root] if root.type == "ERROR" else root.children:
        node = statement
        while node.has_error and not node.is_missing:
            inner = next((child for child in node.children if child.has_error), None)
            if node.type == "ERROR" or inner is None:
                # Whole statements before the error are read as usual.
                parts = (c for c in node.children if c.type not in _STATEMENTS)
                node = next(parts, node)
                break
            node = inner
        if statement.has_error:
            yield node.start_byte, max(statement.end_byte, node.start_byte + 1)


def leaves(node: Node, depth: int = 0) -> Iterator[Node]:
    """Yield the words of a test."""
    if node.type in _OPERATORS and depth < _DEEPEST:
        for child in node.children:
            yield from leaves(child, depth + 1)
    elif node.end_byte > node.start_byte:
        yield node


def word_spans(nodes: Sequence[Node], chars: str) -> Iterator[tuple[int, int]]:
    """Yield the span of each word; adjacent parts are one word, as in bash."""
    begin = end = -1
    for node in nodes:
        if node.type == "comment" or node.end_byte == node.start_byte:
            continue
        # A backslash before a line break joins two parts into one word.
        if 0 <= end <= node.start_byte and not chars[end : node.start_byte].replace(
            "\\\n", ""
        ):
            end = node.end_byte
            continue
        if begin >= 0:
            yield begin, end
        begin, end = node.start_byte, node.end_byte
    if begin >= 0:
        yield begin, end


def chars_of(flat: Flat, node: Node) -> str:
    """Return the characters of *node*."""
    return flat.chars[node.start_byte : node.end_byte]
