"""The grammar of bash, by tree-sitter: the tree of a script, and the words in it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from envcfg.errors import LibraryError
from envcfg.lint.text import Flat

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

_DEEPEST = 40
_OPERATORS = frozenset(
    {"unary_expression", "binary_expression", "parenthesized_expression"}
)


@lru_cache(maxsize=32)
def parse(chars: str) -> Node:
    """Return the tree of a script, one character of which is one byte.

    What the grammar cannot read becomes an ``ERROR`` in the tree, and the rest is read.
    """
    return _parser().parse(chars.encode("latin-1")).root_node


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


def leaves(node: Node, depth: int = 0) -> Iterator[Node]:
    """Yield the words of a test."""
    if node.type in _OPERATORS and depth < _DEEPEST:
        for each in node.children:
            yield from leaves(each, depth + 1)
    elif node.end_byte > node.start_byte:
        yield node


def word_spans(nodes: Sequence[Node], chars: str) -> Iterator[tuple[int, int]]:
    """Yield where each word stands; what touches is one word, as it is to bash."""
    begin = end = -1
    for node in nodes:
        if node.type == "comment" or node.end_byte == node.start_byte:
            continue
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
