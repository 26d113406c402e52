"""Statements of a Python program that start or join processes, by its tree; pure.

The program is followed from its top level through the functions and classes that it
names, also in modules next to it. Nothing is executed.
"""

from __future__ import annotations

import ast
import operator
import shlex
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from fnmatch import fnmatchcase
from functools import cache
from typing import Any, NamedTuple

from envcfg.common.datafile import load_kept_file
from envcfg.job.plan.command_launcher import launcher_of, start_kind
from envcfg.job.plan.plan import Statement

# A function that returns path and text of a module by its dotted name, if it is here.
ReadModule = Callable[[str], "tuple[str, str] | None"]
_MOST_MODULES = 300  # looked for, with those that are not here
_DEFINITION = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_COMPARISONS: Mapping[str, Callable[[Any, Any], bool]] = {
    "Eq": operator.eq, "NotEq": operator.ne, "Is": operator.eq, "IsNot": operator.ne,
    "Gt": operator.gt, "GtE": operator.ge, "Lt": operator.lt, "LtE": operator.le,
}  # fmt: skip


def read_python(
    path: str,
    text: str,
    words: Sequence[str],
    read: ReadModule,
    package: str = "",
    settings: Mapping[str, str] = {},
) -> list[Statement]:
    """Return the statements of the program *text*, in the order in which they run.

    Args:
        path: the file, for messages.
        text: its content.
        words: its arguments: an option there decides a test of its value.
        read: returns the other modules.
        package: the dotted name of its package.
        settings: its configuration files as NAME=VALUE, with the place of each.
    """
    follower = _Follower(words, read)
    # A hostile text may be nested too deep, or be no Python.
    try:
        module = follower.parse(path, text, package)
        for word in (*words, *settings):
            text = f"has {settings.get(word, '')}{word.lstrip('.')}"
            sign = _sign_of(word, "words")
            follower.add(ast.parse(""), sign, text, _Position(module))
        follower.visit(module.body, _Position(module))
        # A function that nothing calls here may still run.
        for name in module.definitions:
            follower.enter(name, _Position(module, is_sure=False))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    return follower.statements


@cache
def _table() -> Mapping[str, Any]:
    table: Mapping[str, Any] = load_kept_file("knowledge/program_signs.yaml")
    return table


@cache
def _sign_of(name: str, key: str) -> Mapping[str, Any]:
    """Return the sign with *name* among the patterns of its *key*; empty: none."""
    signs: Sequence[Mapping[str, Any]] = _table()["signs"]
    matches = (sign for sign in signs if _is_in(name, sign.get(key, "")))
    return next(matches, {})


def _is_in(name: str, patterns: str) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns.split())


class _Module:
    """The names and definitions of one file."""

    def __init__(self, path: str, tree: ast.Module, package: str) -> None:
        """Collect them; *package* is the dotted name of its package."""
        self.path, self.body = path, tree.body
        self.names: dict[str, str] = {}  # the full names of imported ones
        self.definitions: dict[str, ast.AST] = {}
        self.defaults: dict[str, object] = {}  # of the options that it declares
        self.assigned: set[str] = set()  # full names with a value of their own
        for node in ast.walk(tree):
            if isinstance(node, ast.Call):
                self._add_default(node)
            elif isinstance(node, ast.Assign):
                names = map(self.full_name, node.targets)
                value = _last(self.full_name(node.value))
                self.assigned |= {name for name in names if _last(name) != value}
            elif isinstance(node, _DEFINITION):
                self.definitions.setdefault(node.name, node)
            elif isinstance(node, ast.Import):
                for name in node.names:
                    first = name.name.partition(".")[0]
                    self.names[name.asname or first] = (
                        name.name if name.asname else first
                    )
            elif isinstance(node, ast.ImportFrom):
                parts = package.split(".") if node.level else []
                parts = parts[: len(parts) + 1 - node.level]
                base = ".".join(filter(None, [*parts, node.module]))
                for name in node.names:
                    self.names[name.asname or name.name] = f"{base}.{name.name}"

    def _add_default(self, call: ast.Call) -> None:
        """Add the default of the option that a call declares, if it is a constant."""
        keys = {pair.arg: pair.value for pair in call.keywords}
        default = keys.get("default")
        value = default.value if isinstance(default, ast.Constant) else ...
        value = False if _text(keys.get("action")) == "store_true" else value
        if _last(self.full_name(call.func)) == "add_argument":
            names = [_option(_text(word)) for word in call.args]
            self.defaults |= dict.fromkeys(names, value)

    def full_name(self, node: ast.AST) -> str:
        """Return the dotted name of an expression; another expression is ``?``."""
        if isinstance(node, ast.Attribute):
            return f"{self.full_name(node.value)}.{node.attr}"
        return self.names.get(node.id, node.id) if isinstance(node, ast.Name) else "?"


