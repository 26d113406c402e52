"""A shell that expands words, and the words while they grow."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from envcfg.lint.state import State
from envcfg.lint.text import Hole, Piece, Scope, Text, joined, plain
from envcfg.request.admission import HOLE

_MOST = 400  # words of a command that variables give before the rest is unknown
_BLANKS = re.compile(r"[ \t\n]+")


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
    """Words while they grow."""

    def __init__(self, *, splits: bool, depth: int = 0) -> None:
        """Begin with none.

        Args:
            splits: blanks of what is expanded end a word.
            depth: within how many braces and sums of others they stand.
        """
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

    def split(self, text: Text) -> None:
        """Add what an unquoted ``$`` gave, which is split at blanks."""
        if not self.splits:
            self.add(text, quoted=False)
            return
        for piece in text:
            if piece.hole:
                loose = piece.hole._replace(loose=True)
                self.add((piece._replace(hole=loose),), quoted=False)
                continue
            last = 0
            for blank in _BLANKS.finditer(piece.chars):
                self.add(_part(piece, last, blank.start()), quoted=False)
                self.end()
                last = blank.end()
                if len(self.done) > _MOST:
                    hole = Hole("unknown", "", "", "unknown", piece.at, loose=True)
                    self.add((Piece(HOLE, piece.at, hole),), quoted=False)
                    return
            self.add(_part(piece, last, len(piece.chars)), quoted=False)

    def within(self) -> Words:
        """Return words within a brace or a sum of these."""
        return Words(splits=False, depth=self.depth + 1)

    def give(self, text: Text, *, quoted: bool) -> None:
        """Add what a ``$`` gave."""
        if quoted:
            self.add(text, quoted=True)
        else:
            self.split(text)

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


def _part(piece: Piece, low: int, high: int) -> Text:
    at = piece.at + low if piece.at >= 0 else -1
    return plain(piece.chars[low:high], at)
