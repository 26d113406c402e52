"""Following a script: statement by statement, as bash would, with nothing run.

Branches are both followed and joined, loops once, functions where they are called. What a
command does is in ``run``; what words are is in ``expand``. Every step is counted and every
depth bounded, so that no script, however made, takes long.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from envcfg.lint.expand import (
    Shell,
    expand_arithmetic,
    expand_document,
    expand_string,
    expand_words,
)
from envcfg.lint.grammar import parse
from envcfg.lint.model import Array, Assignment, Context, Expansion, Model, Value
from envcfg.lint.run import Redirects, record, start_command
from envcfg.lint.source import Source, Sources
from envcfg.lint.state import MOST, State
from envcfg.lint.text import Flat, Hole, Scope, Text, Word, plain, unknown

if TYPE_CHECKING:
    from tree_sitter import Node

_LINE_END = re.compile(r"(?<!\\)\n")
_STEPS = 40_000  # statements that are followed
_DEEPEST = 40  # statements and strings within each other
_BODIES = frozenset({"program", "compound_statement", "do_group", "ERROR"})
_DECLARES = frozenset({"export", "declare", "local", "readonly", "typeset"})
_CONTROL = ("then", "elif_clause", "else_clause", "fi")
_OPERATORS = frozenset(
    {"unary_expression", "binary_expression", "parenthesized_expression"}
)
_REDIRECTS = frozenset({"file_redirect", "heredoc_redirect", "herestring_redirect"})


class Frame(NamedTuple):
    """Where the follower is.

    Attributes:
        parent: number of the command that started this, or None.
        unit: number of the text, 0 that of the file.
        variant: see ``Command``.
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

    def inside(self, **changes: object) -> Frame:
        """Return a frame within this one, in which *changes* of the context hold."""
        context = self.context._replace(**changes)  # type: ignore[arg-type]
        return self._replace(context=context, depth=self.depth + 1)

    def under(self, condition: str, state: State) -> Frame:
        """Return the frame of a branch."""
        conditions = (*self.context.conditions, condition)[-8:]
        return self.inside(conditions=conditions)._replace(state=state)


