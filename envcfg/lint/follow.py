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
Handler = Callable[["Frame", "Node"], None]


class Shared:
    """What all frames of one script share.

    Attributes:
        handlers: follow statements, by their types.
        launchers: functions whose arguments envcfg starts.
        uncalled: functions that nothing has called yet, each with its body.
    """

    def __init__(
        self, sources: Sources, model: Model, handlers: Mapping[str, Handler]
    ) -> None:
        """Begin with an empty *model*."""
        self.sources = sources
        self.model = model
        self.handlers = handlers
        self.steps = _STEPS
        self.units = 0
        self.seen: set[tuple[int, str]] = set()
        self.launchers: set[str] = set()
        self.uncalled: dict[str, tuple[Frame, Node]] = {}


class Frame(NamedTuple):
    """Where a script is followed; its methods follow what stands there.

    Attributes:
        parent: number of the command that started this, or None.
        unit: number of the text, 0 that of the file.
        variant: see ``Command``.
        reader: of a substitution, where what it prints is read.
        by_envcfg: see ``Command``.
    """

    shared: Shared
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

    @property
    def model(self) -> Model:
        """What is written down."""
        return self.shared.model

    def inside(self, **changes: object) -> Frame:
        """Return a frame within this one, in which *changes* of the context hold."""
        context = self.context._replace(**changes)  # type: ignore[arg-type]
        return self._replace(context=context, depth=self.depth + 1)

    def under(self, condition: str, state: State) -> Frame:
        """Return the frame of a branch."""
        conditions = (*self.context.conditions, condition)[-8:]
        return self.inside(conditions=conditions)._replace(state=state)

    # Texts

    def run_flat(self, flat: Flat) -> None:
        """Follow a whole text."""
        if self.depth >= _DEEPEST:
            self._leave(_DEEP, flat.origin(0))
        elif flat.chars.strip():
            self._replace(flat=flat).run(parse(flat.chars))

    def run_text(self, text: Text) -> None:
        """Follow a string that a shell is given."""
        self.shared.units += 1
        inside = self._replace(unit=self.shared.units, depth=self.depth + 1)
        inside.run_flat(Flat(text))

    def run_source(self, source: Source) -> None:
        """Follow a file."""
        self.model.read.add(source.base)
        self.shared.units += 1
        folder = os.path.dirname(source.path)
        inside = self._replace(unit=self.shared.units, folder=folder)
        inside.run_flat(Flat(plain(source.chars, source.base)))

    # Statements

    def run(self, node: Node) -> None:
        """Follow one node of the tree, whatever it is."""
        self.shared.steps -= 1
        if self.shared.steps < 0 or self.depth > _DEEPEST:
            why = _LONG if self.shared.steps < 0 else _DEEP
            self._leave(why, self.flat.origin(node.start_byte))
            return
        kind = node.type
        if kind == "compound_statement" and node.children[0].type == "((":
            self.shared.handlers["arithmetic"](self, node)
        elif kind in _BODIES:
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
            if self.state.ended and self.depth > 1:
                return
            inside = self
            if number + 1 < len(nodes) and nodes[number + 1].type == "&":
                inside = self._replace(context=self.context._replace(background=True))
            inside.run(node)

    def _define(self, node: Node) -> None:
        name = node.child_by_field_name("name")
        body = node.child_by_field_name("body")
        if name is None or body is None:
            return
        said = chars_of(self.flat, name)
        self.state.functions = {**self.state.functions, said: (self, body)}
        self.model.functions.add(said)
        if _LAUNCHER.search(chars_of(self.flat, body)):
            self.shared.launchers.add(said)
        self.shared.uncalled[said] = self, body

    def call(self, name: str, arguments: tuple[Word, ...]) -> None:
        """Follow a function of the state of this frame."""
        home: Frame
        body: Node
        home, body = self.state.functions[name]  # type: ignore[misc]
        self.shared.uncalled.pop(name, None)
        before = self.state.arguments
        self.state.arguments = arguments
        if self.depth < _DEEPEST // 2 and self.context.function != name:
            inside = self.inside(function=name)
            inside._replace(flat=home.flat, unit=home.unit).run(body)
        self.state.ended = False
        self.state.arguments = before

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
        """Give a variable a value, and write it down."""
        state = self.state
        if appended:
            state.append(name, value, exported=exported)
        elif value is not None:
            state.set(name, value, exported=exported)
        variable = state.find(name)
        is_exported = exported or bool(variable and variable.exported)
        note = Assignment(
            name, value, self.scope, at, value_at, is_exported, self.context,
            len(self.model.commands), how, command, appended, self.unit,
        )  # fmt: skip
        self.model.assignments.append(note)
        prefix = name.startswith(("SINGULARITYENV_", "APPTAINERENV_"))
        if prefix and isinstance(value, tuple) and not isinstance(value, Array):
            # These are read once more by the shell that starts the container.
            inner = self._replace(scope="container", state=state.fork())
            expand_document(value, inner.shell(0, [], "document"))

    # Words

    def shell(self, pick: int, widths: list[int], use: str = "word") -> Shell:
        """Return who expands here."""
        return Shell(
            self.state,
            self.scope,
            pick,
            lambda hole, known: self._expanded(hole, known, use),
            self._substitute,
            lambda at: self._leave(_DEEP, at),
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
        found: list[Word] = []
        for begin, end in spans:
            found += expand_words(self.flat, begin, end, shell)
        return found

    def string(self, begin: int, end: int) -> Text:
        """Return what stands between two offsets, expanded and not split."""
        return expand_string(self.flat, begin, end, self.shell(0, [], "value"))

    def _leave(self, why: str, at: int) -> None:
        self.model.unread.setdefault(why, at)

    def _expanded(self, hole: Hole, known: bool, use: str) -> None:
        key = (hole.at, self.scope)
        if hole.at >= 0 and key not in self.shared.seen:
            self.shared.seen.add(key)
            number = len(self.model.commands)
            self.model.expansions.append(
                Expansion(hole, self.context, number, known, use)
            )

    def _substitute(self, text: Text) -> None:
        self.shared.steps -= 1
        if self.shared.steps < 0:
            self._leave(_LONG, start(text))
            return
        inside = self._replace(state=self.state.fork(), substitution=True, reader=self)
        inside.run_text(text)


def follow(
    flat: Flat,
    source: Source,
    sources: Sources,
    model: Model,
    handlers: Mapping[str, Handler],
) -> None:
    """Follow a script of *source*, then the functions that nothing called."""
    model.read.add(source.base)
    shared, state = Shared(sources, model, handlers), State()
    state.options = first_line_options(flat.chars)
    folder = os.path.dirname(source.path)
    Frame(shared, flat, model.scope, state, folder=folder).run_flat(flat)
    for name in list(shared.uncalled):
        if name not in shared.uncalled:
            continue
        home, body = shared.uncalled.pop(name)
        inside = state.fork()
        inside.arguments = None
        count = len(model.commands)
        expansions = len(model.expansions)
        frame = home.inside(function=name)
        frame._replace(state=inside, scope="unknown").run(body)
        if name in shared.launchers:
            # It counts only for what envcfg is told there; its $? is its own.
            own = [each for each in model.commands[count:] if each.name in _OWN]
            del model.commands[count:], model.expansions[expansions:]
            for number, each in enumerate(own, count):
                model.commands.append(each._replace(number=number, parent=None))
