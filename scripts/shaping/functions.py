"""Functions that decide much, and whether a paragraph says how."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_BRANCHES = (
    ast.If,
    ast.IfExp,
    ast.For,
    ast.AsyncFor,
    ast.While,
    ast.ExceptHandler,
    ast.Assert,
    ast.match_case,
)
_FEW = 3  # lines, from which what is written above a function is a paragraph


class Function(NamedTuple):
    """A function.

    Attributes:
        name: of it, with the class around it.
        line: where it begins.
        complexity: its paths by McCabe's count: 1, and 1 for each branch, for each further
            operand of "and" and "or", for each loop and condition of a comprehension.
        is_explained: whether a docstring or comment of three lines or more goes with it.
    """

    name: str
    line: int
    complexity: int
    is_explained: bool


def find_functions(source: str) -> Iterator[Function]:
    """Yield the functions of a module; an inner one counts into the outer one."""
    lines = source.splitlines()
    yield from _find(ast.parse(source), "", lines)


def _find(node: ast.AST, above: str, lines: list[str]) -> Iterator[Function]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, _FUNCTIONS):
            explained = _is_explained(child, lines)
            name = f"{above}{child.name}"
            yield Function(name, child.lineno, _count(child), explained)
        elif isinstance(child, ast.ClassDef):
            yield from _find(child, f"{above}{child.name}.", lines)


def _count(function: ast.AST) -> int:
    number = 1
    for node in ast.walk(function):
        if isinstance(node, _BRANCHES):
            number += 1
        elif isinstance(node, ast.BoolOp):
            number += len(node.values) - 1
        elif isinstance(node, ast.comprehension):
            number += 1 + len(node.ifs)
    return number


def _is_explained(
    function: ast.FunctionDef | ast.AsyncFunctionDef, lines: list[str]
) -> bool:
    said = ast.get_docstring(function) or ""
    first = min([function.lineno, *(each.lineno for each in function.decorator_list)])
    above = 0
    while lines[first - 2 - above].lstrip().startswith("#"):
        above += 1
    return max(len(said.splitlines()), above) >= _FEW
