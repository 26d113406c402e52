"""The expansion of words as bash does it: quotes, escapes, variables; nothing is run.

The result is the program's view: words of known text with holes. Each expanded ``$`` is
recorded with the scope of the shell that expands it.
"""

from __future__ import annotations

import re

from envcfg.backends.schedulers import PREFIXES
from envcfg.job.request.admission import HOLE
from envcfg.lint.script_model import text_of
from envcfg.lint.shell_expansion import Shell, Words
from envcfg.lint.traced_text import (
    Flat,
    Hole,
    Piece,
    Text,
    Word,
    held,
    joined,
    literal,
    plain,
    start,
    unknown,
)

_DEEPEST = 40  # levels of nested braces and arithmetic
_PLAIN = re.compile(r"[^$`\\\"'\x01<>]+")
_PLAIN_QUOTED = re.compile(r"[^$`\\\"\x01]+")
_PLAIN_HEREDOC = re.compile(r"[^$`\\\x01]+")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|[0-9@*#?$!-]")
_IN_ARITHMETIC = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_BRACES = re.compile(r"([#!]?)([A-Za-z_][A-Za-z0-9_]*|[0-9]+|[@*#?$!-])(\[[^\]]*\])?")
_DEFAULT = re.compile(r":?[-=?+]")


def expand_words(flat: Flat, start_at: int, end: int, shell: Shell) -> list[Word]:
    """Return the words that the shell produces from the text between two offsets."""
    run = _PLAIN.match(flat.chars, start_at, end)
    if run and run.end() == end:  # most words have no quotes and no expansions
        text = flat.cut(start_at, end)
        where = start(text)
        return [Word(text, where if where >= 0 else flat.origin(start_at))]
    words = _WordReader(flat, shell, splits=True)
    words.scan(start_at, end, "word")
    words.end()
    offset = flat.origin(start_at)
    words_found = []
    for pieces, quoted in zip(words.done, words.quotes, strict=True):
        text = joined([tuple(pieces)])
        where = start(text)
        # Fixes must replace the whole word, so its place includes an opening quote.
        if where == offset + 1 and quoted:
            where = offset  # the quote is part of the word
        words_found.append(Word(text, where if where >= 0 else offset, quoted))
    return words_found


def expand_string(flat: Flat, start_at: int, end: int, shell: Shell) -> Text:
    """Return the shell's value for an assignment, which is not split."""
    words = _WordReader(flat, shell)
    words.scan(start_at, end, "word")
    return words.text


def expand_document(text: Text, shell: Shell) -> Text:
    """Return the expansion of a here-document without quotes, or a similar text."""
    words = _WordReader(Flat(text), shell)
    words.scan(0, len(words.flat.chars), "document")
    return words.text


def expand_arithmetic(flat: Flat, offset: int, close: int, shell: Shell) -> Text:
    """Return the arithmetic from ``((`` at *offset* to ``))`` at *close*, as one hole."""
    words = _WordReader(flat, shell)
    words.arithmetic(offset, close, quoted=True, skip=2)
    return words.text


class _WordReader(Words):
    """Reads a text as its shell does, one character at a time."""

    def scan(self, offset: int, end: int, mode: str) -> None:
        """Add the text between two offsets: of a ``word`` or of a ``document``."""
        # Nesting costs Python's stack: deeper parts become one unknown hole.
        if self.depth > _DEEPEST:
            self.shell.unread(self.flat.origin(offset))
            self.add(
                unknown("", self.shell.scope, self.flat.origin(offset)), quoted=True
            )
            return
        flat, chars, quoted = self.flat, self.flat.chars, mode == "document"
        within_quotes = _PLAIN_HEREDOC if mode == "document" else _PLAIN_QUOTED
        while offset < end:
            plain_run = within_quotes if quoted else _PLAIN
            # Runs of plain text are copied at once, because they are most of a script.
            if run := plain_run.match(chars, offset, end):
                self.add(flat.cut(offset, run.end()), quoted=quoted)
                offset = run.end()
                continue
            sign = chars[offset]
            if sign == "\\":
                # Inside quotes a backslash is kept unless it escapes a special
                # character.
                is_literal = quoted and chars[offset + 1 : offset + 2] not in (
                    '$`\\"' if mode == "word" else "$`\\"
                )
                # A backslash at the end of a line joins two lines and leaves no text.
                if chars[offset + 1 : offset + 2] != "\n":
                    text = flat.cut(
                        offset if is_literal else offset + 1, min(offset + 2, end)
                    )
                    self.add(text, quoted=True)
                offset += 2
            elif sign == "'":
                close = chars.find("'", offset + 1, end)
                close = end if close < 0 else close
                self.add(flat.cut(offset + 1, close), quoted=True)
                offset = close + 1
            elif sign == '"':
                quoted = not quoted
                # Even empty quotes make a word, so the empty text is added.
                self.add((), quoted=True)
                offset += 1
            elif sign == HOLE:
                hole = flat.hole(offset)
                self.add((Piece(HOLE, hole.offset, hole),), quoted=quoted)
                offset += 1
            elif sign == "`":
                close = _unescaped(chars, sign, offset + 1, end)
                self._substitution(offset, offset + 1, close, quoted)
                offset = close + 1
            elif sign in "<>":  # only without quotes: _PLAIN_QUOTED includes them
                offset = self._process(offset, end)
            else:
                offset = self._dollar(offset, end, quoted)

    def _process(self, offset: int, end: int) -> int:
        chars, flat = self.flat.chars, self.flat
        # Without a parenthesis the character is text, because redirections are split
        # off before.
        if not chars.startswith("(", offset + 1, end):
            self.add(flat.cut(offset, offset + 1), quoted=False)
            return offset + 1
        close = closing(chars, offset + 2, end, ")")
        self.shell.substitute(flat.cut(offset + 2, close))
        text = chars[offset : close + 1].replace(HOLE, "?")
        hole = Hole("process", text, "", self.shell.scope, flat.origin(offset))
        self.add((Piece(HOLE, hole.offset, hole),), quoted=False)
        return close + 1

    def _dollar(self, offset: int, end: int, quoted: bool) -> int:
        chars, flat = self.flat.chars, self.flat
        following = chars[offset + 1 : offset + 2] if offset + 1 < end else ""
        # $'...' has its own escapes, which no rule reads, so its text stays as written.
        if following == "'" and not quoted:
            close = _unescaped(chars, "'", offset + 2, end)
            self.add(flat.cut(offset + 2, close), quoted=True)
            return close + 1
        if following == '"' and not quoted:
            return offset + 1
        if chars.startswith("$((", offset):
            close = closing(chars, offset + 3, end, "))")
            # "$((" may also begin a subshell in a substitution: then ")" closes it.
            if chars.startswith("))", close):
                self.arithmetic(offset, close, quoted)
                return close + 2
        if following == "(":
            close = closing(chars, offset + 2, end, ")")
            self._substitution(offset, offset + 2, close, quoted)
            return close + 1
        if following == "{":
            close = closing(chars, offset + 2, end, "}")
            self._braces(offset, close, quoted)
            return close + 1
        if name := _NAME.match(chars, offset + 1, end):
            self.variable(offset, name[0], quoted)
            return name.end()
        self.add(flat.cut(offset, offset + 1), quoted=quoted)
        return offset + 1

    def _braces(self, offset: int, close: int, quoted: bool) -> None:
        """Add the value of ``${...}``, from the ``$`` to the closing brace."""
        chars, shell = self.flat.chars, self.shell
        head = _BRACES.match(chars, offset + 2, close)
        # Forms such as ${!name@} are rare, and their value stays unknown.
        if not head:
            text = chars[offset + 2 : close].replace(HOLE, "?")
            self.add(
                unknown(text, shell.scope, self.flat.origin(offset)), quoted=quoted
            )
            return
        sign, name, rest = head[1], head[2], chars[head.end() : close]
        if not sign and not rest:
            element = self._element(*head.span(3)) if head[3] else ()
            self.variable(offset, name, quoted, head[3] or "", element)
            return
        hole = self.hole(offset, name, quoted)._replace(op=sign or rest[:2])
        default = None if sign else _DEFAULT.match(rest)
        inside = _WordReader(self.flat, shell, depth=self.depth + 1)
        if default is None:
            # A slice ("${a:0:2}") holds numbers, not words to expand.
            if rest and not rest.startswith(":"):
                inside.scan(head.end(), close, "document")
            shell.expanded(hole, not sign and shell.state.get(name) != (None,))
            self.open(hole)
            return
        inside.scan(head.end() + default.end(), close, "word")
        default_text = held(inside.text)
        hole = hole._replace(op=default[0], default=default_text)
        value = self.value(name)
        shell.expanded(hole, value is not None)
        if value is None:
            # "${name:=word}" also sets the variable, which is then unknown but set.
            if default[0].endswith("="):
                shell.state.set(name, (Piece(HOLE, hole.offset, hole),))
            self.open(hole)
            return
        first = text_of(value)
        is_there = bool(first) or default[0][0] != ":"
        given = first if is_there else default_text
        if default[0][-1] == "+":
            given = default_text if is_there else ()
        self.give(given, quoted=quoted)

    def _element(self, begin: int, end: int) -> Text:
        """Return the expanded index between brackets."""
        inside = _WordReader(self.flat, self.shell, depth=self.depth + 1)
        inside.scan(begin + 1, end - 1, "document")
        name = literal(inside.text) or ""
        # An index reads variables without "$". Other names may be keys of the array.
        if name.startswith(PREFIXES) or self.shell.state.find(name):
            index = _WordReader(self.flat, self.shell, depth=self.depth + 1)
            index.variable(begin, name, quoted=True)
            return index.text
        return inside.text

    def arithmetic(self, offset: int, close: int, quoted: bool, skip: int = 3) -> None:
        """Add the result of arithmetic, or one hole if it is unknown; *skip*: leading
        characters."""
        origin, shell = self.flat.origin(offset), self.shell
        expression = Flat(self.flat.cut(offset + skip, close))
        inside = _WordReader(expression, shell, depth=self.depth + 1)
        inside.scan(0, len(expression.chars), "document")
        # Arithmetic reads variables without "$", but not hexadecimal digits.
        for name in _IN_ARITHMETIC.finditer(expression.chars):
            before = expression.chars[max(name.start() - 1, 0) : name.start()]
            if before not in ("$", "{", "#") and not before.isdigit():
                hole = inside.hole(name.start(), name[0], quoted=False)
                shell.expanded(hole, shell.state.get(name[0]) != (None,))
        computed = "".join(
            piece.chars if not piece.hole else HOLE for piece in inside.now
        )
        # Only plain numbers are computed: other expressions would need bash's
        # arithmetic.
        if re.fullmatch(r"[0-9]{1,9}", computed.strip()):
            self.add(plain(computed.strip(), origin), quoted=quoted)
            return
        text, value = expression.chars.replace(HOLE, "?"), held(inside.text)
        hole = Hole("arithmetic", text, "", shell.scope, origin, default=value)
        self.add((Piece(HOLE, origin, hole),), quoted=quoted)

    def _substitution(self, offset: int, begin: int, close: int, quoted: bool) -> None:
        self.shell.substitute(self.flat.cut(begin, close))
        text = self.flat.chars[begin:close].replace(HOLE, "?").strip()
        origin = self.flat.origin(offset)
        self.open(Hole("command", text, "", self.shell.scope, origin, quoted=quoted))


def _unescaped(chars: str, sign: str, offset: int, end: int) -> int:
    """Return the offset of the character *sign* without a backslash before it, or *end*."""
    while offset < end and chars[offset] != sign:
        offset += 2 if chars[offset] == "\\" else 1
    return min(offset, end)


def closing(chars: str, offset: int, end: int, close: str) -> int:
    """Return the offset of the delimiter that closes the construct before *offset*, or
    *end*.

    Args:
        close: ``)``, ``))`` or ``}``.
    """
    stack = [close]
    while offset < end:
        top, sign = stack[-1], chars[offset]
        if sign == "\\":
            offset += 2
            continue
        if chars.startswith(top, offset):
            stack.pop()
            if not stack:
                return offset
            offset += len(top)
            continue
        # In double quotes a single quote is text.
        if sign == "'" and top != '"':
            close_at = chars.find("'", offset + 1, end)
            offset = end if close_at < 0 else close_at
        elif sign == '"':
            stack.append('"')
        elif chars.startswith("${", offset):
            stack.append("}")
            offset += 1
        elif chars.startswith("$(", offset):
            stack.append(")")
            offset += 1
        # Parentheses count only inside parentheses: in "${...}" they are text.
        elif sign == "(" and top in (")", "))"):
            stack.append(")")
        offset += 1
    return end
