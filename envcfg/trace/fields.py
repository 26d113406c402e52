"""Fields of data from outside, taken as what they should be, or not at all."""

from collections.abc import Mapping, Sequence
from typing import Any

_FAR = 1 << 63  # what no number of a library reaches
_LONG = 4096  # letters of a name


def mapping(value: object) -> Mapping[str, Any]:
    """Return *value* if it is a mapping; else an empty one."""
    return value if isinstance(value, dict) else {}


def mappings(value: object) -> list[Mapping[str, Any]]:
    """Return the mappings of a list; of anything else, none."""
    return [each for each in sequence(value) if isinstance(each, dict)]


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
    # A number of 64 bits may be written as one with a sign, or without.
    return value if -_FAR <= value < 2 * _FAR else None


def number(value: object) -> float | None:
    """Return a number that is finite and not negative; None for anything else."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    return float(value) if 0 <= value < float(_FAR) else None


def text_of(value: object) -> str:
    """Return *value* if it is a text, cut to a readable length; else nothing."""
    return value[:_LONG] if isinstance(value, str) else ""