class Follower:
    """Follows one script, and writes down what it does."""

    def __init__(self, sources: Sources, model: Model) -> None:
        """Begin with an empty *model*."""
        self.sources = sources
        self.model = model
        self.steps = _STEPS
        self.units = 0
        self._seen: set[tuple[int, str]] = set()
        self._uncalled: dict[str, Frame] = {}
        self._bodies: dict[str, Node] = {}

    def follow(self, flat: Flat, source: Source) -> None:
        """Follow a script of *source*, then the functions that nothing called."""
        self.model.read.add(source.base)
        folder = os.path.dirname(source.path)
        frame = Frame(flat, self.model.scope, State(), folder=folder)
        self.run_flat(flat, frame)
        for name in list(self._uncalled):
            if name in self._uncalled:
                left = self._uncalled.pop(name)
                inside = left.inside(function=name)
                state = frame.state.fork()
                state.arguments = None
                self.run(
                    self._bodies[name], inside._replace(state=state, scope="unknown")
                )

    # Texts

    def run_flat(self, flat: Flat, frame: Frame) -> None:
        """Follow a whole text."""
        if frame.depth < _DEEPEST and flat.chars.strip():
            self.run(parse(flat.chars), frame._replace(flat=flat))

    def run_text(self, text: Text, frame: Frame) -> None:
        """Follow a string that a shell is given."""
        self.units += 1
        self.run_flat(
            Flat(text), frame._replace(unit=self.units, depth=frame.depth + 1)
        )

    # Statements

    def run(self, node: Node, frame: Frame) -> None:
        """Follow one node of the tree, whatever it is."""
        self.steps -= 1
        if self.steps < 0 or frame.depth > _DEEPEST:
            return
        kind = node.type
        if kind == "compound_statement" and node.children[0].type == "((":
            self._on_arithmetic(node, frame)
        elif kind in _BODIES:
            self._sequence(node.children, frame._replace(depth=frame.depth + 1))
        elif handler := getattr(self, f"_on_{kind}", None):
            handler(node, frame)

    def _sequence(self, nodes: Sequence[Node], frame: Frame) -> None:
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

    def _on_list(self, node: Node, frame: Frame) -> None:
        parts, operators = [], []
        while node.type == "list" and len(node.children) >= 3:
            left, operator, right = (
                node.children[0],
                node.children[1],
                node.children[-1],
            )
            parts.append(right)
            operators.append(operator.type)
            node = left
        parts.append(node)
        parts.reverse()
        operators.reverse()
        before = ""
        for number, part in enumerate(parts):
            inside = frame
            if number < len(operators):
                rest = _chars(frame.flat, parts[number + 1]).split(maxsplit=1)
                is_lost = operators[number] == "||" and rest[:1] in (["true"], [":"])
                inside = frame.inside(tested=not is_lost, forgiven=is_lost)
            if number:
                state = frame.state.fork()
                self.run(part, inside.under(before, state))
                frame.state.join([frame.state.fork(), state])
            else:
                self.run(part, inside)
            if number < len(operators):
                sign = "" if operators[number] == "&&" else "! "
                before = sign + _chars(frame.flat, part)

    def _on_pipeline(self, node: Node, frame: Frame) -> None:
        parts = [each for each in node.children if each.is_named]
        for each in parts[:-1]:
            inside = frame.inside(piped=True)._replace(state=frame.state.fork())
            self.run(each, inside)
        if parts:
            inside = frame._replace(state=frame.state.fork(), depth=frame.depth + 1)
            self.run(parts[-1], inside)

    def _on_subshell(self, node: Node, frame: Frame) -> None:
        inside = frame._replace(state=frame.state.fork())
        self._sequence(node.children, inside._replace(depth=frame.depth + 1))

    def _on_negated_command(self, node: Node, frame: Frame) -> None:
        self._sequence(node.children, frame.inside(tested=True))

    def _on_if_statement(self, node: Node, frame: Frame) -> None:
        before = frame.state
        states: list[State] = []
        failed = ""
        has_else = False
        clauses = [node, *(c for c in node.children if c.type.endswith("if_clause"))]
        for clause in clauses:
            condition, body = _halves(clause)
            self._sequence(condition, frame.inside(tested=True))
            said = " ".join(
                _chars(frame.flat, each) for each in condition if each.is_named
            )
            states.append(before.fork())
            both = " && ".join(filter(None, (failed, said)))
            self._sequence(body, frame.under(both, states[-1]))
            failed = " && ".join(filter(None, (failed, f"! ( {said} )")))[:400]
        for clause in node.children:
            if clause.type == "else_clause":
                has_else = True
                states.append(before.fork())
                self._sequence(clause.children, frame.under(failed, states[-1]))
        if not has_else:
            states.append(before.fork())
        before.join(states)

    def _on_while_statement(self, node: Node, frame: Frame) -> None:
        body = [each for each in node.children if each.type == "do_group"]
        head = [each for each in node.children if each.type != "do_group"]
        self._sequence(head, frame.inside(tested=True, loop=True))
        self._loop(body, frame, " ".join(_chars(frame.flat, each) for each in head))

    def _on_for_statement(self, node: Node, frame: Frame) -> None:
        values: list[Text] = []
        name = None
        for each in node.children:
            if each.type == "variable_name":
                name = each
            elif each.is_named and each.type != "do_group":
                values += [word.text for word in self.words([each], frame)]
        if name is not None:
            at = frame.flat.origin(name.start_byte)
            said = _chars(frame.flat, name)
            value: Value = unknown(f"${said}", frame.scope, at)
            if len(values) == 1:
                value = values[0]
            self.assign(said, value, frame, at=at, value_at=at, how="for")
        self._loop([c for c in node.children if c.type == "do_group"], frame, "")

    def _on_c_style_for_statement(self, node: Node, frame: Frame) -> None:
        for each in node.children:
            if each.type == "variable_assignment":
                frame.state.forget(_chars(frame.flat, each).partition("=")[0].strip())
        self._loop([c for c in node.children if c.type == "do_group"], frame, "")

    def _loop(self, body: Sequence[Node], frame: Frame, condition: str) -> None:
        once = frame.state.fork()
        inside = frame.under(condition, once).inside(loop=True)
        for each in body:
            self.run(each, inside)
        once.ended = False
        frame.state.join([frame.state.fork(), once])

    def _on_case_statement(self, node: Node, frame: Frame) -> None:
        subject, states, is_whole = "", [], False
        for each in node.children:
            if each.type == "case_item":
                state = frame.state.fork()
                pattern = _chars(frame.flat, each).partition(")")[0].strip()
                is_whole = is_whole or pattern == "*"
                inside = frame.under(f"case {subject} in {pattern}", state)
                body = [c for c in each.children if _is_statement(c)]
                self._sequence(body, inside)
                states.append(state)
            elif each.is_named and not subject:
                subject = _chars(frame.flat, each)
                self.words([each], frame)
        if not is_whole:
            states.append(frame.state.fork())
        frame.state.join(states)

    def _on_function_definition(self, node: Node, frame: Frame) -> None:
        name = node.child_by_field_name("name")
        body = node.child_by_field_name("body")
        if name is None or body is None:
            return
        said = _chars(frame.flat, name)
        frame.state.functions[said] = (body, frame)
        self.model.functions.add(said)
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

    def _on_variable_assignments(self, node: Node, frame: Frame) -> None:
        for each in node.children:
            self.run(each, frame)

    def _on_variable_assignment(self, node: Node, frame: Frame) -> None:
        self._assignment(node, frame)

    def _on_declaration_command(self, node: Node, frame: Frame) -> None:
        word = node.children[0].type if node.children else ""
        said = [_chars(frame.flat, each) for each in node.children[1:]]
        flags = "".join(each for each in said if each.startswith("-"))
        exported = (word == "export" and "n" not in flags) or "x" in flags
        how = "export" if exported else word if word in _DECLARES else "="
        for each in node.children[1:]:
            if each.type == "variable_assignment":
                self._assignment(each, frame, exported=exported, how=how)
            elif each.type == "variable_name" and exported:
                name = _chars(frame.flat, each)
                frame.state.export(name)
                at = frame.flat.origin(each.start_byte)
                note = Assignment(
                    name, None, frame.scope, at, at, True, frame.context,
                    len(self.model.commands), "export", unit=frame.unit, bare=True,
                )  # fmt: skip
                self.model.assignments.append(note)
            elif each.is_named and each.type not in ("variable_name", "word"):
                self.words([each], frame)

    def _on_unset_command(self, node: Node, frame: Frame) -> None:
        for each in node.children[1:]:
            name = _chars(frame.flat, each)
            if each.is_named and name.isidentifier():
                at = frame.flat.origin(each.start_byte)
                self.assign(name, None, frame, at=at, value_at=at, how="unset")
                frame.state.unset(name)

    def _assignment(
        self,
        node: Node,
        frame: Frame,
        *,
        exported: bool = False,
        how: str = "=",
        command: int | None = None,
    ) -> None:
        if not node.children:
            return
        target, flat = node.children[0], frame.flat
        name, subscript, _ = _chars(flat, target).partition("[")
        sign = next((c for c in node.children if c.type in ("=", "+=")), None)
        if sign is None or not name.isidentifier():
            return
        appended = sign.type == "+="
        at, value_at = flat.origin(target.start_byte), flat.origin(sign.end_byte)
        rest = node.children[node.children.index(sign) + 1 :]
        if rest and rest[0].type == "array":
            items = [c for c in rest[0].children if c.is_named and c.type != "comment"]
            value: Value = Array(tuple(w.text for w in self.words(items, frame)))
        else:
            # A value goes on to where the node ends, whatever the grammar made of it.
            value = self.string(sign.end_byte, node.end_byte, frame)
        if subscript:
            value = unknown(f"${name}", frame.scope, at)
            appended = False
        self.assign(
            name, value, frame, at=at, value_at=value_at, how=how,
            exported=exported, appended=appended, command=command,
        )  # fmt: skip

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
            widths.append,
        )

    def words(self, nodes: Sequence[Node], frame: Frame, pick: int = 0) -> list[Word]:
        """Return the words that *nodes* are expanded to."""
        return self.spans(list(_spans(nodes, frame.flat.chars)), frame, pick, [])

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
            return
        inside = frame._replace(
            state=frame.state.fork(), substitution=True, depth=frame.depth + 1
        )
        self.units += 1
        self.run_flat(Flat(text), inside._replace(unit=self.units))

    # Commands

    def _on_test_command(self, node: Node, frame: Frame) -> None:
        sign = node.children[0].type if node.children else "["
        nodes = [leaf for each in node.children[1:-1] for leaf in _leaves(each)]
        at = frame.flat.origin(node.start_byte)
        words = (Word(plain(sign, at), at), *self.words(nodes, frame))
        record(self, words, frame.inside(tested=True), is_builtin=True)

    def _on_redirected_statement(self, node: Node, frame: Frame) -> None:
        body = node.child_by_field_name("body") or node.children[0]
        redirects = [each for each in node.children if each.type in _REDIRECTS]
        if body.type == "command":
            self._command(body, frame, redirects)
            return
        read = self._redirects(redirects, frame)
        if body.type in _REDIRECTS:
            return
        del read
        self.run(body, frame._replace(depth=frame.depth + 1))

    def _on_command(self, node: Node, frame: Frame) -> None:
        self._command(node, frame, [])

    def _redirects(self, nodes: Sequence[Node], frame: Frame) -> Redirects:
        document: Text | None = None
        output: Text = ()
        shell = self.shell(frame, 0, [], "document")
        for node in nodes:
            if node.type == "file_redirect":
                sign = next((c.type for c in node.children if not c.is_named), "")
                targets = [c for c in node.children if c.is_named]
                words = self.words(
                    [c for c in targets if c.type != "file_descriptor"], frame
                )
                if sign in (">", ">>", "&>", ">|", "&>>") and words:
                    output = words[0].text
            elif node.type == "herestring_redirect":
                words = self.words([c for c in node.children if c.is_named], frame)
                document = words[0].text if words else None
            else:
                document = self._document(node, frame, shell)
                inner = [c for c in node.children if c.type == "file_redirect"]
                output = self._redirects(inner, frame).output or output
        return Redirects(document, output)

    def _document(self, node: Node, frame: Frame, shell: Shell) -> Text | None:
        parts = {each.type: each for each in node.children}
        begin, end = parts.get("heredoc_start"), parts.get("heredoc_end")
        if begin is None or end is None:
            return None
        chars = frame.flat.chars
        first = chars.find("\n", begin.end_byte) + 1
        last = chars.rfind("\n", 0, end.end_byte) + 1
        if not 0 < first <= last:
            return ()
        body = frame.flat.cut(first, last)
        is_quoted = any(sign in _chars(frame.flat, begin) for sign in "'\"\\")
        return body if is_quoted else expand_document(body, shell)

    def _command(self, node: Node, frame: Frame, around: Sequence[Node]) -> None:
        assigned = [c for c in node.children if c.type == "variable_assignment"]
        skipped = set(assigned)
        if assigned and _ends_line(frame.flat.chars, assigned[-1], node):
            # The grammar takes several of them for the beginning of the next line.
            for each in assigned:
                self._assignment(each, frame)
            assigned = []
        inner = [c for c in node.children if c.type in _REDIRECTS]
        redirects = self._redirects([*around, *inner], frame)
        heredocs = [c for c in around if c.type == "heredoc_redirect"]
        more = [c for each in heredocs for c in each.children if _is_argument(c)]
        skipped |= set(inner)
        nodes = [c for c in node.children if c not in skipped]
        spans = list(_spans([*nodes, *more], frame.flat.chars))
        piped = [c for each in heredocs for c in each.children if c.type == "pipeline"]

        def sets(within: Frame, number: int) -> None:
            for each in assigned:
                self._assignment(each, within, exported=True, command=number)

        said: set[tuple[str, ...]] = set()
        pick, width = 0, 1
        while pick < min(width, MOST):
            widths: list[int] = []
            words = self.spans(spans, frame, pick, widths)
            width = max([width, *widths])
            key = tuple(each.shown for each in words)
            if key not in said:
                said.add(key)
                inside = frame
                if pick:
                    inside = frame._replace(state=frame.state.fork(), variant=pick)
                start_command(
                    self, tuple(words), inside, redirects, sets if assigned else None
                )
            pick += 1
        for each in piped:
            for command in each.children:
                if command.type == "command" and redirects.document is not None:
                    start_command(
                        self,
                        tuple(self.words(command.children, frame)),
                        frame,
                        redirects,
                    )

    def _on_arithmetic(self, node: Node, frame: Frame) -> None:
        shell = self.shell(frame, 0, [])
        text = expand_arithmetic(frame.flat, node.start_byte, node.end_byte - 2, shell)
        at = frame.flat.origin(node.start_byte)
        words = (Word(plain("((", at), at), Word(text, at))
        record(self, words, frame.inside(tested=True), is_builtin=True)