class _Position(NamedTuple):
    """The position of a statement."""

    module: _Module
    is_sure: bool = True  # it certainly runs
    is_process: bool = False  # in the target of another process


class _Follower:
    """Follows one program, and collects its statements."""

    def __init__(self, words: Sequence[str], read: ReadModule) -> None:
        """Begin without statements."""
        self.statements: list[Statement] = []
        self._options = {
            _option(word): _constant(word.partition("=")[2] or following)
            for word, following in zip(words, (*words[1:], "--"), strict=False)
            if word.startswith("--")
        }
        self._read = read
        self._modules: dict[str, _Module | None] = {}
        self._methods: dict[str, tuple[_Module, ast.AST]] = {}
        self._seen: set[tuple[ast.AST, bool, bool]] = set()

    def parse(self, path: str, text: str, package: str) -> _Module:
        """Return a file as a module."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            module = _Module(path, ast.parse(text), package)
        self._options = module.defaults | self._options
        attributes = (_last(name) for name in module.assigned if "." in name)
        self._options |= dict.fromkeys(attributes, ...)
        for node in module.definitions.values():
            for method in node.body if isinstance(node, ast.ClassDef) else ():
                if isinstance(method, _DEFINITION):
                    self._methods.setdefault(method.name, (module, method))
        return module

    def enter(self, name: str, now: _Position) -> None:
        """Follow the function or class with a full name, if it is here."""
        found = self._definition(name, now.module, 5)
        if found is None and "." in name:
            found = self._methods.get(_last(name))
        if found is None:
            return
        module, node = found
        keys = [(node, is_sure, now.is_process) for is_sure in (True, now.is_sure)]
        if self._seen.isdisjoint(keys):
            self._seen.add(keys[1])
            nodes = getattr(node, "body", [])
            if isinstance(node, ast.ClassDef):
                inits = (n for n in nodes if getattr(n, "name", "") == "__init__")
                nodes = [*node.bases, *nodes, *(n for i in inits for n in i.body)]
            self.visit(nodes, now._replace(module=module))

    def _definition(
        self, name: str, module: _Module, most: int
    ) -> tuple[_Module, ast.AST] | None:
        """Return the definition with a full name, and its module."""
        if name in module.definitions:
            return module, module.definitions[name]
        home, _, last = name.rpartition(".")
        if not home.replace(".", "").isidentifier() or not most:
            return None
        if home not in self._modules:
            found = self._read(home) if len(self._modules) < _MOST_MODULES else None
            is_package = found is not None and found[0].endswith("__init__.py")
            package = home if is_package else home.rpartition(".")[0]
            self._modules[home] = self.parse(*found, package) if found else None
        other = self._modules[home]
        if other is None:
            return None
        return self._definition(other.names.get(last, last), other, most - 1)

    def visit(self, nodes: Iterable[ast.AST], now: _Position) -> None:
        """Collect the statements of *nodes*; definitions run where they are called."""
        for node in nodes:
            if not isinstance(node, _DEFINITION):
                self._visit(node, now)

    def _visit(self, node: ast.AST, now: _Position) -> None:
        full_name, unsure = now.module.full_name, now._replace(is_sure=False)
        if isinstance(node, ast.If):
            value = self._value(node.test, now.module)
            self.visit([node.test], now)
            self.visit(node.body, now if value and value is not ... else unsure)
            self.visit(node.orelse, unsure if value else now)
            return
        if isinstance(node, ast.ExceptHandler):
            now = unsure
        elif isinstance(getattr(node, "ctx", None), ast.Load):
            name = full_name(node)
            if sign := _sign_of(name, "names"):
                self.add(node, sign, f"calls {name}", now)
            elif isinstance(node, ast.Subscript):
                self._look(node, full_name(node.value), [node.slice], now)
            else:
                self.enter(name, now)
        elif isinstance(node, ast.Compare):
            self._look(node, full_name(node.comparators[0]), [node.left], now)
        elif isinstance(node, ast.Call):
            name = full_name(node.func)
            self._look(node, name, node.args, now)
            if name.endswith(_table()["processes"]):
                for pair in node.keywords:
                    if pair.arg == "target":
                        target = full_name(pair.value)
                        self.enter(target, now._replace(is_process=True))
                        pair.value = node.func
        self.visit(ast.iter_child_nodes(node), now)

    def _value(self, node: ast.AST, module: _Module) -> object:
        """Return the value of a condition; ``...`` if the command does not decide it."""
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.BoolOp):
            values = [self._value(part, module) for part in node.values]
            is_or = isinstance(node.op, ast.Or)
            if any(value is not ... and bool(value) is is_or for value in values):
                return is_or
            return ... if ... in values else not is_or
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            value = self._value(node.operand, module)
            return value if value is ... else not value
        if isinstance(node, ast.Compare):
            sides = [self._value(n, module) for n in (node.left, *node.comparators)]
            compare = _COMPARISONS.get(type(node.ops[0]).__name__)
            try:
                return ... if ... in sides or not compare else compare(*sides)
            except TypeError:  # values that have no order, or several comparisons
                return ...
        if isinstance(node, ast.Call):
            is_absent = _is_in(module.full_name(node.func), _table()["absent"])
            return False if is_absent else ...
        name = module.full_name(node)
        if "." not in name and name in module.assigned:
            return ...
        return "__main__" if name == "__name__" else self._options.get(_last(name), ...)

    def _look(
        self, node: ast.AST, name: str, keys: Sequence[ast.AST], now: _Position
    ) -> None:
        """Look at the words that are given to *name*."""
        for key, patterns in _table()["reads"].items():
            for word in map(_text, keys) if _is_in(name, patterns) else ():
                self.add(node, _sign_of(word, key), f"reads {word}", now)
        if keys and _is_in(name, _table()["commands"]):
            words = [*map(_text, getattr(keys[0], "elts", keys[:1]))]
            words = words if len(words) > 1 else shlex.split(words[0])
            if match := launcher_of(words):
                self.add(node, match[0], f"starts {words[0]}", now)

    def add(
        self, node: ast.AST, sign: Mapping[str, Any], text: str, now: _Position
    ) -> None:
        """Add a statement, unless *sign* is empty."""
        if not sign:
            return
        kind = start_kind(sign)
        if now.is_process and kind == "rank":
            kind, text = "node", f"starts processes: each {text}"
        line, path = getattr(node, "lineno", 0), now.module.path
        self.statements.append(Statement(kind, text, path, line, now.is_sure, sign))


def _last(name: str) -> str:
    return name.rpartition(".")[2]


def _option(word: str) -> str:
    return word.partition("=")[0].lstrip("-").replace("-", "_")


def _constant(text: str) -> object:
    """Return the value of an option from its text; without one, it is a flag."""
    with suppress(SyntaxError, ValueError):
        return True if text.startswith("-") else ast.literal_eval(text)
    return text


def _text(node: ast.AST | None) -> str:
    """Return the text of an expression; ``$`` for an unknown part."""
    if isinstance(node, ast.JoinedStr):
        return "".join(map(_text, node.values))
    if isinstance(node, ast.Constant):
        return str(node.value)
    return "python" if getattr(node, "attr", "") == "executable" else "$"
