"""A symbolic interpreter for bash: it follows each statement and runs nothing.

Both branches are followed and joined, loops once, functions at their calls. Handlers of
statements are passed in (``reading.STATEMENTS``), so that their modules import this one
and not the reverse. ``expand`` expands words. Steps are counted and depths bounded, so
that every script is followed in a short time.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from envcfg.lint.grammar import chars_of, parse, word_spans
from envcfg.lint.script_model import (
    Array,
    Assignment,
    Context,
    Expansion,
    Model,
    ShellText,
    Value,
)
from envcfg.lint.script_source import Source, Sources
from envcfg.lint.shell_expansion import Shell
from envcfg.lint.shell_state import State
from envcfg.lint.traced_text import Flat, Hole, Scope, Text, Word, plain, start
from envcfg.lint.word_expansion import expand_document, expand_string, expand_words

if TYPE_CHECKING:
    from tree_sitter import Node

_STEPS = 40_000  # statements to follow: minutes of work for a hostile script otherwise
_DEEPEST = 40  # levels of nested statements and strings, below Python's recursion limit
_LONG = f"it has more than {_STEPS:,} commands"
_DEEP = f"it is nested more than {_DEEPEST} deep"
_LAUNCHER = re.compile(r'\b(?:envcfg wrap\b[^\n]* --launch-line --|with_envcfg) "\$@"')
_BODIES = frozenset({"program", "do_group", "ERROR"})
Handler = Callable[["Frame", "Node"], None]


class ScriptState:
    """The state that all frames of one script share."""

    def __init__(
        self, sources: Sources, model: Model, handlers: Mapping[str, Handler]
    ) -> None:
        """Begin with an empty *model*."""
        self.sources = sources
        self.model = model
        self.handlers = handlers  # functions that follow statements, by node type
        self.steps = _STEPS
        self.units = 0
        self.seen: set[tuple[int, str]] = set()
        self.returned: list[
            State
        ] = []  # states in which the current function ends early
        self.launchers: set[str] = set()  # functions with arguments that envcfg starts
        # Functions without a call so far, each with its body.
        self.uncalled: dict[str, tuple[Frame, Node]] = {}


class Frame(NamedTuple):
    """A position in a script, with methods that follow the statements there."""

    shared: ScriptState
    flat: Flat
    scope: Scope
    state: State
    context: Context = Context()
    parent: int | None = None  # number of the command that started this, or None
    unit: int = 0  # number of the text; 0 is the file
    variant: int = 0  # see `Command`
    depth: int = 0
    folder: str = "."
    substitution: bool = False
    reader: Frame | None = None  # of a substitution, the frame that reads its output
    piped: Text | None = None  # the text that its first command reads, if known
    by_envcfg: bool = False
    interpreter: str = ""  # the name of the shell that reads it; empty: unknown

    @property
    def model(self) -> Model:
        """The recorded model."""
        return self.shared.model

    def inside(self, **changes: object) -> Frame:
        """Return a frame within this one, in which *changes* of the context hold."""
        context = self.context._replace(**changes)  # type: ignore[arg-type]
        return self._replace(context=context, depth=self.depth + 1)

    def under(self, condition: str, state: State) -> Frame:
        """Return the frame of a branch."""
        # The inner conditions decide, and a limit bounds the memory of deep nesting.
        conditions = (*self.context.conditions, condition)[-8:]
        return self.inside(conditions=conditions)._replace(state=state)

    # Texts

    def run_flat(self, flat: Flat) -> None:
        """Follow a whole text."""
        if self.depth >= _DEEPEST:
            self._leave(_DEEP, flat.origin(0))
        # Blank text needs no parser.
        elif flat.chars.strip():
            self._replace(flat=flat).run(parse(flat.chars))

    def run_text(self, text: Text, *, interpreter: str | None = None) -> None:
        """Follow a string.

        Args:
            text: the string.
            interpreter: the shell that reads it; None: the current shell reads it.
        """
        self.shared.units += 1
        flat = Flat(text)
        # Offsets in a string refer to its pieces, so that each string is its own unit.
        inside = self._replace(unit=self.shared.units, depth=self.depth + 1, piped=None)
        if interpreter is not None:
            self.model.texts.append(ShellText(flat, interpreter))
            inside = inside._replace(interpreter=interpreter)
        inside.run_flat(flat)

    def run_source(self, source: Source, *, interpreter: str) -> None:
        """Follow a file that *interpreter* reads."""
        # A file that one script reads is not read again by itself.
        self.model.read.add(source.base)
        self.shared.units += 1
        folder = os.path.dirname(source.path)
        inside = self._replace(
            unit=self.shared.units, folder=folder, interpreter=interpreter
        )
        flat = Flat(plain(source.chars, source.base))
        self.model.texts.append(ShellText(flat, interpreter))
        inside.run_flat(flat)

    # Statements

    def run(self, node: Node) -> None:
        """Follow one node of the tree, of any type."""
        self.shared.steps -= 1
        if self.shared.steps < 0 or self.depth > _DEEPEST:
            # The user learns the reason, because a skipped part may hold findings.
            why = _LONG if self.shared.steps < 0 else _DEEP
            self._leave(why, self.flat.origin(node.start_byte))
            return
        kind = node.type
        # Broken syntax (ERROR) is followed like a body: the rest is still worth reading.
        if kind in _BODIES:
            self._replace(depth=self.depth + 1).sequence(node.children)
        elif kind == "function_definition":
            self._define(node)
        elif handler := self.shared.handlers.get(kind):
            handler(self, node)

    def sequence(self, nodes: Sequence[Node]) -> None:
        """Follow statements in their order, until one ends the script."""
        for number, node in enumerate(nodes):
            if not node.is_named or node.type == "comment":
                continue
            # At the top, statements after an exit are read too: they may be functions.
            if self.state.ended and self.depth > 1:
                return
            inside = self
            # The grammar puts "&" after the statement, as a sibling.
            if number + 1 < len(nodes) and nodes[number + 1].type == "&":
                context = self.context._replace(background=True)
                inside = self._replace(context=context, state=self.state.fork())
            inside.run(node)

    def _define(self, node: Node) -> None:
        name = node.child_by_field_name("name")
        body = node.child_by_field_name("body")
        if name is None or body is None:
            return
        name_text = chars_of(self.flat, name)
        self.state.functions = {**self.state.functions, name_text: (self, body)}
        self.model.functions.add(name_text)
        # A function that passes "$@" to envcfg starts its arguments as programs.
        if _LAUNCHER.search(chars_of(self.flat, body)):
            self.shared.launchers.add(name_text)
        self.shared.uncalled[name_text] = self, body

    def call(self, name: str, arguments: tuple[Word, ...]) -> None:
        """Follow a function of the state of this frame."""
        home: Frame
        body: Node
        home, body = self.state.functions[name]  # type: ignore[misc]
        self.shared.uncalled.pop(name, None)
        before, begin = self.state.arguments, len(self.model.assignments)
        time = len(self.model.commands) - 1
        self.state.arguments = arguments
        # Recursion is followed once: a second pass teaches nothing new.
        if self.depth < _DEEPEST // 2 and self.context.function != name:
            outer, self.shared.returned = self.shared.returned, []
            inside = self.inside(function=name)
            inside._replace(flat=home.flat, unit=home.unit).run(body)
            if self.shared.returned:
                self.state.join([self.state.fork(), *self.shared.returned])
            self.shared.returned = outer
        # "return" ends the function only, and the script continues.
        self.state.ended = False
        self.state.arguments = before
        for note in self.model.assignments[begin:]:
            if note.is_local and note.context.function == name:
                self.state.restore(note.name, time)

    # Variables

    def assign(
        self,
        name: str,
        value: Value,
        *,
        at: int,
        value_at: int,
        how: str = "=",
        exported: bool = False,
        appended: bool = False,
        command: int | None = None,
    ) -> None:
        """Give a variable a value, and record the assignment."""
        state = self.state
        if appended:
            state.append(name, value, exported=exported)
        # An unknown value must not replace a known one of an outer scope.
        elif value is not None:
            state.set(
                name, value, exported=exported, origin=len(self.model.assignments)
            )
        variable = state.find(name)
        is_exported = exported or bool(variable and variable.exported)
        note = Assignment(
            name, value, self.scope, at, value_at, is_exported, self.context,
            len(self.model.commands), how, command, appended, self.unit,
        )  # fmt: skip
        self.model.assignments.append(note)
        prefix = name.startswith(("SINGULARITYENV_", "APPTAINERENV_"))
        if prefix and isinstance(value, tuple) and not isinstance(value, Array):
            # The shell that starts the container expands these values again.
            inner = self._replace(scope="container", state=state.fork())
            expand_document(value, inner.shell(0, [], "document"))

    # Words

    def shell(self, pick: int, widths: list[int], use: str = "word") -> Shell:
        """Return a shell that expands words in this frame."""
        return Shell(
            self.state,
            self.scope,
            pick,
            lambda hole, value: self._expanded(hole, value, use),
            self._substitute,
            lambda offset: self._leave(_DEEP, offset),
            widths.append,
        )

    def words(self, nodes: Sequence[Node]) -> list[Word]:
        """Return the words that *nodes* are expanded to."""
        return self.spans(list(word_spans(nodes, self.flat.chars)), 0, [])

    def spans(
        self, spans: Sequence[tuple[int, int]], pick: int, widths: list[int]
    ) -> list[Word]:
        """Return the words between pairs of offsets."""
        shell = self.shell(pick, widths)
        words: list[Word] = []
        for begin, end in spans:
            words += expand_words(self.flat, begin, end, shell)
        return words

    def string(self, begin: int, end: int) -> Text:
        """Return the text between two offsets, expanded and not split."""
        return expand_string(self.flat, begin, end, self.shell(0, [], "value"))

    def _leave(self, why: str, offset: int) -> None:
        self.model.unread.setdefault(why, offset)

    def _expanded(self, hole: Hole, is_known: bool, use: str) -> None:
        key = (hole.offset, self.scope)
        # A loop or a second call expands the same place: one entry is enough for rules.
        if hole.offset >= 0 and key not in self.shared.seen:
            self.shared.seen.add(key)
            number = len(self.model.commands)
            self.model.expansions.append(
                Expansion(hole, self.context, number, is_known, use)
            )

    def _substitute(self, text: Text) -> None:
        self.shared.steps -= 1
        if self.shared.steps < 0:
            self._leave(_LONG, start(text))
            return
        # A subshell cannot change the variables of its parent.
        inside = self._replace(state=self.state.fork(), substitution=True, reader=self)
        inside.run_text(text)