def _halves(clause: Node) -> tuple[list[Node], list[Node]]:
    """Return condition and body of a branch."""
    condition: list[Node] = []
    body: list[Node] = []
    part = condition
    for each in clause.children:
        if each.type == "then":
            part = body
        elif each.type in _CONTROL:
            break
        else:
            part.append(each)
    return condition, body


def _ends_line(chars: str, last: Node, command: Node) -> bool:
    """Return whether a line ends between the last assignment and the command's name."""
    name = command.child_by_field_name("name")
    if name is None:
        return False
    return bool(_LINE_END.search(chars, last.end_byte, name.start_byte))


def _is_statement(node: Node) -> bool:
    return node.is_named and (
        node.type.endswith(("command", "statement", "assignment", "assignments"))
        or node.type in ("list", "pipeline", "subshell", "ERROR")
    )


def _is_argument(node: Node) -> bool:
    return node.is_named and node.type in (
        "word", "string", "raw_string", "simple_expansion", "expansion", "concatenation",
        "number",
    )  # fmt: skip


def _leaves(node: Node, depth: int = 0) -> Iterator[Node]:
    """Yield the words of a test."""
    if node.type in _OPERATORS and depth < _DEEPEST:
        for each in node.children:
            yield from _leaves(each, depth + 1)
    elif node.end_byte > node.start_byte:
        yield node


def _spans(nodes: Sequence[Node], chars: str) -> Iterator[tuple[int, int]]:
    """Yield where each word stands; what touches is one word, as it is to bash."""
    begin = end = -1
    for node in nodes:
        if node.type == "comment" or node.end_byte == node.start_byte:
            continue
        if 0 <= end <= node.start_byte and not chars[end : node.start_byte].replace(
            "\\\n", ""
        ):
            end = node.end_byte
            continue
        if begin >= 0:
            yield begin, end
        begin, end = node.start_byte, node.end_byte
    if begin >= 0:
        yield begin, end


def _chars(flat: Flat, node: Node) -> str:
    return flat.chars[node.start_byte : node.end_byte]
