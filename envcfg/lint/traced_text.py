"""Text that remembers the origin of each character, with holes for unknown parts.

A script is bytes; each is one character here (Latin-1), so that offsets are those of the
grammar. A ``Text`` is a row of pieces: characters that were adjacent in a source, or one
``HOLE`` for a part that only the job knows. Joining and cutting keep the origins, so that
a fault in a composed string is shown at the place where the user typed it.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import islice
from typing import Literal, NamedTuple, TypeAlias

from envcfg.job.request.admission import HOLE
from envcfg.lint.layout import Layout
from envcfg.lint.redirection import layout_of

Scope = Literal["batch", "task", "container", "unknown"]
INSIDE = ("task", "container")  # scopes of what a step or a container runs
_LONGEST = 1 << 16  # characters of a value; a longer one is unknown
_MOST_HELD = 64  # holes in a default, at any depth; a default with more is unknown
_MOST_PIECES = 512  # parts of a value; a value with more is unknown


class Hole(NamedTuple):
    """A part that is unknown before the job runs."""

    # `variable`, `command` (a substitution), `process` (such as `<(...)`), `arithmetic`
    # or `unknown`.
    kind: Literal["variable", "command", "process", "arithmetic", "unknown"]
    # The source text inside: a name, a command, an expression; all of a process.
    text: str
    name: str  # of a variable; else empty
    scope: Scope  # scope of the last shell that expands the `$`
    offset: int  # offset of the `$`; -1 if it is in no source
    loose: bool = False  # True if it may be no word, or several words
    op: str = ""  # operator in the braces (`:-`, `%`), `[` of an element, if any
    default: "Text | None" = None  # value for an unset variable, as in `${X:-default}`
    quoted: bool = False  # True in double quotes


class Piece(NamedTuple):
    """Adjacent characters, the first of them at *offset* (-1: in no source)."""

    chars: str
    offset: int
    hole: Hole | None = None

    def cut(self, low: int, high: int | None = None) -> "Text":
        """Return the characters from *low* to *high*."""
        chars = self.chars[low:high]
        offset = self.offset + low if self.offset >= 0 else -1
        return (Piece(chars, offset, self.hole),) if chars else ()


Text: TypeAlias = tuple[Piece, ...]


class Word(NamedTuple):
    """One argument of a command."""

    text: Text
    offset: int
    quoted: bool = False  # True if a part of it is in quotes

    @property
    def literal(self) -> str | None:
        """The argument itself; None if a part of it is not known."""
        return literal(self.text)

    @property
    def shown(self) -> str:
        """The argument, with unknown parts as in the source."""
        return shown(self.text)

    @property
    def is_loose(self) -> bool:
        """Whether the word may expand to no argument, or to several."""
        return any(hole.loose for hole in holes(self.text))


# Options by their long names, without dashes, each with its value or with itself.
Told: TypeAlias = tuple[tuple[str, Word], ...]


class Flat:
    """A text as one string; each index leads back to its origin."""

    def __init__(self, text: Text) -> None:
        """Join the pieces of *text*."""
        self.text = text
        self.chars = "".join(piece.chars for piece in text)
        self.starts: list[int] = []
        position = 0
        for piece in text:
            self.starts.append(position)
            position += len(piece.chars)
        # Most texts are one piece of a source, which is cut without a search.
        self._base = text[0].offset if len(text) == 1 and not text[0].hole else -1

    @cached_property
    def layout(self) -> Layout:
        """The redirections of the text, and the text without them."""
        return layout_of(self.chars)

    def origin(self, index: int) -> int:
        """Return the source offset of the character at *index*, or of one before it."""
        if self._base >= 0:
            return self._base + min(index, len(self.chars))
        if not self.text:
            return -1
        number = max(bisect_right(self.starts, index) - 1, 0)
        piece = self.text[number]
        if piece.hole:
            return piece.hole.offset
        if piece.offset < 0:
            return -1
        return piece.offset + min(index - self.starts[number], len(piece.chars))

    def hole(self, index: int) -> Hole:
        """Return the hole at *index*, which must hold a ``HOLE``."""
        hole = self.text[bisect_right(self.starts, index) - 1].hole
        # A script can contain the hole's character itself, which is then unknown.
        return hole or Hole("unknown", "", "", "unknown", self.origin(index))

    def cut(self, start: int, end: int) -> Text:
        """Return the text from *start* to *end*."""
        if self._base >= 0:
            return self.text[0].cut(start, end)
        pieces: Text = ()
        number = max(bisect_right(self.starts, start) - 1, 0)
        while number < len(self.text) and self.starts[number] < end:
            offset = self.starts[number]
            pieces += self.text[number].cut(max(start - offset, 0), end - offset)
            number += 1
        return pieces


def unknown(text: str, scope: Scope, offset: int) -> Text:
    """Return a text with unknown content."""
    return (Piece(HOLE, offset, Hole("unknown", text, "", scope, offset)),)


def plain(chars: str, offset: int = -1) -> Text:
    """Return *chars* as a text at *offset*."""
    return (Piece(chars, offset),) if chars else ()


def joined(parts: Iterable[Text]) -> Text:
    """Return the parts as one text; an absurdly long one is unknown."""
    pieces = [piece for part in parts for piece in part]
    if (
        len(pieces) > _MOST_PIECES
        or sum(len(piece.chars) for piece in pieces) > _LONGEST
    ):
        return unknown("", "unknown", pieces[0].offset)
    return tuple(pieces)


def spaced(words: Iterable[Word]) -> Text:
    """Return words as the text that a shell parses again."""
    parts = [part for word in words for part in (word.text, plain(" "))]
    return joined(parts[:-1])


def held(text: Text) -> Text:
    """Return *text* if it is small enough for a hole: nested defaults double in size."""
    if next(islice(holes(text), _MOST_HELD, None), None) is None:
        return text
    return unknown("", "unknown", start(text))


def literal(text: Text) -> str | None:
    """Return the string of *text*; None if a part of it is unknown."""
    if len(text) == 1:
        return None if text[0].hole else text[0].chars
    if any(piece.hole for piece in text):
        return None
    return "".join(piece.chars for piece in text)


def shown(text: Text) -> str:
    """Return *text* for messages, with unknown parts as in the source."""
    if len(text) == 1 and text[0].hole is None:
        return text[0].chars
    return "".join(_piece_text(piece) for piece in text)


def _piece_text(piece: Piece) -> str:
    hole = piece.hole
    if hole is None:
        return piece.chars
    forms = {"command": "$({})", "arithmetic": "$(({}))"}
    if hole.kind == "variable":
        if hole.op == "[":
            return f"${{{hole.name}[{shown(hole.default or ())}]}}"
        # Operators are not shown, because only the name helps the reader of a message.
        return f"${{{hole.name}}}" if hole.op else f"${hole.name}"
    return forms.get(hole.kind, "{}").format(hole.text or "...")


def holes(text: Text) -> Iterator[Hole]:
    """Yield the unknown parts of *text*, including those in defaults."""
    for piece in text:
        if piece.hole:
            yield piece.hole
            if piece.hole.default:
                yield from holes(piece.hole.default)


def start(text: Text) -> int:
    """Return the offset of *text* in the sources; -1 if it has none."""
    for piece in text:
        if piece.offset >= 0:
            return piece.offset
    return -1
