"""Hostile texts of a pattern, from its own parse: a beginning, a piece again and again."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

with warnings.catch_warnings():  # its name before Python 3.11
    warnings.simplefilter("ignore")
    import sre_parse

Node = tuple[Any, Any]
_ENDS = ("", "\0", "\n!", "}", ">")  # what may follow, and mostly fits nothing
_SOME = 3  # times that a repeated piece stands in a beginning
_MOST_PIECES = 60  # of one pattern


class Hostile(NamedTuple):
    """A text of any length: how it begins, what comes again and again, how it ends."""

    begin: str
    piece: str
    end: str

    def text(self, size: int) -> str:
        """Return it with about *size* characters."""
        left = size - len(self.begin) - len(self.end)
        return self.begin + self.piece * max(1, left // len(self.piece)) + self.end

    def words(self) -> str:
        """Return it for people."""
        return f"{self.begin[-40:]!r} + n * {self.piece[:40]!r} + {self.end!r}"


def hostile_texts(pattern: re.Pattern[Any], *, line: bool) -> Iterator[Hostile]:
    """Yield texts at which *pattern* may search for long; of a *line*, no other line."""
    source = pattern.pattern
    is_bytes = isinstance(source, bytes)
    text = source.decode("latin-1") if is_bytes else source
    flags = pattern.flags & ~re.UNICODE if is_bytes else pattern.flags
    tree = list(sre_parse.parse(text, flags & ~re.DEBUG))
    seen = set()
    for begin, piece in islice(_pieces(tree, ""), _MOST_PIECES):
        for lead in {begin, ""}:
            if not piece or (lead, piece) in seen:
                continue
            seen.add((lead, piece))
            for end in _ENDS:
                if line and "\n" in lead + piece + end:
                    continue
                yield Hostile(lead, piece, end)


def _pieces(nodes: Sequence[Node], begin: str) -> Iterator[tuple[str, str]]:
    """Yield a beginning and what may be repeated behind it, for each repeat of *nodes*."""
    for at, (kind, value) in enumerate(nodes):
        name = str(kind)
        if "REPEAT" in name:
            low, high, body = value
            inner = list(body)
            for choice in range(_SOME):
                piece = _sample(inner, choice)
                if high > _SOME:
                    yield begin, piece
                    # What the neighbours may take as well.
                    yield begin, piece + _sample(nodes[at + 1 : at + 2], choice)
                    yield begin, begin[-40:] + piece
            yield from _pieces(inner, begin)
            begin += _sample(inner, 0) * max(low, min(1, high))
            continue
        for inner in _bodies(name, value):
            yield from _pieces(inner, begin)
        begin += _sample([(kind, value)], 0)
    if begin:
        yield "", begin


def _bodies(name: str, value: Any) -> list[list[Node]]:  # noqa: ANN401  # of sre_parse
    """Return the parts of a node that hold others."""
    if name == "SUBPATTERN":
        return [list(value[-1])]
    if name == "BRANCH":
        return [list(each) for each in value[1]]
    if name in ("ASSERT", "ASSERT_NOT"):
        return [list(value[1])]
    if name == "ATOMIC_GROUP":
        return [list(value)]
    return []


def _sample(nodes: Sequence[Node], choice: int) -> str:
    """Return a text that *nodes* match, mostly; *choice* takes another one each time."""
    return "".join(_one(str(kind), value, choice) for kind, value in nodes)


def _one(name: str, value: Any, choice: int) -> str:  # noqa: ANN401  # of sre_parse
    if name == "LITERAL":
        return chr(value)
    if name == "NOT_LITERAL":
        return next(each for each in "a $-"[choice:] + "b" if ord(each) != value)
    if name == "ANY":
        return "a $"[choice % 3]
    if name == "IN":
        return _member(value, choice)
    if "REPEAT" in name:
        low, high, body = value
        return _sample(list(body), choice) * min(max(low, choice), high, 8)
    if name == "BRANCH":
        branches = value[1]
        return _sample(list(branches[choice % len(branches)]), choice)
    bodies = _bodies(name, value) if not name.startswith("ASSERT") else []
    return "".join(_sample(each, choice) for each in bodies)


def _member(items: Sequence[Node], choice: int) -> str:
    """Return a character of a set."""
    fits = [chr(at) for at in range(9, 127) if _is_in(chr(at), items)]
    letters = [each for each in fits if each.isalnum()] or fits or ["a"]
    others = [each for each in fits if not each.isalnum()] or letters
    return (letters[-1], others[0], letters[0])[choice % 3]


_CATEGORIES = {
    "DIGIT": str.isdigit,
    "SPACE": str.isspace,
    "WORD": lambda char: char.isalnum() or char == "_",
}


def _is_in(char: str, items: Sequence[Node]) -> bool:
    if str(items[0][0]) == "NEGATE":
        return not _is_in(char, items[1:]) if items[1:] else True
    for kind, value in items:
        name = str(kind)
        if name == "LITERAL" and ord(char) == value:
            return True
        if name == "RANGE" and value[0] <= ord(char) <= value[1]:
            return True
        if name == "CATEGORY":
            word = str(value).removeprefix("CATEGORY_")
            test = _CATEGORIES.get(word.removeprefix("NOT_"))
            if test and test(char) != word.startswith("NOT_"):
                return True
    return False
