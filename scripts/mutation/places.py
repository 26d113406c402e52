"""A change of one place in a source, and which of them to try.

It is made in the text, so that all else stays byte for byte and every line keeps its
number.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Mapping, Sequence
from itertools import islice
from random import Random
from typing import NamedTuple


class Place(NamedTuple):
    """A change of one source.

    Attributes:
        path: of the source, below the root of the tree.
        line: of its beginning, from 1.
        start, end: what is replaced, in bytes.
        new: what stands there then; as many lines as before.
        kind: a word for a reader.
        function: first line of the function around it; 0 for code that runs once.
    """

    path: str
    line: int
    start: int
    end: int
    new: bytes
    kind: str
    function: int


def draw(
    sources: Mapping[str, bytes], places: Sequence[Place], number: int, chance: Random
) -> list[Place]:
    """Return *number* of *places*, or all if there are fewer, sorted."""
    mixed = chance.sample(places, len(places))
    good = (each for each in mixed if is_change(sources[each.path], each))
    return sorted(islice(good, number))


def is_change(source: bytes, place: Place) -> bool:
    """Tell whether what comes out compiles and is not the same program."""
    changed = change(source, place)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # what Python itself frowns at proves nothing
        try:
            compile(changed, place.path, "exec")
        except (SyntaxError, SyntaxWarning, ValueError):
            return False
    return ast.dump(ast.parse(changed)) != ast.dump(ast.parse(source))


def change(source: bytes, place: Place) -> bytes:
    """Return *source* with that one place changed."""
    return source[: place.start] + place.new + source[place.end :]


def render_change(source: bytes, place: Place) -> str:
    """Return the lines of the change as a diff has them."""
    first = place.line - 1
    last = source.count(b"\n", 0, place.end) + 1
    lines = []
    for sign, text in (("-", source), ("+", change(source, place))):
        part = text.decode().split("\n")[first:last]
        lines += [f"{sign}{line}" for line in part if line.strip()]
    return "\n".join(lines)
