"""A shell that expands: the words while they grow, and parameters as bash has them."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from envcfg.characters import whole_number
from envcfg.lint.model import Array, Value
from envcfg.lint.state import State
from envcfg.lint.text import (
    Flat,
    Hole,
    Piece,
    Scope,
    Text,
    held,
    joined,
    plain,
    unknown,
)
from envcfg.request.admission import HOLE

_MOST = 400  # words of a command that variables give before the rest is unknown
_BLANKS = re.compile(r"[ \t\n]+")
Scan = Callable[[Flat, int, int, "Shell", "Words", str], None]
_BRACES = re.compile(r"([#!]?)([A-Za-z_][A-Za-z0-9_]*|[0-9]+|[@*#?$!-])(\[[^\]]*\])?")
_DEFAULT = re.compile(r":?[-=?+]")
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


def expand_braces(
    flat: Flat,
    span: tuple[int, int],
    shell: Shell,
    words: Words,
    *,
    quoted: bool,
    scan: Scan,
) -> None:
    """Add what ``${...}`` is; *span*: from the ``$`` to the brace that closes."""
    at, close = span
    chars = flat.chars
    head = _BRACES.match(chars, at + 2, close)
    if not head:
        text = chars[at + 2 : close].replace(HOLE, "?")
        words.add(unknown(text, shell.scope, flat.origin(at)), quoted=quoted)
        return
    sign, name, index = head[1], head[2], head[3] or ""
    rest = chars[head.end() : close]
    if not sign and not rest:
        expand_variable(flat, at, name, shell, words, quoted, index)
        return
    hole = Hole("variable", name, name, shell.scope, flat.origin(at), quoted=quoted)
    hole = hole._replace(op=sign or rest[:2])
    values = [] if sign else shell.state.get(name)
    default = _DEFAULT.match(rest)
    if not default or sign:
        inside = words.within()
        if rest and not rest.startswith(":"):
            scan(flat, head.end(), close, shell, inside, "document")
        _unknown_of(hole, values, shell, words, quoted)
        return
    inside = words.within()
    scan(flat, head.end() + default.end(), close, shell, inside, "word")
    other = held(inside.text)
    hole = hole._replace(op=default[0], default=other)
    value = _one_of(list(values), shell) if values else None
    shell.expanded(hole, value is not None)
    if value is not None:
        first = _first(value)
        is_there = bool(first) or default[0][0] != ":"
        given = first if is_there else other
        if default[0][-1] == "+":
            given = other if is_there else ()
        words.give(given, quoted=quoted)
        return
    unset: Text = (Piece(HOLE, hole.at, hole),)
    if default[0].endswith("="):
        shell.state.set(name, unset)
    words.give(unset, quoted=quoted)


def expand_variable(
    flat: Flat,
    at: int,
    name: str,
    shell: Shell,
    words: Words,
    quoted: bool,
    index: str = "",
) -> None:
    """Add what ``$name`` is, or ``${name[index]}``."""
    hole = Hole("variable", name, name, shell.scope, flat.origin(at), quoted=quoted)
    if name in _SPECIAL:
        _unknown_of(hole, [], shell, words, quoted)
    elif name in "@*" or (name.isdigit() and name != "0"):
        _argument(hole, shell, words, quoted)
    else:
        values = shell.state.get(name)
        value = _one_of(list(values), shell)
        shell.expanded(hole, value is not None)
        if isinstance(value, Array):
            _items(value, hole, index, words, quoted)
        elif value is not None and index in ("", "[@]", "[*]", "[0]"):
            words.give(value, quoted=quoted)
        else:
            if index in ("[@]", "[*]"):
                hole = hole._replace(loose=True)
            words.give((Piece(HOLE, hole.at, hole),), quoted=quoted)


def _items(value: Array, hole: Hole, index: str, words: Words, quoted: bool) -> None:
    if index in ("[@]", "[*]"):
        _list(value.items, words, quoted and index == "[@]", quoted)
    elif index in ("", "[0]"):
        words.give(value.items[0] if value.items else (), quoted=quoted)
    else:
        words.give((Piece(HOLE, hole.at, hole),), quoted=quoted)


def _list(items: tuple[Text, ...], words: Words, apart: bool, quoted: bool) -> None:
    for number, each in enumerate(items):
        if number:
            if words.splits and (apart or not quoted):
                words.end()
            else:
                words.add(plain(" "), quoted=True)
        words.give(each, quoted=quoted)


def _argument(hole: Hole, shell: Shell, words: Words, quoted: bool) -> None:
    arguments = shell.state.arguments
    shell.expanded(hole, arguments is not None)
    if arguments is None:
        if hole.name in "@*":
            hole = hole._replace(loose=True)
        words.give((Piece(HOLE, hole.at, hole),), quoted=quoted)
    elif hole.name in "@*":
        texts = tuple(each.text for each in arguments)
        _list(texts, words, quoted and hole.name == "@", quoted)
    else:
        number = whole_number(hole.name)
        if number is None or any(each.is_loose for each in arguments[:number]):
            words.give((Piece(HOLE, hole.at, hole),), quoted=quoted)
        else:
            known = 0 < number <= len(arguments)
            words.give(arguments[number - 1].text if known else (), quoted=quoted)


def _unknown_of(
    hole: Hole, values: object, shell: Shell, words: Words, quoted: bool
) -> None:
    shell.expanded(hole, bool(values) and values != (None,))
    words.give((Piece(HOLE, hole.at, hole),), quoted=quoted)


def _one_of(values: list[Value], shell: Shell) -> Value:
    shell.widen(len(values))
    return values[min(shell.pick, len(values) - 1)]


def _first(value: Value) -> Text:
    if isinstance(value, Array):
        return value.items[0] if value.items else ()
    return value or ()
