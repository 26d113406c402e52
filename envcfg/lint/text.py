"""Text that remembers where each of its characters came from, with holes for the unknown.

A script is bytes; here each is one character (Latin-1), so that offsets are those of the
grammar. A ``Text`` is a row of pieces: characters that stood together in a source, or one
``HOLE`` for what only the job knows. Pasting and cutting keep the origins, so that a fault
in a string that was built in variables is shown where somebody typed it.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Literal, NamedTuple, TypeAlias

from envcfg.request.admission import HOLE

Scope = Literal["batch", "task", "container", "unknown"]
_LONGEST = 1 << 16  # characters of a value; a longer one is unknown
_MOST_HELD = 64  # holes within a default, at any depth; one of more is unknown
_MOST_PIECES = 512  # parts of which a value is pasted; one of more is unknown


class Hole(NamedTuple):
    """A part that is not known before the job runs.

    Attributes:
        kind: ``variable``, ``command`` (a substitution), ``process`` (such as ``<(...)``),
            ``arithmetic`` or ``unknown``.
        text: what was written inside: a name, a command, an expression; all of a process.
        name: of a variable; else empty.
        scope: where the ``$`` was expanded at last.
        at: offset of the ``$``; -1 where it stands in no source.
        loose: it may be no word, or many.
        quoted: it stands in double quotes.
        op: what the braces did (``:-``, ``%``), if anything.
        default: what holds where the variable is unset, as ``${X:-default}`` says.
    """

    kind: Literal["variable", "command", "process", "arithmetic", "unknown"]
    text: str
    name: str
    scope: Scope
    at: int
    loose: bool = False
    op: str = ""
    default: "Text | None" = None
    quoted: bool = False


class Piece(NamedTuple):
    """Characters that stood together, the first of them at *at* (-1: in no source)."""

    chars: str
    at: int
    hole: Hole | None = None

    def cut(self, low: int, high: int | None = None) -> "Text":
        """Return the characters from *low* to *high*."""
        chars = self.chars[low:high]
        at = self.at + low if self.at >= 0 else -1
        return (Piece(chars, at, self.hole),) if chars else ()


Text: TypeAlias = tuple[Piece, ...]


class Word(NamedTuple):
    """One argument of a command.

    Attributes:
        at: offset of its first character in the sources.
        quoted: some of it stood in quotes.
    """

    text: Text
    at: int
    quoted: bool = False

    @property
    def literal(self) -> str | None:
        """The argument itself; None where a part of it is not known."""
        return literal(self.text)

    @property
    def shown(self) -> str:
        """The argument, with what is not known as it was written."""
        return shown(self.text)

    @property
    def is_loose(self) -> bool:
        """Whether it may be no argument, or many."""
        return any(each.loose for each in holes(self.text))


class Flat:
    """A text as one string, each index of which leads back to its origin."""

    def __init__(self, text: Text) -> None:
        """Lay out *text*."""
        self.text = text
        self.chars = "".join(each.chars for each in text)
        self.starts: list[int] = []
        at = 0
        for each in text:
            self.starts.append(at)
            at += len(each.chars)
        # Most are one piece of a source, which is quickly cut.
        self._base = text[0].at if len(text) == 1 and not text[0].hole else -1

    def origin(self, index: int) -> int:
        """Return where the character at *index* was typed, or the nearest before it."""
        if self._base >= 0:
            return self._base + min(index, len(self.chars))
        if not self.text:
            return -1
        number = max(bisect_right(self.starts, index) - 1, 0)
        piece = self.text[number]
        if piece.hole:
            return piece.hole.at
        if piece.at < 0:
            return -1
        return piece.at + min(index - self.starts[number], len(piece.chars))

    def hole(self, index: int) -> Hole:
        """Return the hole at *index*, where a ``HOLE`` stands."""
        found = self.text[bisect_right(self.starts, index) - 1].hole
        return found or Hole("unknown", "", "", "unknown", self.origin(index))

    def cut(self, start: int, end: int) -> Text:
        """Return the text from *start* to *end*."""
        if self._base >= 0:
            return self.text[0].cut(start, end)
        pieces: Text = ()
        number = max(bisect_right(self.starts, start) - 1, 0)
        while number < len(self.text) and self.starts[number] < end:
            at = self.starts[number]
            pieces += self.text[number].cut(max(start - at, 0), end - at)
            number += 1
        return pieces


def unknown(text: str, scope: Scope, at: int) -> Text:
    """Return a text of which nothing is known."""
    return (Piece(HOLE, at, Hole("unknown", text, "", scope, at)),)


def plain(chars: str, at: int = -1) -> Text:
    """Return *chars* as a text that stands at *at*."""
    return (Piece(chars, at),) if chars else ()


def joined(parts: Iterable[Text]) -> Text:
    """Return the parts as one text; an absurdly long one is unknown."""
    pieces = [piece for part in parts for piece in part]
    if len(pieces) > _MOST_PIECES or sum(len(each.chars) for each in pieces) > _LONGEST:
        return unknown("", "unknown", pieces[0].at)
    return tuple(pieces)


def spaced(words: Iterable[Word]) -> Text:
    """Return words as the text that a shell reads once more."""
    parts = [part for each in words for part in (each.text, plain(" "))]
    return joined(parts[:-1])


def held(text: Text) -> Text:
    """Return *text* as a hole may hold it: defaults within defaults would double."""
    if next(islice(holes(text), _MOST_HELD, None), None) is None:
        return text
    return unknown("", "unknown", start(text))


def literal(text: Text) -> str | None:
    """Return what *text* is, or None where a part of it is not known."""
    if len(text) == 1:
        return None if text[0].hole else text[0].chars
    if any(each.hole for each in text):
        return None
    return "".join(each.chars for each in text)


def shown(text: Text) -> str:
    """Return *text* for people: what is not known as it was written."""
    if len(text) == 1 and text[0].hole is None:
        return text[0].chars
    return "".join(_shown(each) for each in text)


def _shown(piece: Piece) -> str:
    hole = piece.hole
    if hole is None:
        return piece.chars
    forms = {"command": "$({})", "arithmetic": "$(({}))"}
    if hole.kind == "variable":
        return f"${{{hole.name}}}" if hole.op else f"${hole.name}"
    return forms.get(hole.kind, "{}").format(hole.text or "...")


def holes(text: Text) -> Iterator[Hole]:
    """Yield what is not known in *text*, with what defaults hold."""
    for each in text:
        if each.hole:
            yield each.hole
            if each.hole.default:
                yield from holes(each.hole.default)


def start(text: Text) -> int:
    """Return where *text* begins in the sources; -1 where it came from none."""
    for each in text:
        if each.at >= 0:
            return each.at
    return -1
