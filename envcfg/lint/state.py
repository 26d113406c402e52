"""The variables of a shell while its script is followed: each with the values it may have."""

from __future__ import annotations

from typing import NamedTuple

from envcfg.lint.model import Alternatives, Value
from envcfg.lint.text import Text, Word, unknown

MOST = 4  # values that a variable may have before it is unknown
MANY = 64  # words of an array before it is unknown


class Variable(NamedTuple):
    """What a variable may be; *values* is never empty."""

    values: Alternatives
    exported: bool = False


class State:
    """A shell: variables, functions, arguments, files that were written, options."""

    def __init__(self) -> None:
        """Begin as a shell that has just been started."""
        self.variables: dict[str, Variable] = {}
        self.functions: dict[str, object] = {}
        self.files: dict[str, Text] = {}
        self.arguments: tuple[Word, ...] | None = None
        self.options: frozenset[str] = frozenset()
        self.ended = False

    def fork(self) -> State:
        """Return a shell that begins as this one is."""
        new = State()
        new.variables = dict(self.variables)
        new.functions = dict(self.functions)
        new.files = self.files
        new.arguments = self.arguments
        new.options = self.options
        return new

    def child(self, arguments: tuple[Word, ...] | None) -> State:
        """Return what a program that is started here begins with."""
        new = State()
        new.variables = {n: v for n, v in self.variables.items() if v.exported}
        new.files = self.files
        new.arguments = arguments
        return new

    def get(self, name: str) -> Alternatives:
        """Return what *name* may be."""
        found = self.variables.get(name)
        return found.values if found else (None,)

    def set(self, name: str, value: Value, *, exported: bool = False) -> None:
        """Give *name* one value; what was exported stays so."""
        before = self.variables.get(name)
        is_exported = exported or (before is not None and before.exported)
        is_exported = is_exported or "allexport" in self.options
        self.variables[name] = Variable((value,), is_exported)

    def append(self, name: str, value: Value, *, exported: bool = False) -> None:
        """Add *value* behind each value that *name* may have."""
        from envcfg.lint.model import Array

        before = self.variables.get(name) or Variable((None,))
        values: list[Value] = []
        for each in before.values:
            if isinstance(value, Array):
                items = each.items if isinstance(each, Array) else (each,) if each else ()
                values.append(Array((*items, *value.items)[:MANY]))
            elif isinstance(each, Array):
                values.append(each)
            else:
                outside = unknown(f"${name}", "unknown", -1) if each is None else each
                values.append((*outside, *(value or ())))
        is_exported = exported or before.exported
        self.variables[name] = Variable(tuple(values), is_exported)

    def export(self, name: str) -> None:
        """Let programs see *name*."""
        before = self.variables.get(name) or Variable((None,))
        self.variables[name] = before._replace(exported=True)

    def forget(self, name: str) -> None:
        """Take *name* for unknown."""
        self.set(name, unknown(f"${name}", "unknown", -1))


def join(states: list[State], before: State) -> State:
    """Return the state behind branches: what each variable may be by any of them.

    A branch that ends the script is none; *before* where all do.
    """
    running = [each for each in states if not each.ended]
    if not running:
        ended = before.fork()
        ended.ended = True
        return ended
    first = running[0]
    if len(running) == 1:
        return first
    joint = first.fork()
    changed = {
        name
        for each in running[1:]
        for name in {*each.variables, *first.variables}
        if each.variables.get(name) is not first.variables.get(name)
    }
    for name in changed:
        variables = [each.variables.get(name) or Variable((None,)) for each in running]
        values = tuple(dict.fromkeys(v for each in variables for v in each.values))
        if len(values) > MOST:
            values = (unknown(f"${name}", "unknown", -1),)
        exported = any(each.exported for each in variables)
        joint.variables[name] = Variable(values, exported)
    for each in running[1:]:
        joint.functions.update(each.functions)
        joint.options &= each.options
    return joint
