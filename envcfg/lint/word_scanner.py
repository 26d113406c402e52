"""The end of a word in a script, as bash reads quotes, substitutions and arithmetic."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod

_DEEPEST = 60  # levels of nested substitutions and subshells
_PLAIN = re.compile(r"[^ \t\n;&|()<>\\'\"`$]+")
_QUOTED = re.compile(r"[^\"\\`$]+")
_ANSI = re.compile(r"(?:[^'\\]|\\.)*'?", re.DOTALL)
COMMENT = re.compile(r"[^\n]*")


class TooDeepError(Exception):
    """The text is nested more than ``_DEEPEST`` deep."""


class WordScanner(ABC):
    """Reads words of a text; a subclass reads the commands in substitutions."""

    def __init__(self, chars: str) -> None:
        """Begin with *chars*."""
        self.chars, self.size = chars, len(chars)
        self.depth = 0
        self.in_backquotes = False
        self._sums: dict[int, int] = {}

    @abstractmethod
    def commands(self, offset: int, close: str) -> int:
        """Read commands up to *close*, and return the offset after it."""

    @abstractmethod
    def pattern(self, begin: int, end: int) -> None:
        """Note the parentheses of an extglob pattern."""

    def go_deeper(self) -> None:
        """Count one more level of nesting."""
        self.depth += 1
        if self.depth > _DEEPEST:
            raise TooDeepError

    def word(self, offset: int) -> int:
        """Return the offset after the word that begins at *offset*."""
        chars, begin = self.chars, offset
        while offset < self.size:
            sign = chars[offset]
            if run := _PLAIN.match(chars, offset):
                offset = run.end()
            elif sign == "\\":
                offset += 2
            elif sign == "'":
                close = chars.find("'", offset + 1)
                offset = close + 1 if close >= 0 else self.size
            elif sign == '"':
                offset = self.quoted(offset + 1)
            elif sign == "$":
                offset = self.dollar(offset, quoted=False)
            # A backquote inside backquotes ends the outer substitution.
            elif sign == "`" and not self.in_backquotes:
                offset = self.backquoted(offset + 1)
            elif chars.startswith(("<(", ">("), offset):
                offset = self.substituted(offset + 2)
            # In extglob patterns such as "@(a|b)" the parenthesis is part of the word.
            elif sign == "(" and offset > begin and chars[offset - 1] in "=?*+@!":
                first, offset = offset, self.until(offset + 1, ")", quoted=False) + 1
                if chars[first - 1] != "=":
                    self.pattern(first, min(offset, self.size))
            else:
                break
        return min(offset, self.size)

    def quoted(self, offset: int) -> int:
        """Return the offset after the double quote that ends a string."""
        chars = self.chars
        while offset < self.size:
            sign = chars[offset]
            if run := _QUOTED.match(chars, offset):
                offset = run.end()
            elif sign == '"':
                return offset + 1
            elif sign == "\\":
                offset += 2
            elif sign == "$":
                offset = self.dollar(offset, quoted=True)
            elif self.in_backquotes:
                return offset
            else:
                offset = self.backquoted(offset + 1)
        return self.size

    def backquoted(self, offset: int) -> int:
        """Return the offset after the backquote that ends a substitution."""
        before, self.in_backquotes = self.in_backquotes, True
        offset = self.commands(offset, "`")
        self.in_backquotes = before
        return offset

    def substituted(self, offset: int) -> int:
        """Return the offset after the parenthesis that ends a substitution."""
        before, self.in_backquotes = self.in_backquotes, False
        offset = self.commands(offset, ")")
        self.in_backquotes = before
        return offset

    def dollar(self, offset: int, *, quoted: bool) -> int:
        """Return the offset after the expansion that begins with a ``$``."""
        chars = self.chars
        # "$((" may be a subshell in a substitution, so the sum must end with "))".
        if chars.startswith("$((", offset):
            end = self.sum(offset + 3)
            if end >= 0:
                return end
        if chars.startswith("$(", offset):
            return self.substituted(offset + 2)
        if chars.startswith("${", offset):
            return min(self.until(offset + 2, "}", quoted=quoted) + 1, self.size)
        if chars.startswith("$'", offset) and not quoted:
            return _ANSI.match(chars, offset + 2).end()  # type: ignore[union-attr]
        return offset + 1

    def sum(self, offset: int) -> int:
        """Return the offset after ``))``; -1 if no arithmetic begins at *offset*."""
        # Nested candidates would be scanned again at each level without this cache.
        if offset not in self._sums:
            end = self.until(offset, ")", quoted=False)
            is_sum = self.chars.startswith("))", end)
            self._sums[offset] = end + 2 if is_sum else -1
        return self._sums[offset]

    def until(self, offset: int, close: str, *, quoted: bool) -> int:
        """Return the offset of *close* outside quotes, substitutions and parentheses."""
        self.go_deeper()
        chars, inner = self.chars, 0
        while offset < self.size:
            sign = chars[offset]
            if sign == close and not inner:
                break
            if sign == "\\":
                offset += 2
            elif sign == "'" and not quoted:
                end = chars.find("'", offset + 1)
                offset = end + 1 if end >= 0 else self.size
            elif sign == '"':
                offset = self.quoted(offset + 1)
            elif sign == "$":
                offset = self.dollar(offset, quoted=quoted)
            elif sign == "`" and not self.in_backquotes:
                offset = self.backquoted(offset + 1)
            elif chars.startswith(("<(", ">("), offset) and close == ")":
                offset = self.substituted(offset + 2)
            elif sign == "#" and close == ")" and chars[offset - 1] in " \t\n(":
                offset = COMMENT.match(chars, offset).end()  # type: ignore[union-attr]
            else:
                inner += ((sign == "(") - (sign == ")")) if close == ")" else 0
                offset += 1
        self.depth -= 1
        return min(offset, self.size)
