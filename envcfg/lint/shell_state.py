"""The variables of a simulated shell, each with its possible values."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence, Sized

from envcfg.lint.script_model import Alternatives, Array, ShellVariable, Value, texts
from envcfg.lint.traced_text import Text, Word, joined, unknown

MOST = 4  # values of a variable; one with more is unknown
MANY = 64  # words of an array; one with more is unknown
# Options of the shell that matter for rules, by their letters.
_OPTIONS = {
    "e": "errexit", "u": "nounset", "a": "allexport", "x": "xtrace", "E": "errtrace",
}  # fmt: skip
Keeps = Callable[[str], bool]
_UNSET = ShellVariable((None,))
_FIRST_LINE = re.compile(r"#![^\n]*\bbash((?:[ \t]+-\w+)+)")


class State:
    """A shell: variables, functions, arguments, written files, options.

    A fork holds only its own changes, and reads other values from its base. A script with
    many branches therefore does not cost the square of its length.
    """

    def __init__(self, clock: Sized, base: State | None = None) -> None:
        """Begin as *base*, or as a new shell; the length of *clock* is the time."""
        self.base = base
        self.clock = clock
        self.time: int | None = None  # the time of all its assignments, if it is one
        # Returns whether a new program gets an exported variable; None: the same program.
        self.keeps: Keeps | None = None
        self.prefixes: tuple[
            str, ...
        ] = ()  # of variables for the inside of a container
        self.own: dict[str, list[tuple[int, ShellVariable]]] = {}
        self.functions: Mapping[str, object] = {}
        # Functions that ``export -f`` passes on to other shells.
        self.passed: Mapping[str, object] = {}
        self.files: dict[str, Text] = {}
        self.arguments: tuple[Word, ...] | None = None
        self.options: frozenset[str] = frozenset()
        self.ended = False

    def fork(self) -> State:
        """Return a shell that begins in the current state."""
        new = State(self.clock, self)
        new.functions = self.functions
        new.passed = self.passed
        new.files = self.files
        new.arguments = self.arguments
        new.options = self.options
        return new

    def child(
        self, arguments: tuple[Word, ...] | None, keeps: Keeps = lambda _: True
    ) -> State:
        """Return the initial state of a program that is started here."""
        new = State(self.clock, self)
        new.keeps = keeps
        new.passed = self.passed
        new.files = self.files
        new.arguments = arguments
        return new

    def find(self, name: str, time: int | None = None) -> ShellVariable | None:
        """Return a variable, if this shell has it, or had it at a *time*."""
        state: State | None = self
        exported = False
        while state is not None:
            for begin, variable in reversed(state.own.get(name, ())):
                if time is None or begin <= time:
                    # A new program does not see variables that are not exported.
                    return variable if variable.exported or not exported else None
            if state.keeps is not None and state.base is not None:
                for prefix in state.prefixes:
                    if inside := state.base.find(prefix + name, time):
                        return inside
                if not state.keeps(name):
                    return None
                exported = True
            state = state.base
        return None

    def _put(self, name: str, variable: ShellVariable) -> None:
        time = len(self.clock) if self.time is None else self.time
        self.own.setdefault(name, []).append((time, variable))

    def get(self, name: str) -> Alternatives:
        """Return the possible values of *name*."""
        variable = self.find(name)
        return variable.values if variable else (None,)

    def set(
        self, name: str, value: Value, *, exported: bool = False, origin: int = -1
    ) -> None:
        """Assign one value to *name*; an exported variable stays exported."""
        before = self.find(name)
        is_exported = exported or (before is not None and before.exported)
        is_exported = is_exported or "allexport" in self.options
        self._put(name, ShellVariable((value,), is_exported, origin))

    def append(self, name: str, value: Value, *, exported: bool = False) -> None:
        """Append *value* to each possible value of *name*."""
        before = self.find(name) or _UNSET
        values: list[Value] = []
        for value_before in before.values:
            if isinstance(value, Array):
                values.append(Array((*texts(value_before), *value.items)[:MANY]))
            elif isinstance(value_before, Array):
                values.append(value_before)
            else:
                outside = (
                    unknown(f"${name}", "unknown", -1)
                    if value_before is None
                    else value_before
                )
                values.append(joined([outside, value or ()]))
        is_exported = exported or before.exported
        self._put(name, before._replace(values=tuple(values), exported=is_exported))

    def export(self, name: str, *, exported: bool = True) -> None:
        """Export *name* to programs, or no longer."""
        before = self.find(name) or _UNSET
        self._put(name, before._replace(exported=exported))

    def unset(self, name: str) -> None:
        """Unset *name*."""
        # The entry stays, because it must hide a value of the base.
        self._put(name, _UNSET)

    def adopt(self, fork: State, names: frozenset[str]) -> None:
        """Take the variables over that a command has set in *fork*, except *names*."""
        for name in fork.own.keys() - names:
            self.own.setdefault(name, []).extend(fork.own[name])

    def restore(self, name: str, time: int) -> None:
        """Give *name* the value again that it had at a *time*."""
        self._put(name, self.find(name, time) or _UNSET)

    def forget(self, name: str) -> None:
        """Make the value of *name* unknown."""
        self.set(name, unknown(f"${name}", "unknown", -1))

    def changed_since(self, base: State) -> Iterator[str]:
        """Yield the names of variables that this state, a fork of *base*, has set."""
        state: State | None = self
        while state is not None and state is not base:
            yield from state.own
            state = state.base

    def join(self, branches: list[State]) -> None:
        """Merge *branches*, forks of this state: each variable may have the value of any
        branch.

        A branch that ends the script is ignored; if all do, this state ends too.
        """
        running = [branch for branch in branches if not branch.ended]
        if not running:
            self.ended = True
            return
        names = (name for state in running for name in state.changed_since(self))
        for name in dict.fromkeys(names):
            variables = [state.find(name) or _UNSET for state in running]
            values = tuple(
                dict.fromkeys(v for variable in variables for v in variable.values)
            )
            if len(values) > MOST:
                values = (unknown(f"${name}", "unknown", -1),)
            origins = {variable.origin for variable in variables}
            origin = origins.pop() if len(origins) == 1 else -1
            is_exported = any(variable.exported for variable in variables)
            self._put(name, ShellVariable(values, is_exported, origin))
        for state in running:
            if state.functions is not self.functions:
                self.functions = {**self.functions, **state.functions}
        # An option counts only if it is set on every path.
        self.options = frozenset.intersection(*(state.options for state in running))
        if len(running) == 1:
            self.arguments = running[0].arguments
        elif any(state.arguments != self.arguments for state in running):
            self.arguments = None


def first_line_options(chars: str) -> frozenset[str]:
    """Return the options that the first line of a script gives its shell (``bash -e``)."""
    line = _FIRST_LINE.match(chars)
    letters = "".join(part[1:] for part in (line[1].split() if line else ()))
    return set_options([f"-{letters}"], frozenset())


def set_options(words: Sequence[str], before: frozenset[str]) -> frozenset[str]:
    """Return the options of a shell after ``set`` with *words*."""
    for number, word in enumerate(words):
        if word == "--":
            break
        options = {_OPTIONS[letter] for letter in word[1:] if letter in _OPTIONS}
        if "o" in word[1:]:
            options |= {*words[number + 1 : number + 2]}
        if word[:1] in ("-", "+"):
            before = before | options if word[0] == "-" else before - options
    return before
