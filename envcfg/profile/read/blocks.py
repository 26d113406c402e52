"""Readers for blocks of plain keys that carry one reason."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from envcfg.profile.read.entries import REASON, read_reason
from envcfg.profile.read.nodes import Field

Block = TypeVar("Block")


def block(
    build: Callable[..., Block],
    readers: Mapping[str, Callable[[Field], object]],
    required: Sequence[str] = (),
) -> Callable[[Field], Block | None]:
    """Return a reader for a block of plain keys that carries one reason."""

    def read(field: Field) -> Block | None:
        return read_block(field, build, readers, required)

    return read


def read_block(
    field: Field,
    build: Callable[..., Block],
    readers: Mapping[str, Callable[[Field], object]],
    required: Sequence[str] = (),
    *,
    keys: Mapping[str, Field] | None = None,
    **given: object,
) -> Block | None:
    """Read a block.

    Args:
        field: where it stands.
        build: makes the model of what was read.
        readers: what reads each of its keys.
        required: keys that must be given.
        keys: the block's fields, if they are read already; those without a reader are
            another's.
        given: goes to *build* as it is.
    """
    if keys is None:
        keys = field.mapping({*readers, *REASON})
    reason = read_reason(field, keys)
    for key in required:
        if key not in keys:
            field.problem(f"no {key}", f"this block needs {', '.join(required)}")
    values = {key: readers[key](keys[key]) for key in keys if key in readers}
    values = {key: value for key, value in values.items() if value is not None}
    if reason is None or any(key not in values for key in required):
        return None
    return build(reason=reason, **given, **values)


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
            field.problem(f"{text!r} is no {what}")
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
