"""Quote words as readable shell text that can hold any byte.

All results mean the same in bash and in a POSIX shell.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Mapping, Sequence

from envcfg.common.errors import UsageError
from envcfg.profile.words import PLAIN_DEFAULT, Ref, Word, is_plain


def quote(text: str) -> str:
    """Return *text* as one shell word, in single quotes only if necessary."""
    return shlex.quote(text)


def quote_always(text: str) -> str:
    """Return *text* in single quotes always, so that assignments look the same."""
    return "'" + text.replace("'", "'\"'\"'") + "'"


def quote_word(word: Word, user: str, sure: Collection[str] = ()) -> str:
    """Return *word* as one shell word: literals quoted, references expanded.

    Args:
        user: the name of the referring entry, for the message about a missing variable.
        sure: names that are always set, so that no message is needed.
    """
    if not word:
        return "''"
    return "".join(
        quote(part) if isinstance(part, str) else _reference(part, user, sure)
        for part in word
    )


def with_defaults(word: Word) -> Word:
    """Return *word* with an empty default for each reference without one."""
    return tuple(
        Ref(part.name, "") if isinstance(part, Ref) and part.default is None else part
        for part in word
    )


def needed_names(word: Word, sure: Collection[str] = ()) -> list[str]:
    """Return the variables that must be set, because *word* has no default for them.

    Args:
        sure: names that are always set.
    """
    refs = (part for part in word if isinstance(part, Ref) and part.default is None)
    return list(dict.fromkeys(ref.name for ref in refs if ref.name not in sure))


def rename(word: Word, names: Mapping[str, str]) -> Word:
    """Return *word* with references to *names* replaced."""
    return tuple(
        Ref(names.get(part.name, part.name), part.default)
        if isinstance(part, Ref)
        else part
        for part in word
    )


def quote_directive(option: str, value: str) -> str:
    """Return *value* unchanged for a line of ``#SBATCH`` or ``#flux:``.

    Raises:
        UsageError: the line cannot hold it, because directives have no quoting.
    """
    if not is_plain(value):
        msg = f"{option}: {value!r} holds what a line of a job script cannot"
        raise UsageError(msg, hint="no space, no quote, no #, no \\, nothing unseen")
    return value


def _reference(ref: Ref, user: str, sure: Collection[str]) -> str:
    if ref.default is not None:
        if not PLAIN_DEFAULT.fullmatch(ref.default):
            msg = (
                f"{user}: the default {ref.default!r} cannot be written in an expansion"
            )
            raise UsageError(msg, hint="letters, digits and _./:@%+=,- can")
        return f'"${{{ref.name}:-{ref.default}}}"'
    if ref.name in sure:
        return f'"${{{ref.name}}}"'
    # The message must not contain a character with a meaning inside the quotes.
    return f'"${{{ref.name}?is not set, and {user} refers to it}}"'


def cpu_ranges(mask: str) -> str:
    """Return the CPUs of a mask as a list of ranges: ``8-15,40-47``."""
    bits = f"{int(mask, 16):b}"[::-1]
    return ",".join(
        f"{match.start()}-{match.end() - 1}" for match in re.finditer("1+", bits)
    )


def union_of(masks: Sequence[str]) -> str:
    """Return all masks combined, in groups of 32 bits, as in /proc/self/status."""
    union = 0
    for mask in masks:
        union |= int(mask, 16)
    groups = []
    while union:
        groups.append(f"{union & 0xFFFFFFFF:08x}")
        union >>= 32
    return ",".join(reversed(groups))
