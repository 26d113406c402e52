"""Ranges of versions, as rules write them: ``2.22-2.25``, ``2.28-``, ``-2.10``."""

from __future__ import annotations


def ranges_disjoint(one: tuple[str, str], other: tuple[str, str]) -> bool:
    """Return whether no version of a library lies in both (library, range)."""
    if one[0] != other[0]:
        return False
    (low, high), (other_low, other_high) = _bounds(one[1]), _bounds(other[1])
    return _below(high, other_low) or _below(other_high, low)


def is_older(version: str, other: str) -> bool:
    """Return whether *version* lies before *other*."""
    return _parts(version) < _parts(other)


def _bounds(text: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
    low, dash, high = text.partition("-")
    return _parts(low), _parts(high if dash else low)


def _parts(text: str) -> tuple[int, ...]:
    parts = text.strip().split(".")
    return tuple(int(part) for part in parts if part.isdecimal() and len(part) < 10)


def _below(high: tuple[int, ...], low: tuple[int, ...]) -> bool:
    """Return whether everything up to *high* (2.18 covers 2.18.6) lies before *low*."""
    return bool(high) and bool(low) and high < low[: len(high)]
