"""How bash reads a word: quotes, escapes, variables, substitutions; nothing is run.

The result is what a program gets: words of known text with holes. Each ``$`` that is
expanded on the way is recorded, with the scope of the shell that does it.
"""

from __future__ import annotations

import re

from envcfg.lint.model import text_of
from envcfg.lint.shell import Shell, Words
from envcfg.lint.text import (
    Flat,
    Hole,
    Piece,
    Text,
    Word,
    held,
    joined,
    plain,
    start,
    unknown,
)
from envcfg.request.admission import HOLE

_DEEPEST = 40  # braces and sums within each other
_PLAIN = re.compile(r"[^$`\\\"'\x01<>]+")
_PLAIN_QUOTED = re.compile(r"[^$`\\\"\x01]+")
_PLAIN_HEREDOC = re.compile(r"[^$`\\\x01]+")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|[0-9@*#?$!-]")
_IN_ARITHMETIC = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_BRACES = re.compile(r"([#!]?)([A-Za-z_][A-Za-z0-9_]*|[0-9]+|[@*#?$!-])(\[[^\]]*\])?")
_DEFAULT = re.compile(r":?[-=?+]")


def expand_words(flat: Flat, start_at: int, end: int, shell: Shell) -> list[Word]:
    """Return what the shell makes of one word between *start_at* and *end*."""
    run = _PLAIN.match(flat.chars, start_at, end)
    if run and run.end() == end:  # most words are only what they are
        text = flat.cut(start_at, end)
        where = start(text)
        return [Word(text, where if where >= 0 else flat.origin(start_at))]
    words = _Reader(flat, shell, splits=True)
    words.scan(start_at, end, "word")
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
    words = _Reader(flat, shell)
    words.scan(start_at, end, "word")
    return words.text


def expand_document(text: Text, shell: Shell) -> Text:
    """Return what the shell makes of a here-document without quotes, or the like."""
    words = _Reader(Flat(text), shell)
    words.scan(0, len(words.flat.chars), "document")
    return words.text


def expand_arithmetic(flat: Flat, at: int, close: int, shell: Shell) -> Text:
    """Return the arithmetic between ``((`` at *at* and ``))`` at *close*, as one hole."""
    words = _Reader(flat, shell)
    words.arithmetic(at, close, quoted=True, skip=2)
    return words.text


class _Reader(Words):
    """Reads a text as its shell does, sign by sign."""

    def scan(self, at: int, end: int, mode: str) -> None:
        """Add what stands between two offsets: of a ``word``, or of a ``document``."""
        if self.depth > _DEEPEST:
            self.shell.unread(self.flat.origin(at))
            self.add(unknown("", self.shell.scope, self.flat.origin(at)), quoted=True)
            return
        flat, chars, quoted = self.flat, self.flat.chars, mode == "document"
        within_quotes = _PLAIN_HEREDOC if mode == "document" else _PLAIN_QUOTED
        while at < end:
            plain_run = within_quotes if quoted else _PLAIN
            if run := plain_run.match(chars, at, end):
                self.add(flat.cut(at, run.end()), quoted=quoted)
                at = run.end()
                continue
            sign = chars[at]
            if sign == "\\":
                kept = quoted and chars[at + 1 : at + 2] not in (
                    '$`\\"' if mode == "word" else "$`\\"
                )
                if chars[at + 1 : at + 2] != "\n":
                    text = flat.cut(at if kept else at + 1, min(at + 2, end))
                    self.add(text, quoted=True)
                at += 2
            elif sign == "'":
                close = chars.find("'", at + 1, end)
                close = end if close < 0 else close
                self.add(flat.cut(at + 1, close), quoted=True)
                at = close + 1
            elif sign == '"':
                quoted = not quoted
                self.add((), quoted=True)
                at += 1
            elif sign == HOLE:
                hole = flat.hole(at)
                self.add((Piece(HOLE, hole.at, hole),), quoted=quoted)
                at += 1
            elif sign == "`":
                close = _unescaped(chars, sign, at + 1, end)
                self._substitution(at, at + 1, close, quoted)
                at = close + 1
            elif sign in "<>":  # not in quotes, where _PLAIN_QUOTED takes them
                at = self._process(at, end)
            else:
                at = self._dollar(at, end, quoted)

    def _process(self, at: int, end: int) -> int:
        chars, flat = self.flat.chars, self.flat
        if not chars.startswith("(", at + 1, end):
            self.add(flat.cut(at, at + 1), quoted=False)
            return at + 1
        close = closing(chars, at + 2, end, ")")
        self.shell.substitute(flat.cut(at + 2, close))
        text = chars[at : close + 1].replace(HOLE, "?")
        hole = Hole("process", text, "", self.shell.scope, flat.origin(at))
        self.add((Piece(HOLE, hole.at, hole),), quoted=False)
        return close + 1

    def _dollar(self, at: int, end: int, quoted: bool) -> int:
        chars, flat = self.flat.chars, self.flat
        following = chars[at + 1 : at + 2] if at + 1 < end else ""
        if following == "'" and not quoted:
            close = _unescaped(chars, "'", at + 2, end)
            self.add(flat.cut(at + 2, close), quoted=True)
            return close + 1
        if following == '"' and not quoted:
            return at + 1
        if chars.startswith("$((", at):
            close = closing(chars, at + 3, end, "))")
            if chars.startswith("))", close):
                self.arithmetic(at, close, quoted)
                return close + 2
        if following == "(":
            close = closing(chars, at + 2, end, ")")
            self._substitution(at, at + 2, close, quoted)
            return close + 1
        if following == "{":
            close = closing(chars, at + 2, end, "}")
            self._braces(at, close, quoted)
            return close + 1
        if name := _NAME.match(chars, at + 1, end):
            self.variable(at, name[0], quoted)
            return name.end()
        self.add(flat.cut(at, at + 1), quoted=quoted)
        return at + 1

    def _braces(self, at: int, close: int, quoted: bool) -> None:
        """Add what ``${...}`` is, from the ``$`` to the brace that closes."""
        chars, shell = self.flat.chars, self.shell
        head = _BRACES.match(chars, at + 2, close)
        if not head:
            text = chars[at + 2 : close].replace(HOLE, "?")
            self.add(unknown(text, shell.scope, self.flat.origin(at)), quoted=quoted)
            return
        sign, name, rest = head[1], head[2], chars[head.end() : close]
        if not sign and not rest:
            self.variable(at, name, quoted, head[3] or "")
            return
        hole = self.hole(at, name, quoted)._replace(op=sign or rest[:2])
        default = None if sign else _DEFAULT.match(rest)
        inside = _Reader(self.flat, shell, depth=self.depth + 1)
        if default is None:
            if rest and not rest.startswith(":"):
                inside.scan(head.end(), close, "document")
            shell.expanded(hole, not sign and shell.state.get(name) != (None,))
            self.open(hole)
            return
        inside.scan(head.end() + default.end(), close, "word")
        other = held(inside.text)
        hole = hole._replace(op=default[0], default=other)
        value = self.value(name)
        shell.expanded(hole, value is not None)
        if value is None:
            if default[0].endswith("="):
                shell.state.set(name, (Piece(HOLE, hole.at, hole),))
            self.open(hole)
            return
        first = text_of(value)
        is_there = bool(first) or default[0][0] != ":"
        given = first if is_there else other
        if default[0][-1] == "+":
            given = other if is_there else ()
        self.give(given, quoted=quoted)

    def arithmetic(self, at: int, close: int, quoted: bool, skip: int = 3) -> None:
        """Add what is computed, or as one hole what cannot be; *skip*: signs before it."""
        origin, shell = self.flat.origin(at), self.shell
        expression = Flat(self.flat.cut(at + skip, close))
        inside = _Reader(expression, shell, depth=self.depth + 1)
        inside.scan(0, len(expression.chars), "document")
        for name in _IN_ARITHMETIC.finditer(expression.chars):
            before = expression.chars[max(name.start() - 1, 0) : name.start()]
            if before not in ("$", "{", "#") and not before.isdigit():
                hole = inside.hole(name.start(), name[0], quoted=False)
                shell.expanded(hole, shell.state.get(name[0]) != (None,))
        known = "".join(each.chars if not each.hole else HOLE for each in inside.now)
        if re.fullmatch(r"[0-9]{1,9}", known.strip()):
            self.add(plain(known.strip(), origin), quoted=quoted)
            return
        text, value = expression.chars.replace(HOLE, "?"), held(inside.text)
        hole = Hole("arithmetic", text, "", shell.scope, origin, default=value)
        self.add((Piece(HOLE, origin, hole),), quoted=quoted)

    def _substitution(self, at: int, begin: int, close: int, quoted: bool) -> None:
        self.shell.substitute(self.flat.cut(begin, close))
        text = self.flat.chars[begin:close].replace(HOLE, "?").strip()
        origin = self.flat.origin(at)
        self.open(Hole("command", text, "", self.shell.scope, origin, quoted=quoted))


def _unescaped(chars: str, sign: str, at: int, end: int) -> int:
    """Return where *sign* stands without a backslash, or *end*."""
    while at < end and chars[at] != sign:
        at += 2 if chars[at] == "\\" else 1
    return min(at, end)


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
