"""Readers for blocks of plain keys that carry one reason, by the types of their fields."""

import re
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from envcfg.common.characters import Texts
from envcfg.profile.conditions import Condition
from envcfg.profile.read.entry_readers import REASON, read_reason, read_tests, read_word
from envcfg.profile.read.yaml_nodes import Field
from envcfg.profile.words import Word

Block = TypeVar("Block")
Reader = Callable[[Field], object]
# Readers of keys that need no more than their type in the model.
_READERS: Mapping[object, Reader] = {
    **dict.fromkeys((int, int | None), Field.integer),
    **dict.fromkeys((bool, bool | None), Field.flag),
    **dict.fromkeys((str, str | None), Field.text),
    **dict.fromkeys((Word, Word | None), read_word),
    Texts: Field.texts,
    Condition: read_tests,
}
# Fields of the model that no file sets.
_MADE = frozenset("reason name option is_old".split())


def keys_of(kind: type[Any]) -> list[str]:
    """Return the keys of a block with the fields of *kind*, except those of its reason."""
    return [key for key in kind._fields if key not in _MADE]


def block(kind: type[Block], **readers: Reader) -> Callable[[Field], Block | None]:
    """Return a reader for a block of plain keys with one reason."""
    return lambda field: read_block(field, kind, readers)


def read_block(
    field: Field,
    kind: type[Block],
    readers: Mapping[str, Reader],
    *,
    keys: Mapping[str, Field] | None = None,
    **given: object,
) -> Block | None:
    """Read a block; its keys are the fields of *kind*, and those without default are
    required.

    Args:
        kind: the named tuple of the result.
        readers: readers of keys whose type is not enough.
        keys: the block's fields, if already read; other keys belong to another reader.
        given: values that are passed to *kind* unchanged.
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
        key: (readers.get(key) or _READERS[types[key]])(child)
        for key, child in keys.items()
        if key in own
    }
    values = {key: value for key, value in values.items() if value is not None}
    if reason is None or any(key not in values for key in needed):
        return None
    return kind(reason=reason, **given, **values)  # type: ignore[call-arg]


def by_name(
    reader: Callable[[str, Field], Block | None],
) -> Callable[[Field], dict[str, Block | None]]:
    """Return a reader for a mapping of entries; null removes an entry of the family."""

    def read_all(field: Field) -> dict[str, Block | None]:
        blocks: dict[str, Block | None] = {}
        for name, child in field.mapping().items():
            entry = None if child.is_null else reader(name, child)
            if child.is_null or entry is not None:
                blocks[name] = entry
        return blocks

    return read_all


def matching(
    pattern: str | re.Pattern[str], subject: str
) -> Callable[[Field], str | None]:
    """Return a reader for a text that matches completely; compiled on first use."""

    def read(field: Field) -> str | None:
        text = field.text()
        if text is not None and not re.fullmatch(pattern, text):
            field.problem(f"{text!r} is wrong: expected {subject}")
            return None
        return text

    return read


def all_of(
    reader: Callable[[Field], str | None], *, may_be_empty: bool = False
) -> Callable[[Field], Texts | None]:
    """Return a reader for a list, with *reader* for each entry."""

    def read_all(field: Field) -> Texts | None:
        items = field.items()
        if not items and not field.is_null and not may_be_empty:
            field.problem("the list is empty")
        texts = [reader(item) for item in items]
        values = tuple(text for text in texts if text is not None)
        return values if may_be_empty else values or None

    return read_all


def one_of(*candidates: str) -> Callable[[Field], str | None]:
    """Return a reader for one of some words."""
    return lambda field: field.one_of(candidates)
