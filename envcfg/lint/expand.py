"""How bash reads a word: quotes, escapes, variables, substitutions; nothing is run.

The result is what a program gets: words of known text with holes. Each ``$`` that is
expanded on the way is recorded, with the scope of the shell that does it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from envcfg.lint.model import Array, Value
from envcfg.lint.state import State
from envcfg.lint.text import (
    HOLE,
    Flat,
    Hole,
    Piece,
    Scope,
    Text,
    Word,
    joined,
    plain,
    start,
    unknown,
)

_PLAIN = re.compile(r"[^$`\\\"'\x01]+")
_PLAIN_QUOTED = re.compile(r"[^$`\\\"\x01]+")
_PLAIN_HEREDOC = re.compile(r"[^$`\\\x01]+")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|[0-9@*#?$!-]")
_BRACES = re.compile(r"([#!]?)([A-Za-z_][A-Za-z0-9_]*|[0-9]+|[@*#?$!-])(\[[^\]]*\])?")
_DEFAULT = re.compile(r":?[-=?+]")
_IN_ARITHMETIC = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_BLANKS = re.compile(r"[ \t\n]+")
_SPECIAL = frozenset("#?$!-")


class Shell(NamedTuple):
    """Who expands: the state of a shell, its scope, and whom to tell.

    Attributes:
        pick: which of the values of a variable is taken, where there are several.
        expanded: told of each ``$``, and whether its value is known.
        substitute: told of each command whose output is taken.
        widen: told how many values a variable has.
    """

    state: State
    scope: Scope
    pick: int
    expanded: Callable[[Hole, bool], None]
    substitute: Callable[[Text], None]
    widen: Callable[[int], None]


class _Words:
    """Words while they grow."""

    def __init__(self, splits: bool) -> None:
        self.splits = splits
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
            self.add(_part(piece, last, len(piece.chars)), quoted=False)

    def end(self) -> None:
        """The word ends here, if there is one."""
        if self.begun:
            self.done.append(self.now)
            self.quotes.append(self.quoted)
        self.now, self.begun, self.quoted = [], False, False


def _part(piece: Piece, low: int, high: int) -> Text:
    at = piece.at + low if piece.at >= 0 else -1
    return plain(piece.chars[low:high], at)


def expand_words(flat: Flat, start_at: int, end: int, shell: Shell) -> list[Word]:
    """Return what the shell makes of one word between *start_at* and *end*."""
    words = _Words(splits=True)
    _scan(flat, start_at, end, shell, words, "word")
    words.end()
    at = flat.origin(start_at)
    found = []
    for pieces, quoted in zip(words.done, words.quotes, strict=True):
        text = joined([tuple(pieces)])
        where = start(text)
        if where == at + 1 and quoted:
            where = at  # the quote is part of the word
        found.append(Word(text, where if where >= 0 else at, quoted))
    return found


def expand_string(flat: Flat, start_at: int, end: int, shell: Shell) -> Text:
    """Return what the shell makes of the value of an assignment: nothing is split."""
    words = _Words(splits=False)
    _scan(flat, start_at, end, shell, words, "word")
    return joined([tuple(words.now)])


def expand_document(text: Text, shell: Shell) -> Text:
    """Return what the shell makes of a here-document without quotes, or the like."""
    flat = Flat(text)
    words = _Words(splits=False)
    _scan(flat, 0, len(flat.chars), shell, words, "document")
    return joined([tuple(words.now)])


def expand_arithmetic(flat: Flat, at: int, close: int, shell: Shell) -> Text:
    """Return the arithmetic between ``((`` at *at* and ``))`` at *close*, as one hole."""
    words = _Words(splits=False)
    _arithmetic(flat, at, close, shell, words, quoted=True, skip=2)
    return joined([tuple(words.now)])


def _scan(
    flat: Flat, at: int, end: int, shell: Shell, words: _Words, mode: str
) -> None:
    chars, quoted = flat.chars, mode == "document"
    while at < end:
        here = (
            _PLAIN_HEREDOC
            if mode == "document"
            else _PLAIN_QUOTED
            if quoted
            else _PLAIN
        )
        if run := here.match(chars, at, end):
            words.add(flat.cut(at, run.end()), quoted=quoted)
            at = run.end()
            continue
        sign = chars[at]
        if sign == "\\":
            at = _escape(flat, at, end, words, mode, quoted)
        elif sign == "'":
            close = chars.find("'", at + 1, end)
            close = end if close < 0 else close
            words.add(flat.cut(at + 1, close), quoted=True)
            at = close + 1
        elif sign == '"':
            quoted = not quoted
            words.add((), quoted=True)
            at += 1
        elif sign == HOLE:
            hole = flat.hole(at)
            words.add((Piece(HOLE, hole.at, hole),), quoted=quoted)
            at += 1
        elif sign == "`":
            close = _backtick(chars, at + 1, end)
            _substitution(flat, (at, at + 1, close), shell, words, quoted)
            at = close + 1
        else:
            at = _dollar(flat, at, end, shell, words, quoted)


def _escape(
    flat: Flat, at: int, end: int, words: _Words, mode: str, quoted: bool
) -> int:
    following = flat.chars[at + 1 : at + 2]
    if following == "\n":
        return at + 2
    kept = quoted and following not in ('$`\\"' if mode == "word" else "$`\\")
    words.add(flat.cut(at if kept else at + 1, min(at + 2, end)), quoted=True)
    return at + 2


def _backtick(chars: str, at: int, end: int) -> int:
    while at < end and chars[at] != "`":
        at += 2 if chars[at] == "\\" else 1
    return min(at, end)


def _dollar(
    flat: Flat, at: int, end: int, shell: Shell, words: _Words, quoted: bool
) -> int:
    chars = flat.chars
    following = chars[at + 1 : at + 2] if at + 1 < end else ""
    if following == "'" and not quoted:
        close = at + 2
        while close < end and chars[close] != "'":
            close += 2 if chars[close] == "\\" else 1
        words.add(flat.cut(at + 2, min(close, end)), quoted=True)
        return close + 1
    if following == '"' and not quoted:
        return at + 1
    if chars.startswith("$((", at):
        close = closing(chars, at + 3, end, "))")
        if chars.startswith("))", close):
            _arithmetic(flat, at, close, shell, words, quoted)
            return close + 2
    if following == "(":
        close = closing(chars, at + 2, end, ")")
        _substitution(flat, (at, at + 2, close), shell, words, quoted)
        return close + 1
    if following == "{":
        close = closing(chars, at + 2, end, "}")
        _braces(flat, at, close, shell, words, quoted)
        return close + 1
    if name := _NAME.match(chars, at + 1, end):
        _variable(flat, at, name[0], shell, words, quoted)
        return name.end()
    words.add(flat.cut(at, at + 1), quoted=quoted)
    return at + 1


def closing(chars: str, at: int, end: int, close: str) -> int:
    """Return where what was opened before *at* is closed, or *end*.

    Args:
        close: ``)``, ``))`` or ``}``.
    """
    stack = [close]
    while at < end:
        top, sign = stack[-1], chars[at]
        if sign == "\\":
            at += 2
            continue
        if chars.startswith(top, at):
            stack.pop()
            if not stack:
                return at
            at += len(top)
            continue
        if sign == "'" and top != '"':
            other = chars.find("'", at + 1, end)
            at = end if other < 0 else other
        elif sign == '"':
            stack.append('"')
        elif chars.startswith("${", at):
            stack.append("}")
            at += 1
        elif chars.startswith("$(", at):
            stack.append(")")
            at += 1
        elif sign == "(" and top in (")", "))"):
            stack.append(")")
        at += 1
    return end


def _arithmetic(
    flat: Flat,
    at: int,
    close: int,
    shell: Shell,
    words: _Words,
    quoted: bool,
    skip: int = 3,
) -> None:
    origin, inner = flat.origin(at), flat.cut(at + skip, close)
    expression = Flat(inner)
    inside = _Words(splits=False)
    _scan(expression, 0, len(expression.chars), shell, inside, "document")
    for name in _IN_ARITHMETIC.finditer(expression.chars):
        before = expression.chars[max(name.start() - 1, 0) : name.start()]
        if before not in ("$", "{", "#") and not before.isdigit():
            where = expression.origin(name.start())
            hole = Hole("variable", name[0], name[0], shell.scope, where)
            shell.expanded(hole, shell.state.get(name[0]) != (None,))
    known = "".join(each.chars if not each.hole else HOLE for each in inside.now)
    if re.fullmatch(r"[0-9]{1,9}", known.strip()):
        words.add(plain(known.strip(), origin), quoted=quoted)
        return
    text = expression.chars.replace(HOLE, "?")
    hole = Hole(
        "arithmetic", text, "", shell.scope, origin, default=joined([tuple(inside.now)])
    )
    words.add((Piece(HOLE, origin, hole),), quoted=quoted)


def _substitution(
    flat: Flat,
    span: tuple[int, int, int],
    shell: Shell,
    words: _Words,
    quoted: bool,
) -> None:
    at, begin, close = span
    inner = flat.cut(begin, close)
    shell.substitute(inner)
    text = flat.chars[begin:close].replace(HOLE, "?").strip()
    hole = Hole("command", text, "", shell.scope, flat.origin(at), quoted=quoted)
    found = (Piece(HOLE, hole.at, hole),)
    if quoted:
        words.add(found, quoted=True)
    else:
        words.split(found)


def _braces(
    flat: Flat, at: int, close: int, shell: Shell, words: _Words, quoted: bool
) -> None:
    chars = flat.chars
    head = _BRACES.match(chars, at + 2, close)
    if not head:
        text = chars[at + 2 : close].replace(HOLE, "?")
        words.add(unknown(text, shell.scope, flat.origin(at)), quoted=quoted)
        return
    sign, name, index = head[1], head[2], head[3] or ""
    rest = chars[head.end() : close]
    if not sign and not rest:
        _variable(flat, at, name, shell, words, quoted, index)
        return
    hole = Hole(
        "variable",
        name,
        name,
        shell.scope,
        flat.origin(at),
        op=sign or rest[:2],
        quoted=quoted,
    )
    values = [] if sign else shell.state.get(name)
    default = _DEFAULT.match(rest)
    if not default or sign:
        inside = _Words(splits=False)
        if rest and not rest.startswith(":"):
            _scan(flat, head.end(), close, shell, inside, "document")
        _unknown_of(hole, values, shell, words, quoted)
        return
    inside = _Words(splits=False)
    _scan(flat, head.end() + default.end(), close, shell, inside, "word")
    other = joined([tuple(inside.now)])
    hole = hole._replace(op=default[0], default=other)
    value = _one_of(list(values), shell) if values else None
    shell.expanded(hole, value is not None)
    if value is not None:
        first = _first(value)
        is_there = bool(first) or default[0][0] != ":"
        given = first if is_there else other
        if default[0][-1] == "+":
            given = other if is_there else ()
        _give(given, words, quoted)
        return
    if default[0].endswith("="):
        found: Text = (Piece(HOLE, hole.at, hole),)
        shell.state.set(name, found)
    _give((Piece(HOLE, hole.at, hole),), words, quoted)


def _variable(
    flat: Flat,
    at: int,
    name: str,
    shell: Shell,
    words: _Words,
    quoted: bool,
    index: str = "",
) -> None:
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
            _give(value, words, quoted)
        else:
            if index in ("[@]", "[*]"):
                hole = hole._replace(loose=True)
            _give((Piece(HOLE, hole.at, hole),), words, quoted)


def _items(value: Array, hole: Hole, index: str, words: _Words, quoted: bool) -> None:
    if index in ("[@]", "[*]"):
        _list(value.items, words, quoted and index == "[@]", quoted)
    elif index in ("", "[0]"):
        _give(value.items[0] if value.items else (), words, quoted)
    else:
        _give((Piece(HOLE, hole.at, hole),), words, quoted)


def _list(items: tuple[Text, ...], words: _Words, apart: bool, quoted: bool) -> None:
    for number, each in enumerate(items):
        if number:
            if apart or not quoted:
                words.end()
            else:
                words.add(plain(" "), quoted=True)
        _give(each, words, quoted)


def _argument(hole: Hole, shell: Shell, words: _Words, quoted: bool) -> None:
    arguments = shell.state.arguments
    shell.expanded(hole, arguments is not None)
    if arguments is None:
        if hole.name in "@*":
            hole = hole._replace(loose=True)
        _give((Piece(HOLE, hole.at, hole),), words, quoted)
    elif hole.name in "@*":
        texts = tuple(each.text for each in arguments)
        _list(texts, words, quoted and hole.name == "@", quoted)
    else:
        number = int(hole.name)
        if any(each.is_loose for each in arguments[:number]):
            _give((Piece(HOLE, hole.at, hole),), words, quoted)
        else:
            known = 0 < number <= len(arguments)
            _give(arguments[number - 1].text if known else (), words, quoted)


def _unknown_of(
    hole: Hole, values: object, shell: Shell, words: _Words, quoted: bool
) -> None:
    shell.expanded(hole, bool(values) and values != (None,))
    _give((Piece(HOLE, hole.at, hole),), words, quoted)


def _give(text: Text, words: _Words, quoted: bool) -> None:
    if quoted:
        words.add(text, quoted=True)
    else:
        words.split(text)


def _one_of(values: list[Value], shell: Shell) -> Value:
    shell.widen(len(values))
    return values[min(shell.pick, len(values) - 1)]


def _first(value: Value) -> Text:
    if isinstance(value, Array):
        return value.items[0] if value.items else ()
    return value or ()
