"""Numbers as people write them, and things put together that are told of together."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import TypeVar

_Thing = TypeVar("_Thing")
_Key = TypeVar("_Key")
_MANY = 8
_NAMED = 3  # names that are given, before the others are only counted


def grouped(
    things: Iterable[_Thing], key: Callable[[_Thing], _Key]
) -> dict[_Key, list[_Thing]]:
    """Return *things* by their *key*, in the order in which they come."""
    found: dict[_Key, list[_Thing]] = {}
    for each in things:
        found.setdefault(key(each), []).append(each)
    return found


def ranges(numbers: Iterable[int]) -> list[tuple[int, int]]:
    """Return rising *numbers* as ranges, each by its first and last."""
    found: list[tuple[int, int]] = []
    for number in numbers:
        if found and number == found[-1][1] + 1:
            found[-1] = found[-1][0], number
        else:
            found.append((number, number))
    return found


def number_ranges(numbers: Iterable[int]) -> str:
    """Return rising *numbers* as ranges: ``0-3,8``; many ranges are cut off."""
    found = ranges(numbers)
    text = ",".join(f"{a}-{b}" if b > a else str(a) for a, b in found[:_MANY])
    left = sum(b - a + 1 for a, b in found[_MANY:])
    return f"{text} and {left} more" if left else text


def first_of(names: Collection[str]) -> str:
    """Return the first *names* in their order: ``a, b, c and 4 more``."""
    ordered = sorted(names)
    left = len(ordered) - _NAMED
    return ", ".join(ordered[:_NAMED]) + (f" and {left} more" if left > 0 else "")


def ranks_of(ranks: Collection[int], hosts: Collection[str] = ()) -> str:
    """Return ``rank 3``, or ``ranks 0-3 (nid001, nid002)`` with the *hosts* of them."""
    where = f" ({first_of(hosts)})" if hosts else ""
    return f"rank{'s' if len(ranks) > 1 else ''} {number_ranges(sorted(ranks))}{where}"


def count_of(count: int, noun: str, plural: str = "") -> str:
    """Return ``1 rank`` or ``3 ranks``."""
    return f"{count} {noun if count == 1 else plural or noun + 's'}"


def named(ranks: Iterable[int | None]) -> int:
    """Return of how many something is said: ranks, or processes where none has one."""
    everyone = list(ranks)
    return len({rank for rank in everyone if rank is not None}) or len(everyone)


_SINGULAR = {
    "use": "uses",
    "have": "has",
    "do": "does",
    "see": "sees",
    "are": "is",
    "send": "sends",
    "lack": "lacks",
    "know": "knows",
    "wait": "waits",
}


def said_of(count: int, detail: str) -> str:
    """Return *detail*, which is said of several (``use their own``), as said of *count*."""
    if count != 1:
        return detail
    verb, space, rest = detail.partition(" ")
    rest = rest.replace(" they have", " it has").replace("their ", "its ")
    return f"{_SINGULAR.get(verb, verb)}{space}{rest}"
