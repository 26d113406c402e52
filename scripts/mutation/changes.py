"""Changes of one place in a source, never of a docstring, an annotation or a decorator."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from copy import copy
from typing import NamedTuple

_OPERATORS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.And: ast.Or, ast.Or: ast.And,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult,
    ast.FloorDiv: ast.Div, ast.Mod: ast.Mult, ast.Pow: ast.Mult,
    ast.BitOr: ast.BitAnd, ast.BitAnd: ast.BitOr,
    ast.LShift: ast.RShift, ast.RShift: ast.LShift,
}  # fmt: skip
_DESCRIPTIONS = ("annotation", "returns", "decorator_list", "bases")


class Change(NamedTuple):
    """A change of one source.

    Attributes:
        path: of the source, below the root of the tree.
        line: the first line of the changed code, from 1.
        function: the first line of the outermost function; 0: code that runs at import.
        old, new: the code before and after the change.
        source: the whole source after the change.
    """

    path: str
    line: int
    function: int
    old: str
    new: str
    source: str


def find_changes(source: str, path: str) -> list[Change]:
    """Return all changes of *source*, each of which compiles."""
    tree = ast.parse(source)
    changes = []
    for parent, field, number, function in _places(tree, 0):
        value = getattr(parent, field)
        node = value if number is None else value[number]
        for variant in _variants(node):
            _put(parent, field, number, variant)
            new = ast.unparse(tree)
            _put(parent, field, number, node)
            if _compiles(new):
                change = (ast.unparse(node), ast.unparse(variant), new)
                changes.append(Change(path, node.lineno, function, *change))
    return changes


def _put(parent: ast.AST, field: str, number: int | None, node: ast.AST) -> None:
    if number is None:
        setattr(parent, field, node)
    else:
        getattr(parent, field)[number] = node


def _compiles(source: str) -> bool:
    try:
        compile(source, "changed", "exec")
    except SyntaxError:  # "break" outside of a loop
        return False
    return True


def _places(
    parent: ast.AST, function: int
) -> Iterator[tuple[ast.AST, str, int | None, int]]:
    """Yield every node below *parent*: its parent, its field, its number, its function."""
    if isinstance(parent, ast.FunctionDef) and not function:
        first = [parent.lineno, *(node.lineno for node in parent.decorator_list)]
        function = min(first)
    for field, value in ast.iter_fields(parent):
        # A base class or an annotation only describes the code.
        if field in _DESCRIPTIONS:
            continue
        nodes = list(enumerate(value)) if isinstance(value, list) else [(None, value)]
        for number, node in nodes:
            if isinstance(node, ast.AST) and not _is_description(node):
                if hasattr(node, "lineno"):
                    yield parent, field, number, function
                yield from _places(node, function)


def _is_description(node: ast.AST) -> bool:
    """Return whether *node* is for readers and type checkers: a docstring, a type."""
    match node:
        case ast.Expr(value=ast.Constant()) | ast.JoinedStr():
            return True
        case ast.If(test=ast.Name(id="TYPE_CHECKING")):
            return True
        case ast.Assign(targets=[ast.Name(id=name)]):
            is_type = name[:1].isupper() and not name.isupper()
            return is_type or name in ("__slots__", "__all__")
        case ast.Call(func=ast.Name(id="cast")):
            return True
    return False


def _variants(node: ast.AST) -> Iterator[ast.AST]:
    """Yield changed copies of *node*."""
    match node:
        case ast.Compare(ops=operators):
            for number, operator in enumerate(operators):
                changed = [*operators]
                changed[number] = _opposite(operator)
                yield _with(node, ops=changed)
        case ast.BoolOp(op=operator):
            yield _with(node, op=_opposite(operator))
        case ast.BinOp(op=operator) | ast.AugAssign(op=operator):
            if type(operator) in _OPERATORS:
                yield _with(node, op=_opposite(operator))
        case ast.UnaryOp(op=ast.Not() | ast.USub()):
            yield node.operand
        case ast.If() | ast.IfExp():
            yield _with(node, test=ast.Constant(True))
            yield _with(node, test=ast.Constant(False))
        case ast.While():
            yield _with(node, test=ast.Constant(False))
        case ast.Return(value=ast.expr() as value) if not _is_none(value):
            yield _with(node, value=ast.Constant(None))
        case ast.Raise() | ast.Expr(value=ast.Call()):
            yield ast.Pass()
        case ast.Break():
            yield ast.Continue()
        case ast.Continue():
            yield ast.Break()
        case ast.Constant(value=bool() as is_true):
            yield ast.Constant(not is_true)
        case ast.Constant(value=int() | float() as count):
            yield ast.Constant(count + 1)
            yield ast.Constant(count - 1)
        case ast.Constant(value=str() as text):
            yield ast.Constant("" if text else "x")
        case ast.Constant(value=bytes() as data):
            yield ast.Constant(b"" if data else b"x")


def _opposite(operator: ast.AST) -> ast.AST:
    return _OPERATORS[type(operator)]()


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _with(node: ast.AST, **fields: object) -> ast.AST:
    changed = copy(node)
    for name, value in fields.items():
        setattr(changed, name, value)
    return changed
