"""The variables of a shell whose script is followed: each with what it may be."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from envcfg.lint.model import Alternatives, Array, Value
from envcfg.lint.text import Text, Word, joined, unknown

MOST = 4  # values that a variable may have before it is unknown
MANY = 64  # words of an array before it is unknown
# Options of the shell that matter here, by their letters.
_OPTIONS = {
    "e": "errexit", "u": "nounset", "a": "allexport", "x": "xtrace", "E": "errtrace",
}  # fmt: skip
_FIRST_LINE = re.compile(r"#![^\n]*\bbash((?:[ \t]+-\w+)+)")


class Variable(NamedTuple):
    """What a variable may be; *values* is never empty."""

    values: Alternatives
    exported: bool = False


class State:
    """A shell: variables, functions, arguments, files that were written, options.

    A fork holds only what it changes; what it does not, it asks of the shell that it began
    as. So a script of many branches does not cost the square of its length.
    """

    def __init__(
        self, base: State | None = None, *, exported_only: bool = False
    ) -> None:
        """Begin as *base*, or as a shell that has just been started."""
        self.base = base
        self.exported_only = exported_only
        self.own: dict[str, Variable] = {}
        self.functions: Mapping[str, object] = {}
        self.files: dict[str, Text] = {}
        self.arguments: tuple[Word, ...] | None = None
        self.options: frozenset[str] = frozenset()
        self.ended = False

    def fork(self) -> State:
        """Return a shell that begins as this one is."""
        new = State(self)
        new.functions = self.functions
        new.files = self.files
        new.arguments = self.arguments
        new.options = self.options
        return new

    def child(self, arguments: tuple[Word, ...] | None) -> State:
        """Return what a program that is started here begins with."""
        new = State(self, exported_only=True)
        new.files = self.files
        new.arguments = arguments
        return new

    def find(self, name: str) -> Variable | None:
        """Return a variable, if this shell has it."""
        state: State | None = self
        exported = False
        while state is not None:
            if name in state.own:
                found = state.own[name]
                return found if found.exported or not exported else None
            exported = exported or state.exported_only
            state = state.base
        return None

    def get(self, name: str) -> Alternatives:
        """Return what *name* may be."""
        found = self.find(name)
        return found.values if found else (None,)

    def set(self, name: str, value: Value, *, exported: bool = False) -> None:
        """Give *name* one value; what was exported stays so."""
        before = self.find(name)
        is_exported = exported or (before is not None and before.exported)
        is_exported = is_exported or "allexport" in self.options
        self.own[name] = Variable((value,), is_exported)

    def append(self, name: str, value: Value, *, exported: bool = False) -> None:
        """Add *value* behind each value that *name* may have."""
        before = self.find(name) or Variable((None,))
        values: list[Value] = []
        for each in before.values:
            if isinstance(value, Array):
                items = (
                    each.items if isinstance(each, Array) else (each,) if each else ()
                )
                values.append(Array((*items, *value.items)[:MANY]))
            elif isinstance(each, Array):
                values.append(each)
            else:
                outside = unknown(f"${name}", "unknown", -1) if each is None else each
                values.append(joined([outside, value or ()]))
        self.own[name] = Variable(tuple(values), exported or before.exported)

    def export(self, name: str) -> None:
        """Let programs see *name*."""
        before = self.find(name) or Variable((None,))
        self.own[name] = before._replace(exported=True)

    def unset(self, name: str) -> None:
        """Take *name* away."""
        self.own[name] = Variable((None,))

    def forget(self, name: str) -> None:
        """Take *name* for unknown."""
        self.set(name, unknown(f"${name}", "unknown", -1))

    def join(self, branches: list[State]) -> None:
        """Become what is behind *branches*, forks of this: each variable as by any of them.

        A branch that ends the script does not count; where all do, this one ends.
        """
        running = [each for each in branches if not each.ended]
        if not running:
            self.ended = True
            return
        for name in dict.fromkeys(name for each in running for name in each.own):
            variables = [each.find(name) or Variable((None,)) for each in running]
            values = tuple(dict.fromkeys(v for each in variables for v in each.values))
            if len(values) > MOST:
                values = (unknown(f"${name}", "unknown", -1),)
            self.own[name] = Variable(values, any(each.exported for each in variables))
        for each in running:
            if each.functions is not self.functions:
                self.functions = {**self.functions, **each.functions}
        self.options = frozenset.intersection(*(each.options for each in running))
        if len(running) == 1:
            self.arguments = running[0].arguments
        elif any(each.arguments != self.arguments for each in running):
            self.arguments = None


def first_line_options(chars: str) -> frozenset[str]:
    """Return the options that the first line of a script gives its shell (``bash -e``)."""
    line = _FIRST_LINE.match(chars)
    letters = "".join(each[1:] for each in (line[1].split() if line else ()))
    return set_options([f"-{letters}"], frozenset())


def set_options(words: Sequence[str], before: frozenset[str]) -> frozenset[str]:
    """Return the options of a shell behind ``set`` with *words*."""
    for number, word in enumerate(words):
        if word == "--":
            break
        asked = {_OPTIONS[letter] for letter in word[1:] if letter in _OPTIONS}
        if "o" in word[1:]:
            asked |= {*words[number + 1 : number + 2]}
        if word[:1] in ("-", "+"):
            before = before | asked if word[0] == "-" else before - asked
    return before
