"""A shell that expands: the growing words, and parameters as bash expands them."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from envcfg.common.characters import whole_number
from envcfg.job.request.admission import HOLE
from envcfg.lint.script_model import Array, Value, text_of, texts
from envcfg.lint.shell_state import State
from envcfg.lint.traced_text import (
    Flat,
    Hole,
    Piece,
    Scope,
    Text,
    held,
    joined,
    literal,
    plain,
)

_MOST = 400  # words of a command from variables; the rest is unknown
_BLANKS = re.compile(r"[ \t\n]+")
_SPECIAL = frozenset("#?$!-")


class Shell(NamedTuple):
    """The shell that expands a word: its state, its scope, and the model it reports to."""

    state: State
    scope: Scope
    pick: int  # index of the value to use if a variable has several
    # Receives each `$`, and whether its value is known.
    expanded: Callable[[Hole, bool], None]
    substitute: Callable[[Text], None]  # receives each command with used output
    unread: Callable[[int], None]  # receives the offset of text that is nested too deep
    widen: Callable[[int], None]  # receives the number of values of a variable


class Words:
    """The words that a shell makes of a text, while they grow."""

    def __init__(
        self, flat: Flat, shell: Shell, *, splits: bool = False, depth: int = 0
    ) -> None:
        """Begin without words.

        Args:
            flat: the text.
            shell: the shell.
            splits: True if blanks in an expansion end a word.
            depth: number of enclosing braces and sums.
        """
        self.flat = flat
        self.shell = shell
        self.splits = splits
        self.depth = depth
        self.done: list[list[Piece]] = []
        self.quotes: list[bool] = []
        self.now: list[Piece] = []
        self.begun = self.quoted = False

    def add(self, text: Text, *, quoted: bool) -> None:
        """Add text that is not split."""
        self.now += text
        self.begun = self.begun or quoted or bool(text)
        self.quoted = self.quoted or quoted

    def give(self, text: Text, *, quoted: bool) -> None:
        """Add the result of an expansion, split at blanks unless it is quoted."""
        if quoted or not self.splits:
            self.add(text, quoted=quoted)
            return
        for piece in text:
            if piece.hole:
                # An unknown value without quotes may expand to no word, or to several.
                loose = piece.hole._replace(loose=True)
                self.add((piece._replace(hole=loose),), quoted=False)
                continue
            last = 0
            for blank in _BLANKS.finditer(piece.chars):
                self.add(piece.cut(last, blank.start()), quoted=False)
                self.end()
                last = blank.end()
                if len(self.done) > _MOST:
                    hole = Hole("unknown", "", "", "unknown", piece.offset, loose=True)
                    self.add((Piece(HOLE, piece.offset, hole),), quoted=False)
                    return
            self.add(piece.cut(last), quoted=False)

    def open(self, hole: Hole) -> None:
        """Add a value that only the job knows."""
        self.give((Piece(HOLE, hole.offset, hole),), quoted=hole.quoted)

    @property
    def text(self) -> Text:
        """The current word."""
        return joined([tuple(self.now)])

    def end(self) -> None:
        """End the current word, if there is one."""
        if self.begun:
            self.done.append(self.now)
            self.quotes.append(self.quoted)
        self.now, self.begun, self.quoted = [], False, False

    # Parameters

    def hole(self, offset: int, name: str, quoted: bool) -> Hole:
        """Return the hole for the variable with its ``$`` at *offset*."""
        origin = self.flat.origin(offset)
        return Hole("variable", name, name, self.shell.scope, origin, quoted=quoted)

    def value(self, name: str) -> Value:
        """Return the value of a variable for this variant."""
        values = self.shell.state.get(name)
        self.shell.widen(len(values))
        return values[min(self.shell.pick, len(values) - 1)]

    def variable(
        self, offset: int, name: str, quoted: bool, index: str = "", element: Text = ()
    ) -> None:
        """Add the value of ``$name`` or ``${name[index]}``; *element*: its index."""
        hole = self.hole(offset, name, quoted)
        if name in _SPECIAL:
            self.shell.expanded(hole, False)
            self.open(hole)
        elif name in "@*" or (name.isdigit() and name != "0"):
            self._argument(hole)
        else:
            value, is_all = self.value(name), index in ("[@]", "[*]")
            self.shell.expanded(hole, self.shell.state.get(name) != (None,))
            if isinstance(value, Array) and is_all:
                self._list(value.items, index, quoted)
            elif value is not None and (is_all or not index):
                self.give(text_of(value), quoted=quoted)
            elif is_all or not index:
                self.open(hole._replace(loose=is_all))
            else:
                number = whole_number(literal(element))
                items = texts(value)
                first = items[0][0].hole if items and items[0] else None
                # The content of an array that a command fills is unknown as a whole.
                is_filled = first is not None and first.kind == "unknown"
                if number is None or number >= len(items) or is_filled:
                    self.open(hole._replace(op="[", default=held(element)))
                else:
                    self.give(items[number], quoted=quoted)

    def _list(self, items: tuple[Text, ...], sign: str, quoted: bool) -> None:
        for number, text in enumerate(items):
            # Quoted "${a[*]}" joins all items with blanks into one word.
            if number and self.splits and not (quoted and "*" in sign):
                self.end()
            elif number:
                self.add(plain(" "), quoted=True)
            self.give(text, quoted=quoted)

    def _argument(self, hole: Hole) -> None:
        arguments, number = self.shell.state.arguments, whole_number(hole.name)
        self.shell.expanded(hole, arguments is not None)
        if hole.name in "@*" and arguments is not None:
            self._list(
                tuple(argument.text for argument in arguments), hole.name, hole.quoted
            )
        elif hole.name in "@*":
            self.open(hole._replace(loose=True))
        # After an unknown word the numbers of arguments are uncertain.
        elif (
            arguments is None
            or number is None
            or any(argument.is_loose for argument in arguments[:number])
        ):
            self.open(hole)
        else:
            is_certain = 0 < number <= len(arguments)
            text = arguments[number - 1].text if is_certain else ()
            self.give(text, quoted=hole.quoted)
