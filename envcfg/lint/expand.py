"""How bash reads a word: quotes, escapes, variables, substitutions; nothing is run.

The result is what a program gets: words of known text with holes. Each ``$`` that is
expanded on the way is recorded, with the scope of the shell that does it.
"""

from __future__ import annotations

import re

from envcfg.lint.shell import Shell, Words, expand_braces, expand_variable
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


def expand_words(flat: Flat, start_at: int, end: int, shell: Shell) -> list[Word]:
    """Return what the shell makes of one word between *start_at* and *end*."""
    run = _PLAIN.match(flat.chars, start_at, end)
    if run and run.end() == end:  # most words are only what they are
        text = flat.cut(start_at, end)
        where = start(text)
        return [Word(text, where if where >= 0 else flat.origin(start_at))]
    words = Words(splits=True)
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
    words = Words(splits=False)
    _scan(flat, start_at, end, shell, words, "word")
    return words.text


def expand_document(text: Text, shell: Shell) -> Text:
    """Return what the shell makes of a here-document without quotes, or the like."""
    flat = Flat(text)
    words = Words(splits=False)
    _scan(flat, 0, len(flat.chars), shell, words, "document")
    return words.text


def expand_arithmetic(flat: Flat, at: int, close: int, shell: Shell) -> Text:
    """Return the arithmetic between ``((`` at *at* and ``))`` at *close*, as one hole."""
    words = Words(splits=False)
    _arithmetic(flat, at, close, shell, words, quoted=True, skip=2)
    return words.text


def _scan(flat: Flat, at: int, end: int, shell: Shell, words: Words, mode: str) -> None:
    if words.depth > _DEEPEST:
        shell.unread(flat.origin(at))
        words.add(unknown("", shell.scope, flat.origin(at)), quoted=True)
        return
    chars, quoted = flat.chars, mode == "document"
    within_quotes = _PLAIN_HEREDOC if mode == "document" else _PLAIN_QUOTED
    while at < end:
        plain_run = within_quotes if quoted else _PLAIN
        if run := plain_run.match(chars, at, end):
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
        elif sign in "<>":  # not in quotes, where _PLAIN_QUOTED takes them
            at = _process(flat, at, end, shell, words)
        else:
            at = _dollar(flat, at, end, shell, words, quoted)


def _escape(
    flat: Flat, at: int, end: int, words: Words, mode: str, quoted: bool
) -> int:
    following = flat.chars[at + 1 : at + 2]
    if following == "\n":
        return at + 2
    kept = quoted and following not in ('$`\\"' if mode == "word" else "$`\\")
    words.add(flat.cut(at if kept else at + 1, min(at + 2, end)), quoted=True)
    return at + 2


def _process(flat: Flat, at: int, end: int, shell: Shell, words: Words) -> int:
    if not flat.chars.startswith("(", at + 1, end):
        words.add(flat.cut(at, at + 1), quoted=False)
        return at + 1
    close = closing(flat.chars, at + 2, end, ")")
    shell.substitute(flat.cut(at + 2, close))
    text = flat.chars[at : close + 1].replace(HOLE, "?")
    hole = Hole("process", text, "", shell.scope, flat.origin(at))
    words.add((Piece(HOLE, hole.at, hole),), quoted=False)
    return close + 1


def _backtick(chars: str, at: int, end: int) -> int:
    while at < end and chars[at] != "`":
        at += 2 if chars[at] == "\\" else 1
    return min(at, end)


def _dollar(
    flat: Flat, at: int, end: int, shell: Shell, words: Words, quoted: bool
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
        expand_braces(flat, (at, close), shell, words, quoted=quoted, scan=_scan)
        return close + 1
    if name := _NAME.match(chars, at + 1, end):
        expand_variable(flat, at, name[0], shell, words, quoted)
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
    words: Words,
    quoted: bool,
    skip: int = 3,
) -> None:
    origin, inner = flat.origin(at), flat.cut(at + skip, close)
    expression = Flat(inner)
    inside = words.within()
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
    hole = Hole("arithmetic", text, "", shell.scope, origin, default=held(inside.text))
    words.add((Piece(HOLE, origin, hole),), quoted=quoted)


def _substitution(
    flat: Flat,
    span: tuple[int, int, int],
    shell: Shell,
    words: Words,
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
