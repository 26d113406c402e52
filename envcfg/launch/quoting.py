"""Words as shell text that reads well and holds any byte.

What is written here means the same in bash and in a POSIX shell.
"""

from __future__ import annotations

import shlex
from collections.abc import Collection, Mapping

from envcfg.profile.words import Ref, Word


def quote(text: str) -> str:
    """Return *text* as one shell word: bare where it can be, else in single quotes."""
    return shlex.quote(text)


def quote_always(text: str) -> str:
    """Return *text* in single quotes, for assignments that then look alike."""
    return "'" + text.replace("'", "'\"'\"'") + "'"


def quote_word(word: Word, user: str, sure: Collection[str] = ()) -> str:
    """Return *word* as one shell word: literals inert, references expanded.

    Args:
        word: what to write.
        user: who refers, for the message when a reference has nothing to refer to.
        sure: names that are set for certain, so that no message is needed.
    """
    if not word:
        return "''"
    return "".join(
        quote(part) if isinstance(part, str) else _reference(part, user, sure)
        for part in word
    )


def with_defaults(word: Word) -> Word:
    """Return *word* with an empty default wherever it has none."""
    return tuple(
        Ref(part.name, "") if isinstance(part, Ref) and part.default is None else part
        for part in word
    )


def rename(word: Word, names: Mapping[str, str]) -> Word:
    """Return *word* with references to *names* led elsewhere."""
    return tuple(
        Ref(names.get(part.name, part.name), part.default)
        if isinstance(part, Ref)
        else part
        for part in word
    )


def quote_comment(text: str) -> str:
    """Return *text* for a comment: one line, whatever it holds."""
    return "".join(c if c.isprintable() or c == " " else repr(c)[1:-1] for c in text)


def _reference(ref: Ref, user: str, sure: Collection[str]) -> str:
    if ref.default is not None:
        return f'"${{{ref.name}:-{ref.default}}}"'
    if ref.name in sure:
        return f'"${{{ref.name}}}"'
    # A message without a character that means something inside the quotes.
    return f'"${{{ref.name}?is not set, and {user} refers to it}}"'
