"""Following a script: statement by statement, as bash would, with nothing run.

Branches are both followed and joined, loops once, functions where they are called. What is
done with each kind of statement is handed in (``reading.STATEMENTS``), so that those
modules import this one, and this one none of them; what words are is in ``expand``. Every
step is counted and every depth bounded, so that no script, however made, takes long.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from envcfg.lint.expand import expand_document, expand_string, expand_words
from envcfg.lint.grammar import chars_of, parse, word_spans
from envcfg.lint.model import Array, Assignment, Context, Expansion, Model, Value
from envcfg.lint.shell import Shell
from envcfg.lint.source import Source, Sources
from envcfg.lint.state import State, first_line_options
from envcfg.lint.text import Flat, Hole, Scope, Text, Word, plain, start

if TYPE_CHECKING:
    from tree_sitter import Node

_STEPS = 40_000  # statements that are followed
_DEEPEST = 40  # statements and strings within each other
_LONG = f"it has more than {_STEPS:,} commands"
_DEEP = f"it is nested more than {_DEEPEST} deep"
_LAUNCHER = re.compile(r'\b(?:envcfg wrap\b[^\n]* --launch-line --|with_envcfg) "\$@"')
_OWN = frozenset({"envcfg", "source", ".", "eval"})
_BODIES = frozenset({"program", "compound_statement", "do_group", "ERROR"})


class Frame(NamedTuple):
    """Where the follower is.

    Attributes:
        parent: number of the command that started this, or None.
        unit: number of the text, 0 that of the file.
        variant: see ``Command``.
        reader: of a substitution, where what it prints is read.
        by_envcfg: see ``Command``.
    """

    flat: Flat
    scope: Scope
    state: State
    context: Context = Context()
    parent: int | None = None
    unit: int = 0
    variant: int = 0
    depth: int = 0
    folder: str = "."
    substitution: bool = False
    reader: Frame | None = None
    by_envcfg: bool = False

    def inside(self, **changes: object) -> Frame:
        """Return a frame within this one, in which *changes* of the context hold."""
        context = self.context._replace(**changes)  # type: ignore[arg-type]
        return self._replace(context=context, depth=self.depth + 1)

    def under(self, condition: str, state: State) -> Frame:
        """Return the frame of a branch."""
        conditions = (*self.context.conditions, condition)[-8:]
        return self.inside(conditions=conditions)._replace(state=state)


Handler = Callable[["Follower", "Node", Frame], None]


class Follower:
    """Follows one script, and writes down what it does."""

    def __init__(
        self, sources: Sources, model: Model, handlers: Mapping[str, Handler]
    ) -> None:
        """Begin with an empty *model*; *handlers* follow statements, by their types."""
        self.sources = sources
        self.model = model
        self.handlers = handlers
        self.steps = _STEPS
        self.units = 0
        self._seen: set[tuple[int, str]] = set()
        self.launchers: set[str] = set()  # functions whose arguments envcfg starts
        self._uncalled: dict[str, Frame] = {}
        self._bodies: dict[str, Node] = {}

    def follow(self, flat: Flat, source: Source) -> None:
        """Follow a script of *source*, then the functions that nothing called."""
        self.model.read.add(source.base)
        folder = os.path.dirname(source.path)
        state = State()
        state.options = first_line_options(flat.chars)
        frame = Frame(flat, self.model.scope, state, folder=folder)
        self.run_flat(flat, frame)
        for name in list(self._uncalled):
            if name in self._uncalled:
                left = self._uncalled.pop(name)
                inside = left.inside(function=name)
                state = frame.state.fork()
                state.arguments = None
                count = len(self.model.commands), len(self.model.expansions)
                self.run(
                    self._bodies[name], inside._replace(state=state, scope="unknown")
                )
                if name in self.launchers:
                    self._keep_own(*count)

    def _keep_own(self, commands: int, expansions: int) -> None:
        """Forget the end of a model, except what envcfg is told; its ``$?`` is its own."""
        model = self.model
        own = [each for each in model.commands[commands:] if each.name in _OWN]
        del model.commands[commands:], model.expansions[expansions:]
        for number, each in enumerate(own, commands):
            model.commands.append(each._replace(number=number, parent=None))

    # Texts

    def run_flat(self, flat: Flat, frame: Frame) -> None:
        """Follow a whole text."""
        if frame.depth >= _DEEPEST:
            self._leave(_DEEP, flat.origin(0))
        elif flat.chars.strip():
            self.run(parse(flat.chars), frame._replace(flat=flat))

    def run_text(self, text: Text, frame: Frame) -> None:
        """Follow a string that a shell is given."""
        self.units += 1
        self.run_flat(
            Flat(text), frame._replace(unit=self.units, depth=frame.depth + 1)
        )

    def run_source(self, source: Source, frame: Frame) -> None:
        """Follow a file."""
        self.model.read.add(source.base)
        self.units += 1
        inside = frame._replace(unit=self.units, folder=os.path.dirname(source.path))
        self.run_flat(Flat(plain(source.chars, source.base)), inside)

    # Statements

    def run(self, node: Node, frame: Frame) -> None:
        """Follow one node of the tree, whatever it is."""
        self.steps -= 1
        if self.steps < 0 or frame.depth > _DEEPEST:
            why = _LONG if self.steps < 0 else _DEEP
            self._leave(why, frame.flat.origin(node.start_byte))
            return
        kind = node.type
        if kind == "compound_statement" and node.children[0].type == "((":
            self.handlers["arithmetic"](self, node, frame)
        elif kind in _BODIES:
            self.sequence(node.children, frame._replace(depth=frame.depth + 1))
        elif kind == "function_definition":
            self._define(node, frame)
        elif handler := self.handlers.get(kind):
            handler(self, node, frame)

    def sequence(self, nodes: Sequence[Node], frame: Frame) -> None:
        """Follow statements in their order, until one ends the script."""
        for number, node in enumerate(nodes):
            if not node.is_named or node.type == "comment":
                continue
            if frame.state.ended and frame.depth > 1:
                return
            following = nodes[number + 1].type if number + 1 < len(nodes) else ""
            inside = frame
            if following == "&":
                context = frame.context._replace(background=True)
                inside = frame._replace(context=context)
            self.run(node, inside)

    def _define(self, node: Node, frame: Frame) -> None:
        name = node.child_by_field_name("name")
        body = node.child_by_field_name("body")
        if name is None or body is None:
            return
        said = chars_of(frame.flat, name)
        state = frame.state
        state.functions = {**state.functions, said: (body, frame)}
        self.model.functions.add(said)
        if _LAUNCHER.search(chars_of(frame.flat, body)):
            self.launchers.add(said)
        self._uncalled[said], self._bodies[said] = frame, body

    def call(self, name: str, arguments: tuple[Word, ...], frame: Frame) -> None:
        """Follow a function of the state of *frame*."""
        body: Node
        home: Frame
        body, home = frame.state.functions[name]  # type: ignore[misc]
        self._uncalled.pop(name, None)
        before = frame.state.arguments
        frame.state.arguments = arguments
        inside = frame.inside(function=name)._replace(flat=home.flat, unit=home.unit)
        if frame.depth < _DEEPEST // 2 and frame.context.function != name:
            self.run(body, inside)
        frame.state.ended = False
        frame.state.arguments = before

    # Variables

    def assign(
        self,
        name: str,
        value: Value,
        frame: Frame,
        *,
        at: int,
        value_at: int,
        how: str = "=",
        exported: bool = False,
        appended: bool = False,
        command: int | None = None,
    ) -> None:
        """Give a variable a value, and write it down."""
        state = frame.state
        if appended:
            state.append(name, value, exported=exported)
        elif value is not None:
            state.set(name, value, exported=exported)
        variable = state.find(name)
        is_exported = exported or bool(variable and variable.exported)
        note = Assignment(
            name, value, frame.scope, at, value_at, is_exported, frame.context,
            len(self.model.commands), how, command, appended, frame.unit,
        )  # fmt: skip
        self.model.assignments.append(note)
        prefix = name.startswith(("SINGULARITYENV_", "APPTAINERENV_"))
        if prefix and isinstance(value, tuple) and not isinstance(value, Array):
            # These are read once more by the shell that starts the container.
            inner = frame._replace(scope="container", state=state.fork())
            expand_document(value, self.shell(inner, 0, [], "document"))

    # Words

    def shell(
        self, frame: Frame, pick: int, widths: list[int], use: str = "word"
    ) -> Shell:
        """Return who expands in *frame*."""
        return Shell(
            frame.state,
            frame.scope,
            pick,
            lambda hole, known: self._expanded(hole, known, frame, use),
            lambda text: self._substitute(text, frame),
            lambda at: self._leave(_DEEP, at),
            widths.append,
        )

    def words(self, nodes: Sequence[Node], frame: Frame, pick: int = 0) -> list[Word]:
        """Return the words that *nodes* are expanded to."""
        return self.spans(list(word_spans(nodes, frame.flat.chars)), frame, pick, [])

    def spans(
        self,
        spans: Sequence[tuple[int, int]],
        frame: Frame,
        pick: int,
        widths: list[int],
    ) -> list[Word]:
        """Return the words between pairs of offsets."""
        shell = self.shell(frame, pick, widths)
        found: list[Word] = []
        for begin, end in spans:
            found += expand_words(frame.flat, begin, end, shell)
        return found

    def string(self, begin: int, end: int, frame: Frame) -> Text:
        """Return what stands between two offsets, expanded and not split."""
        return expand_string(frame.flat, begin, end, self.shell(frame, 0, [], "value"))

    def _leave(self, why: str, at: int) -> None:
        self.model.unread.setdefault(why, at)

    def _expanded(self, hole: Hole, known: bool, frame: Frame, use: str) -> None:
        key = (hole.at, frame.scope)
        if hole.at >= 0 and key not in self._seen:
            self._seen.add(key)
            number = len(self.model.commands)
            self.model.expansions.append(
                Expansion(hole, frame.context, number, known, use)
            )

    def _substitute(self, text: Text, frame: Frame) -> None:
        self.steps -= 1
        if self.steps < 0:
            self._leave(_LONG, start(text))
            return
        inside = frame._replace(
            state=frame.state.fork(),
            substitution=True,
            depth=frame.depth + 1,
            reader=frame,
        )
        self.units += 1
        self.run_flat(Flat(text), inside._replace(unit=self.units))
