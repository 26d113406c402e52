"""Where in a script each command stands, as the follower of lint comes by it."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from envcfg.lint.follow import Follower, Frame
from envcfg.lint.grammar import chars_of, parse
from envcfg.lint.model import Array, Model
from envcfg.lint.reading import STATEMENTS, read_with, scope_of
from envcfg.lint.source import Source, Sources
from envcfg.lint.text import HOLE, Flat, Hole, Piece, Text, plain

if TYPE_CHECKING:
    from tree_sitter import Node

_RAW = re.compile(r"\$\{[^{}\"'`\\]*\}")


class Stood(NamedTuple):
    """A command of the script itself.

    Attributes:
        start, end: offsets.
        first, behind: which commands of the model it gave.
        redirects: where it writes, as it stands among its words.
        reads: a part of the script is its input.
    """

    start: int
    end: int
    first: int
    behind: int
    redirects: tuple[str, ...] = ()
    reads: bool = False


class Statement(NamedTuple):
    """A statement at the top of the script, or a comment: offsets and kind."""

    start: int
    end: int
    kind: str


class Script(NamedTuple):
    """A script as it was read."""

    source: Source
    sources: Sources
    model: Model
    stood: tuple[Stood, ...]
    statements: tuple[Statement, ...]

    def line(self, at: int) -> int:
        """Return the number of the line of an offset in the script."""
        return self.source.chars.count("\n", 0, at) + 1

    def safe(self, text: Text, stood: Stood | None = None) -> Text:
        """Return *text* so that it means the same where the step stands.

        What was put into a variable before is that variable, as it may differ when it is
        expanded once more; what was written otherwise than it seems is as it was written.
        """
        return tuple(self._safe(each, stood) for each in text)

    def spread(self, text: Text, stood: Stood) -> Text:
        """Return *text* in which a bare ``*``, ``{``, ``~`` of the step stays bare."""
        found: list[Piece] = []
        bare = _bare(self.source.chars, stood.start, stood.end)
        for piece in text:
            at = piece.at - self.source.base
            if piece.hole or not stood.start <= at < stood.end:
                found.append(piece)
                continue
            for n, sign in enumerate(piece.chars):
                here = piece.at + n
                if at + n in bare:
                    hole = Hole("unknown", sign, "", "batch", here, loose=True)
                    found.append(Piece(HOLE, here, hole))
                else:
                    found.append(Piece(sign, here))
        return tuple(found)

    def _safe(self, piece: Piece, stood: Stood | None) -> Piece:
        """Return *piece* so that it means the same where the step stands.

        What stands in the step itself is expanded where it stood, and only has to be
        written as it was. Anything else was expanded before. If a variable holds it, that
        variable is taken. If it may be an item of an array, or an argument of a function,
        nothing there means the same, and it is unknown. The rest are variables that still
        have their value.
        """
        hole = piece.hole
        if hole is None or hole.at < 0:
            return piece
        base = self.source.base
        is_here = stood is not None and stood.start <= hole.at - base < stood.end
        unknown = Piece(piece.chars, piece.at, hole._replace(kind="unknown", text=""))
        is_argument = not hole.name.isidentifier()
        if not is_here:
            may_be_set = hole.kind != "variable" or bool(hole.op) or is_argument
            may_be_set = may_be_set or hole.name in self.model.set_names()
            if may_be_set and (name := self._held_by(hole)):
                quoted = hole.quoted and not hole.loose
                held = Hole("variable", name, name, hole.scope, -1, quoted=quoted)
                return Piece(piece.chars, piece.at, held._replace(loose=hole.loose))
            if self._is_item(hole):
                return unknown
        if hole.kind != "variable":
            return piece
        if is_argument and not is_here:  # of a function they are others
            return unknown
        return self._as_written(piece, hole)

    def _as_written(self, piece: Piece, hole: Hole) -> Piece:
        """Return a variable by its name alone, if it was written so; else as it was."""
        found = self.sources.find(hole.at)
        name = re.escape(hole.name)
        form = rf"\$(?:{name}(?!\w)|\{{{name}(?:\}}|:?-|\[@\]\}}))"
        at = hole.at - found.base
        if written := re.compile(form).match(found.chars, at):
            is_several = "[" in written[0] or not hole.name.isidentifier()
            if hole.loose and hole.quoted and not is_several:  # split where it was used
                hole = hole._replace(quoted=False)
            return piece._replace(hole=hole)
        # As it was written: its own shell expands it as before.
        raw = _RAW.match(found.chars, at)
        said = raw[0] if raw and hole.name in raw[0] else ""
        return Piece(piece.chars, piece.at, hole._replace(kind="unknown", text=said))

    def _is_item(self, hole: Hole) -> bool:
        """Return whether it may be several items of an array, or only the first of them."""
        if hole.kind == "variable":
            return False
        return any(
            piece.hole and piece.hole.at == hole.at
            for each in self.model.assignments
            if isinstance(each.value, Array)
            for item in each.value.items
            for piece in item
        )

    def _held_by(self, hole: Hole) -> str:
        """Return the one variable whose value is this and nothing else, if any."""
        names = [
            each.name
            for each in self.model.assignments
            if isinstance(each.value, tuple)
            and len(each.value) == 1
            and isinstance(each.value[0], Piece)
            and each.value[0].hole
            and each.value[0].hole.at == hole.at
        ]
        set_once = [each.name for each in self.model.assignments].count
        return names[0] if names and set_once(names[0]) == 1 else ""


class _Tracer(Follower):
    def __init__(self, sources: Sources, model: Model, source: Source) -> None:
        super().__init__(sources, model, STATEMENTS)
        self.source = source
        self.stood: list[Stood] = []

    def run(self, node: Node, frame: Frame) -> None:
        """Follow *node*, and note what it gave."""
        first = len(self.model.commands)
        super().run(node, frame)
        body = node
        if node.type == "redirected_statement":
            body = node.child_by_field_name("body") or node
        if body.type != "command" or frame.unit or len(self.model.commands) == first:
            return
        start = frame.flat.origin(body.start_byte) - self.source.base
        end = start + body.end_byte - body.start_byte
        inner = [
            chars_of(frame.flat, each)
            for each in body.children
            if each.type == "file_redirect"
        ]
        parts = {each.type for each in (*node.children, *body.children)}
        if 0 <= start < end <= len(self.source.chars):
            behind = len(self.model.commands)
            reads = bool(parts & {"heredoc_redirect", "herestring_redirect"})
            stood = Stood(start, end, first, behind, tuple(inner), reads)
            self.stood.append(stood)


@lru_cache(maxsize=2)
def _bare(chars: str, start: int, end: int) -> frozenset[int]:
    """Return where signs stand that bash expands to names, between two offsets."""
    found = set()
    quote, at = "", start
    while at < end:
        sign = chars[at]
        if sign == "\\" and quote != "'":
            at += 2
            continue
        if quote:
            quote = "" if sign == quote else quote
        elif sign in "'\"":
            quote = sign
        elif sign in "*?[]{}," or (
            sign == "~" and chars[at - 1 : at] in (" ", "\t", "\n")
        ):
            found.add(at)
        at += 1
    return frozenset(found)


def read_script(source: Source, sources: Sources) -> Script:
    """Read a script, with what it sources and starts."""
    tracer = _Tracer(sources, Model(source.path, scope_of(source)), source)
    model = read_with(tracer, Flat(plain(source.chars, source.base)), source)
    statements = tuple(
        Statement(each.start_byte, each.end_byte, each.type)
        for each in parse(source.chars).children
        if each.end_byte > each.start_byte and (each.is_named or each.type == "&")
    )
    return Script(source, sources, model, tuple(tracer.stood), statements)
