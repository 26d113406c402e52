"""A shell that expands: the words while they grow, and parameters as bash has them."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from envcfg.characters import whole_number
from envcfg.lint.model import Array, Value, text_of
from envcfg.lint.state import State
from envcfg.lint.text import Flat, Hole, Piece, Scope, Text, joined, plain
from envcfg.request.admission import HOLE

_MOST = 400  # words of a command that variables give before the rest is unknown
_BLANKS = re.compile(r"[ \t\n]+")
_SPECIAL = frozenset("#?$!-")


class Shell(NamedTuple):
    """Who expands: the state of a shell, its scope, and whom to tell.

    Attributes:
        pick: which of the values of a variable is taken, where there are several.
        expanded: told of each ``$``, and whether its value is known.
        substitute: told of each command whose output is taken.
        unread: told of what is nested too deep to be looked at, by its offset.
        widen: told how many values a variable has.
    """

    state: State
    scope: Scope
    pick: int
    expanded: Callable[[Hole, bool], None]
    substitute: Callable[[Text], None]
    unread: Callable[[int], None]
    widen: Callable[[int], None]


class Words:
    """What a shell makes of a text: words while they grow."""

    def __init__(
        self, flat: Flat, shell: Shell, *, splits: bool = False, depth: int = 0
    ) -> None:
        """Begin with none.

        Args:
            splits: blanks of what is expanded end a word.
            depth: within how many braces and sums of others they stand.
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
        """Add what a ``$`` gave, which is split at blanks unless it is quoted."""
        if quoted or not self.splits:
            self.add(text, quoted=quoted)
            return
        for piece in text:
            if piece.hole:
                loose = piece.hole._replace(loose=True)
                self.add((piece._replace(hole=loose),), quoted=False)
                continue
            last = 0
            for blank in _BLANKS.finditer(piece.chars):
                self.add(piece.cut(last, blank.start()), quoted=False)
                self.end()
                last = blank.end()
                if len(self.done) > _MOST:
                    hole = Hole("unknown", "", "", "unknown", piece.at, loose=True)
                    self.add((Piece(HOLE, piece.at, hole),), quoted=False)
                    return
            self.add(piece.cut(last), quoted=False)

    def open(self, hole: Hole) -> None:
        """Add what only the job knows."""
        self.give((Piece(HOLE, hole.at, hole),), quoted=hole.quoted)

    @property
    def text(self) -> Text:
        """The word that grows."""
        return joined([tuple(self.now)])

    def end(self) -> None:
        """The word ends here, if there is one."""
        if self.begun:
            self.done.append(self.now)
            self.quotes.append(self.quoted)
        self.now, self.begun, self.quoted = [], False, False

    # Parameters

    def hole(self, at: int, name: str, quoted: bool) -> Hole:
        """Return what stands for a variable, the ``$`` of which is at *at*."""
        origin = self.flat.origin(at)
        return Hole("variable", name, name, self.shell.scope, origin, quoted=quoted)

    def value(self, name: str) -> Value:
        """Return the value of a variable that is taken this time."""
        values = self.shell.state.get(name)
        self.shell.widen(len(values))
        return values[min(self.shell.pick, len(values) - 1)]

    def variable(self, at: int, name: str, quoted: bool, index: str = "") -> None:
        """Add what ``$name`` is, or ``${name[index]}``."""
        hole = self.hole(at, name, quoted)
        if name in _SPECIAL:
            self.shell.expanded(hole, False)
            self.open(hole)
        elif name in "@*" or (name.isdigit() and name != "0"):
            self._argument(hole)
        else:
            value, is_all = self.value(name), index in ("[@]", "[*]")
            self.shell.expanded(hole, value is not None)
            if isinstance(value, Array) and is_all:
                self._list(value.items, index, quoted)
            elif value is not None and (is_all or index in ("", "[0]")):
                self.give(text_of(value), quoted=quoted)
            else:
                self.open(hole._replace(loose=is_all))

    def _list(self, items: tuple[Text, ...], sign: str, quoted: bool) -> None:
        for number, each in enumerate(items):
            if number and self.splits and not (quoted and "*" in sign):
                self.end()
            elif number:
                self.add(plain(" "), quoted=True)
            self.give(each, quoted=quoted)

    def _argument(self, hole: Hole) -> None:
        arguments, number = self.shell.state.arguments, whole_number(hole.name)
        self.shell.expanded(hole, arguments is not None)
        if hole.name in "@*" and arguments is not None:
            self._list(tuple(each.text for each in arguments), hole.name, hole.quoted)
        elif hole.name in "@*":
            self.open(hole._replace(loose=True))
        elif (
            arguments is None
            or number is None
            or any(each.is_loose for each in arguments[:number])
        ):
            self.open(hole)
        else:
            known = 0 < number <= len(arguments)
            text = arguments[number - 1].text if known else ()
            self.give(text, quoted=hole.quoted)
