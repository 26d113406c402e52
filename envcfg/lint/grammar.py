"""The grammar of bash, by tree-sitter; nothing else here knows tree-sitter."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from envcfg.errors import LibraryError

if TYPE_CHECKING:
    from tree_sitter import Node, Parser


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
