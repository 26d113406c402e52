"""A trace is from outside: how large it may be, its fields as they should be, or none."""

from collections.abc import Mapping, Sequence
from typing import Any

from envcfg.errors import EXIT_CANNOT, EnvcfgError

# Bytes of one trace; a dump of 2000 operations with stacks is some 4 MB.
LARGEST = 1 << 26
_FAR = 1 << 63  # what no number of a library reaches
_LONG = 4096  # letters of a name


class TraceError(EnvcfgError):
    """A text or dump that is not what it should be, or too large to be read."""

    exit_code = EXIT_CANNOT


def check_size(size: int) -> None:
    """Refuse a trace of *size* bytes if that is too much to be held in memory.

    Raises:
        TraceError: it is.
    """
    if size > LARGEST:
        msg = f"larger than {LARGEST >> 20} MiB"
        raise TraceError(msg, hint="give a part of it, or the file of one rank")


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
