"""Where a source can be changed, and to what: never a docstring, never an annotation."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from itertools import pairwise

from scripts.mutation.places import Place

_COMPARISONS = {
    ast.Lt: "<=",
    ast.LtE: "<",
    ast.Gt: ">=",
    ast.GtE: ">",
    ast.Eq: "!=",
    ast.NotEq: "==",
    ast.Is: "is not",
    ast.IsNot: "is",
    ast.In: "not in",
    ast.NotIn: "in",
}
_ARITHMETIC = {
    ast.Add: "-",
    ast.Sub: "+",
    ast.Mult: "/",
    ast.Div: "*",
    ast.FloorDiv: "/",
    ast.Mod: "*",
    ast.Pow: "*",
    ast.BitOr: "&",
    ast.BitAnd: "|",
    ast.LShift: ">>",
    ast.RShift: "<<",
}
_OPPOSITES = {
    "all": "any",
    "max": "min",
    "startswith": "endswith",
    "removeprefix": "removesuffix",
    "lstrip": "rstrip",
    "partition": "rpartition",
    "lower": "upper",
}
_OPPOSITES |= {new: old for old, new in _OPPOSITES.items()}

# An operator between two operands; what a comment holds is none.
_OPERATOR = re.compile(
    rb"#[^\n]*|(is\s+not|not\s+in|is|in|and|or|<<|>>|<=|>=|==|!=|//|\*\*|[-+*/%|&<>])"
)
_PREFIX = re.compile(rb"[A-Za-z]*")


def find_places(source: bytes, path: str) -> list[Place]:
    """Return all changes of *source*, also the few that ``is_change`` refuses."""
    finder = _Finder(source, path)
    finder.visit(ast.parse(source))
    return finder.places


class _Finder(ast.NodeVisitor):
    def __init__(self, source: bytes, path: str) -> None:
        self.places: list[Place] = []
        self._source = source
        self._path = path
        self._function = 0
        self._lines = [0, *(at.end() for at in re.finditer(rb"\n", source))]

    def _span(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        assert node.end_lineno is not None and node.end_col_offset is not None  # noqa: S101, PT018
        start = self._lines[node.lineno - 1] + node.col_offset
        return start, self._lines[node.end_lineno - 1] + node.end_col_offset

    def _add(self, span: tuple[int, int], new: str, kind: str) -> None:
        start, end = span
        lines = self._source.count(b"\n", start, end)
        line = self._source.count(b"\n", 0, start) + 1
        text = new.encode() + b"\n" * lines
        self.places.append(
            Place(self._path, line, start, end, text, kind, self._function)
        )

    def _between(self, left: ast.expr, right: ast.expr, new: str, kind: str) -> None:
        start, end = self._span(left)[1], self._span(right)[0]
        for found in _OPERATOR.finditer(self._source, start, end):
            if found[1]:
                self._add(found.span(1), new, kind)
                return

    def _visit_all(self, nodes: Iterable[ast.AST | None]) -> None:
        for node in nodes:
            if node is not None:
                self.visit(node)

    # What runs: not what only describes it.

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        outer = self._function
        if not outer:  # calls of inner functions are calls of the outer one
            self._function = min(
                [node.lineno, *(each.lineno for each in node.decorator_list)]
            )
        self._visit_all([*node.args.defaults, *node.args.kw_defaults, *node.body])
        self._function = outer

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self._visit_all(node.body)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        self._visit_all([node.value])

    def visit_Assign(self, node: ast.Assign) -> None:
        names = [each.id for each in node.targets if isinstance(each, ast.Name)]
        if any(_is_description(name) for name in names):
            return
        self.visit(node.value)

    def visit_Expr(self, node: ast.Expr) -> None:
        if isinstance(node.value, ast.Constant):
            return  # a docstring
        if isinstance(node.value, ast.Call):
            self._add(self._span(node), "pass", "call left out")
        self.visit(node.value)

    def visit_If(self, node: ast.If) -> None:
        if isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            return
        self._condition(node.test)
        self.generic_visit(node)

    def visit_IfExp(self, node: ast.IfExp) -> None:
        self._condition(node.test)
        self.generic_visit(node)

    def visit_While(self, node: ast.While) -> None:
        self._add(self._span(node.test), "False", "condition")
        self.generic_visit(node)

    def visit_comprehension(self, node: ast.comprehension) -> None:
        for each in node.ifs:
            self._condition(each)
        self.generic_visit(node)

    def _condition(self, test: ast.expr) -> None:
        for new in ("True", "False"):
            self._add(self._span(test), new, "condition")

    def visit_Return(self, node: ast.Return) -> None:
        if node.value is not None:
            self._add(self._span(node.value), "None", "result")
            self.visit(node.value)

    def visit_Raise(self, node: ast.Raise) -> None:
        self._add(self._span(node), "pass", "raise left out")
        self.generic_visit(node)

    def visit_Break(self, node: ast.Break) -> None:
        self._add(self._span(node), "continue", "loop")

    def visit_Continue(self, node: ast.Continue) -> None:
        self._add(self._span(node), "break", "loop")

    def visit_Call(self, node: ast.Call) -> None:
        called = node.func
        _, end = self._span(called)
        if isinstance(called, ast.Name | ast.Attribute):
            name = called.id if isinstance(called, ast.Name) else called.attr
            if name == "cast":
                self._visit_all(node.args[1:])
                return
            if name in _OPPOSITES:
                self._add((end - len(name), end), _OPPOSITES[name], "function")
        self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> None:
        operands = [node.left, *node.comparators]
        for left, each, right in zip(operands, node.ops, operands[1:], strict=False):
            self._between(left, right, _COMPARISONS[type(each)], "comparison")
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        new = "or" if isinstance(node.op, ast.And) else "and"
        for left, right in pairwise(node.values):
            self._between(left, right, new, "and, or")
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        if isinstance(node.op, ast.Not | ast.USub):
            start, _ = self._span(node)
            sign = 4 if isinstance(node.op, ast.Not) else 1
            self._add((start, start + sign), "", "sign")
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        if new := _ARITHMETIC.get(type(node.op)):
            self._between(node.left, node.right, new, "arithmetic")
        self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        if new := _ARITHMETIC.get(type(node.op)):
            self._between(node.target, node.value, new, "arithmetic")
        self.visit(node.value)

    def visit_Slice(self, node: ast.Slice) -> None:
        for bound in (node.lower, node.upper):
            if bound is not None:
                self._add(self._span(bound), "", "bound left out")
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        value = node.value
        if isinstance(value, bool):
            self._add(self._span(node), str(not value), "truth")
        elif isinstance(value, int | float):
            for new in (value + 1, value - 1):
                self._add(self._span(node), repr(new), "number")
        elif isinstance(value, str | bytes):
            self._text(node, is_empty=not value)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        self._text(node, is_empty=False)
        for part in node.values:
            if isinstance(part, ast.FormattedValue) and self._is_there(part.value):
                self.visit(part.value)

    def _text(self, node: ast.expr, *, is_empty: bool) -> None:
        """Empty a text, or have a letter where there is none."""
        start, end = self._span(node)
        prefix = _PREFIX.match(self._source, start)
        at = prefix.end() if prefix else start
        if self._source[at : at + 1] in {b"'", b'"'}:
            quote = self._source[at : at + 1].decode()
            head = self._source[start:at].decode()
            new = f"{head}{quote}{'x' if is_empty else ''}{quote}"
            self._add((start, end), new, "text")

    def _is_there(self, node: ast.expr) -> bool:
        """Tell whether the tree knows where *node* is: in f-strings old ones do not."""
        start, end = self._span(node)
        try:
            found = ast.parse(self._source[start:end].strip(), mode="eval")
        except (SyntaxError, ValueError):
            return False
        return ast.dump(found.body) == ast.dump(node)


def _is_description(name: str) -> bool:
    """Tell whether what is assigned to *name* is for readers and type checkers."""
    is_type = name[:1].isupper() and not name.isupper()
    return is_type or name in {"__slots__", "__all__"}
