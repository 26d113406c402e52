"""Values from outside, such as JSON: accepted by their type, refused with their place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from envcfg.common.nesting import check_depth, refuse_depth

_T = TypeVar("_T", dict[str, Any], list[Any], str)
_FAR = 1 << 63  # larger than any number of a library
_LONG = 4096  # characters of a text
_MOST = 2000  # entries of an object, or records of a list
_MOST_TEXTS = 1000  # texts in a list


class ForeignDataError(ValueError):
    """The error for a value of the wrong type, with its place."""


def read_json(text: str | bytes, *, is_whole: bool = True) -> Any:  # noqa: ANN401  # any value
    """Return the value of a JSON text.

    Args:
        is_whole: whether the value must be the whole text; otherwise the rest is
            ignored.

    Raises:
        ValueError: it is not JSON, or nested more than
            :data:`~envcfg.common.nesting.MAX_DEPTH` deep.
    """
    import json

    try:
        if is_whole:
            value = json.loads(text)
        else:
            value = json.JSONDecoder().raw_decode(str(text))[0]
    except RecursionError:
        refuse_depth()
    check_depth(value)
    return value


def mapping(value: object) -> Mapping[str, Any]:
    """Return *value* if it is a mapping; else an empty one."""
    return value if isinstance(value, dict) else {}


def mappings(value: object) -> list[Mapping[str, Any]]:
    """Return the mappings of a list; of anything else, none."""
    return [element for element in sequence(value) if isinstance(element, dict)]


def sequence(value: object) -> Sequence[Any]:
    """Return *value* if it is a list or tuple; else an empty one."""
    return value if isinstance(value, list | tuple) else ()


def integer(value: object, *, base: int = 10) -> int | None:
    """Return a whole number, or a text of one; None for anything else, or too large."""
    if isinstance(value, str) and len(value) < 32:
        try:
            value = int(value, base)
        except ValueError:
            return None
    if not isinstance(value, int) or isinstance(value, bool):
        return None
    # A 64-bit number may be written with or without a sign.
    return value if -_FAR <= value < 2 * _FAR else None


def text_of(value: object) -> str:
    """Return *value* if it is a text, cut to a readable length; else nothing."""
    return value[:_LONG] if isinstance(value, str) else ""


def read_record(kind: Any, value: object, place: str) -> Any:  # noqa: ANN401  # of that kind
    """Return *value* as *kind*, by its annotations: a record, or a part of one.

    Raises:
        ForeignDataError: a part has another type or is too long; *place* is its name.
    """
    inner = get_args(kind)
    if kind is bool:
        return value is True
    if kind is str:
        return _checked(value, str, _LONG, place)
    if get_origin(kind) is tuple:
        most = _MOST_TEXTS if inner[0] is str else _MOST
        each_of = enumerate(_checked(value, list, most, place))
        return tuple(read_record(inner[0], e, f"{place}[{n}]") for n, e in each_of)
    data = _checked(value, dict, _MOST, place)
    if inner:
        return {
            read_record(str, k, place): read_record(inner[1], v, f"{place}.{k:.80}")
            for k, v in data.items()
        }
    hints = get_type_hints(kind).items()
    return kind(*(read_record(h, data.get(n), f"{place}.{n}") for n, h in hints))


def _checked(value: object, kind: type[_T], most: int, place: str) -> _T:
    """Return *value* if it is of this *kind* and no longer than *most*."""
    if not isinstance(value, kind) or len(value) > most:
        name = {dict: "an object", list: "a list"}.get(kind, "a text")
        raise ForeignDataError(f"{place} is not {name} of at most {most}")  # noqa: EM102
    return value
