"""Values from outside, such as JSON: a value of another type counts as missing."""

from collections.abc import Mapping, Sequence
from typing import Any

from envcfg.common.nesting import check_depth, refuse_depth

_FAR = 1 << 63  # larger than any number of a library
_LONG = 4096  # characters of a text


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
