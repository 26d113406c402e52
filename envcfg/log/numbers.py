"""Numbers and lists in sentences, and things in groups."""

from collections.abc import Callable, Collection, Iterable
from typing import TypeVar

_Thing = TypeVar("_Thing")
_Key = TypeVar("_Key")
_MANY = 8  # ranges in a sentence; more are hard to read
_NAMED = 3  # names in a sentence; further ones are only counted


def grouped(
    things: Iterable[_Thing], key: Callable[[_Thing], _Key]
) -> dict[_Key, list[_Thing]]:
    """Return *things* by their *key*, in their order."""
    return collect((key(thing_found), thing_found) for thing_found in things)


def collect(pairs: Iterable[tuple[_Key, _Thing]]) -> dict[_Key, list[_Thing]]:
    """Return the values of *pairs* by their keys, in their order."""
    values: dict[_Key, list[_Thing]] = {}
    for key, value in pairs:
        values.setdefault(key, []).append(value)
    return values


def ranges(numbers: Iterable[int]) -> list[tuple[int, int]]:
    """Return rising *numbers* as ranges, each by its first and last."""
    spans: list[tuple[int, int]] = []
    for number in numbers:
        if spans and number == spans[-1][1] + 1:
            spans[-1] = spans[-1][0], number
        else:
            spans.append((number, number))
    return spans


def number_ranges(numbers: Iterable[int]) -> str:
    """Return rising *numbers* as ranges: ``0-3,8``; many ranges are cut off."""
    spans = ranges(numbers)
    text = ",".join(f"{a}-{b}" if b > a else str(a) for a, b in spans[:_MANY])
    remaining = sum(b - a + 1 for a, b in spans[_MANY:])
    return f"{text} and {remaining} more" if remaining else text


def first_of(names: Collection[str]) -> str:
    """Return the first *names* in their order: ``a, b, c and 4 more``."""
    ordered = sorted(names)
    remaining = len(ordered) - _NAMED
    return ", ".join(ordered[:_NAMED]) + (
        f" and {remaining} more" if remaining > 0 else ""
    )


def ranks_of(ranks: Collection[int], hosts: Collection[str] = ()) -> str:
    """Return ``rank 3``, or ``ranks 0-3 (nid001, nid002)`` with their *hosts*."""
    where = f" ({first_of(hosts)})" if hosts else ""
    return f"rank{'s' if len(ranks) > 1 else ''} {number_ranges(sorted(ranks))}{where}"


def count_of(count: int, noun: str, plural: str = "") -> str:
    """Return ``1 rank`` or ``3 ranks``."""
    return f"{count} {noun if count == 1 else plural or noun + 's'}"


def named(ranks: Iterable[int | None]) -> int:
    """Return the number of subjects: of ranks, or of processes if none has a rank."""
    everyone = list(ranks)
    return len({rank for rank in everyone if rank is not None}) or len(everyone)


# Details are written for several ranks, and one rank needs the singular verb.
_SINGULAR = {"have": "has", "do": "does", "are": "is"}
_REGULAR = "use see send lack know wait".split()


def said_of(count: int, detail: str) -> str:
    """Return *detail*, a plural phrase (``use their own``), in the form for *count*."""
    if count != 1:
        return detail
    verb, space, rest = detail.partition(" ")
    rest = rest.replace(" they have", " it has").replace("their ", "its ")
    verb = f"{verb}s" if verb in _REGULAR else _SINGULAR.get(verb, verb)
    return f"{verb}{space}{rest}"
