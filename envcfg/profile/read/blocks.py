"""Readers for blocks of plain keys that carry one reason, by the types of their fields."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from envcfg.profile.conditions import Condition
from envcfg.profile.read.entries import REASON, read_reason, read_tests, read_word
from envcfg.profile.read.nodes import Field
from envcfg.profile.words import Word

Block = TypeVar("Block")
Reader = Callable[[Field], object]
# What reads a key that says no more of itself than its type in the model.
_READERS: Mapping[object, Reader] = {
    **dict.fromkeys((int, int | None), Field.integer),
    **dict.fromkeys((bool, bool | None), Field.flag),
    **dict.fromkeys((str, str | None), Field.text),
    **dict.fromkeys((Word, Word | None), read_word),
    tuple[str, ...]: Field.texts,
    Condition: read_tests,
}
# Fields of the model that no file gives.
_MADE = frozenset("reason name option is_old".split())


def keys_of(kind: type[Any]) -> list[str]:
    """Return the keys of the block that a named tuple is read from; not of its reason."""
    return [key for key in kind._fields if key not in _MADE]


def block(kind: type[Block], **readers: Reader) -> Callable[[Field], Block | None]:
    """Return a reader for a block of plain keys that carries one reason."""
    return lambda field: read_block(field, kind, readers)


def read_block(
    field: Field,
    kind: type[Block],
    readers: Mapping[str, Reader],
    *,
    keys: Mapping[str, Field] | None = None,
    **given: object,
) -> Block | None:
    """Read a block; its keys are the fields of *kind*, those without default are needed.

    Args:
        kind: the named tuple of what was read.
        readers: what reads a key where its type does not tell.
        keys: the block's fields, if they are read already; those that are not field of
            *kind* are another's.
        given: goes to *kind* as it is.
    """
    model: Any = kind
    own = [key for key in keys_of(kind) if key not in given]
    needed = [key for key in own if key not in model._field_defaults]
    if keys is None:
        keys = field.mapping({*own, *REASON})
    reason = read_reason(field, keys)
    for key in needed:
        if key not in keys:
            field.problem(f"no {key}", f"this block needs {', '.join(needed)}")
    types = kind.__annotations__
    values = {
        key: (readers.get(key) or _READERS[types[key]])(each)
        for key, each in keys.items()
        if key in own
    }
    values = {key: value for key, value in values.items() if value is not None}
    if reason is None or any(key not in values for key in needed):
        return None
    return kind(reason=reason, **given, **values)  # type: ignore[call-arg]


def by_name(
    read: Callable[[str, Field], Block | None],
) -> Callable[[Field], dict[str, Block | None]]:
    """Return a reader for a mapping of entries; null takes back one of the family's."""

    def read_all(field: Field) -> dict[str, Block | None]:
        found: dict[str, Block | None] = {}
        for name, each in field.mapping().items():
            entry = None if each.is_null else read(name, each)
            if each.is_null or entry is not None:
                found[name] = entry
        return found

    return read_all


def matching(
    pattern: str | re.Pattern[str], what: str
) -> Callable[[Field], str | None]:
    """Return a reader for a text that is a whole match; compiled where there is one."""

    def read(field: Field) -> str | None:
        text = field.text()
        if text is not None and not re.fullmatch(pattern, text):
            field.problem(f"{text!r} is wrong: expected {what}")
            return None
        return text

    return read


def all_of(
    read: Callable[[Field], str | None], *, may_be_empty: bool = False
) -> Callable[[Field], tuple[str, ...] | None]:
    """Return a reader for a list, each entry as *read* takes it."""

    def read_all(field: Field) -> tuple[str, ...] | None:
        items = field.items()
        if not items and not field.is_null and not may_be_empty:
            field.problem("the list is empty")
        texts = [read(item) for item in items]
        found = tuple(text for text in texts if text is not None)
        return found if may_be_empty else found or None

    return read_all


def one_of(*known: str) -> Callable[[Field], str | None]:
    """Return a reader for one of some words."""
    return lambda field: field.one_of(known)
