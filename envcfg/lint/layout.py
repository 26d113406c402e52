"""Redirections of a script, by the commands that have them, and its text without them."""

from __future__ import annotations

from typing import NamedTuple


class Redirection(NamedTuple):
    """One redirection."""

    sign: str  # its operator, without the number of the file
    begin: int  # offset of the word after it
    end: int
    # Offsets of the text of a here-document; None: it is none.
    body: tuple[int, int] | None = None
    is_quoted: bool = False  # True if the text of the here-document is not expanded
    is_ended: bool = True  # True if the here-document has the line that ends it


Row = dict[int, Redirection]


class Layout:
    """A text without redirections."""

    def __init__(self, chars: str) -> None:
        """Begin with *chars*, without redirections."""
        # The text, with blanks in place of what the grammar must not read.
        self.bare = chars
        # Offsets of commands that are redirections only; `bare` has `:` there.
        self.empty: set[int] = set()
        self.is_whole = True  # False if it is nested too deep to be read to its end
        self._by_start: dict[int, Row] = {}
        self._by_end: dict[int, Row] = {}
        self._masks: dict[int, int] = {}
        self._patterns: set[int] = set()

    def redirections(self, start: int, end: int) -> list[Redirection]:
        """Return the redirections of the command between two offsets, in order."""
        row = self._by_start.get(start, {}) | self._by_end.get(end, {})
        return [row[offset] for offset in sorted(row)]

    def documents(self) -> list[tuple[int, Redirection]]:
        """Return all here-documents with their offsets, in order."""
        rows = [*self._by_start.values(), *self._by_end.values()]
        documents = {
            offset: redirection
            for row in rows
            for offset, redirection in row.items()
            if redirection.body
        }
        return sorted(documents.items())

    def mask(self, begin: int, end: int) -> None:
        """Hide the text between two offsets from the grammar."""
        self._masks[begin] = max(end, self._masks.get(begin, end))

    def fill(self, begin: int, end: int) -> None:
        """Hide a pattern of extglob within a word, which stays one word."""
        self.mask(begin, end)
        self._patterns.add(begin)

    def note(self, start: int, end: int, row: Row) -> None:
        """Add the redirections of a command that begins at *start*, or ends at *end*."""
        if not row:
            return
        # A command that is only a redirection needs a word for the grammar.
        if start < 0 and end < 0:
            start = min(row)
            self.empty.add(start)
        if end >= 0:
            self._by_end[end] = row
        else:
            self._by_start[start] = row

    def hide(self) -> None:
        """Replace masked text by blanks in the bare text."""
        chars, parts, offset = self.bare, list[str](), 0
        # Masks may overlap, as with a here-document inside a substitution.
        for begin, end in sorted(self._masks.items()):
            if end > offset:
                sign = "_" if begin in self._patterns else " "
                parts += [chars[offset:begin], sign * (end - max(begin, offset))]
                offset = end
        bare = "".join([*parts, chars[offset:]])
        for start in sorted(self.empty):
            bare = f"{bare[:start]}:{bare[start + 1 :]}"
        self.bare = bare
