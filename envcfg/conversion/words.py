"""Texts with holes as words of bash and as values of ``--set``: never evaluated as data."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable

from envcfg.lint.text import HOLE, Hole, Piece, Text, holes, literal
from envcfg.profile.words import PLAIN_DEFAULT

_SIGNS = tuple("*?[]{},~")  # by which bash makes several words of one, or a path
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class UnsafeError(Exception):
    """A text that cannot be written so that it means the same."""


def render(text: Text, *, is_one: bool = False) -> str:
    """Return *text* as bash; what the script's shell expands, it expands still.

    Args:
        text: a word of the script, which may be several where it was not quoted.
        is_one: it is to be one word whatever it holds.

    Raises:
        UnsafeError: a part is expanded by another shell, or in a way that is not known.
    """
    if not text:
        return "''"
    return "".join(_rendered(each, is_one) for each in _merged(text))


def as_value(text: Text) -> str:
    """Return *text* in the grammar of ``--set``.

    Raises:
        UnsafeError: that grammar has no word for a part of it.
    """
    return "".join(_valued(each) for each in text)


def can_be_set(text: Text) -> bool:
    """Return whether ``--set`` has a word for *text*."""
    try:
        as_value(text)
    except UnsafeError:
        return False
    return True


def names_in(texts: Iterable[Text]) -> set[str]:
    """Return every name that the holes of *texts* may mean."""
    return {
        name
        for text in texts
        for hole in holes(text)
        for name in _NAME.findall(hole.text)
    }


def is_foreign(text: Text) -> bool:
    """Return whether another shell than the script's expands a part of *text*."""
    return any(each.scope in ("task", "container") for each in holes(text))


def _merged(text: Text) -> list[Piece]:
    """Return *text* with characters that touch in one piece: they are quoted once."""
    found: list[Piece] = []
    for each in text:
        if found and not each.hole and not found[-1].hole:
            found[-1] = Piece(found[-1].chars + each.chars, found[-1].at)
        else:
            found.append(each)
    return found


def decoded(chars: str) -> str:
    """Return the characters of a source, which are bytes, as arguments have them."""
    return chars.encode("latin-1").decode("utf-8", "surrogateescape")


def _rendered(piece: Piece, is_one: bool) -> str:
    hole = piece.hole
    if hole is None:
        return shlex.quote(decoded(piece.chars)) if piece.chars else ""
    if is_foreign((piece,)) or HOLE in hole.text:
        raise UnsafeError
    if is_one and hole.text not in _SIGNS:
        hole = hole._replace(loose=False)
    said = _expansion(hole)
    if hole.loose and not hole.quoted:
        return said
    return f'"{said}"'


def _expansion(hole: Hole) -> str:
    if hole.kind == "command" and hole.text:
        return f"$({decoded(hole.text)})"
    if hole.kind == "arithmetic" and hole.text:
        return f"$(({decoded(hole.text)}))"
    if hole.kind == "unknown" and (hole.text in _SIGNS or hole.text.startswith("${")):
        return decoded(hole.text)
    if hole.kind != "variable" or not hole.name:
        raise UnsafeError
    if hole.op:
        return _with_default(hole)
    if hole.name in "@*" or hole.name.isdigit():
        return f"${hole.name}"
    if hole.loose and hole.quoted:
        return f"${{{hole.name}[@]}}"
    return f"${hole.name}" if hole.loose else f"${{{hole.name}}}"


def _with_default(hole: Hole) -> str:
    default = literal(hole.default) if hole.default is not None else None
    if hole.op not in (":-", "-") or default is None:
        raise UnsafeError
    if not PLAIN_DEFAULT.fullmatch(default):
        raise UnsafeError
    return f"${{{hole.name}{hole.op}{default}}}"


def _valued(piece: Piece) -> str:
    hole = piece.hole
    if hole is None:
        return decoded(piece.chars).replace("$", "$$")
    is_plain = hole.kind == "variable" and _NAME.fullmatch(hole.name)
    if not is_plain or is_foreign((piece,)) or hole.op not in ("", ":-"):
        raise UnsafeError
    return _with_default(hole) if hole.op else f"${{{hole.name}}}"
