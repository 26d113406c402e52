"""The differences of two resolved profiles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from envcfg.common.findings import Place
from envcfg.profile.conditions import IN_JOB, Condition
from envcfg.profile.look.value_list import SECTIONS, Value, ValueState, View

_GONE = {ValueState.NOT, ValueState.PASSED}


class Side(NamedTuple):
    """A value on one side, with its condition."""

    text: str | None
    when: Condition
    otherwise: bool
    place: Place


class Difference(NamedTuple):
    """An entry that differs; empty on a side that lacks it."""

    section: str
    name: str
    old: tuple[Side, ...]
    new: tuple[Side, ...]

    @property
    def kind(self) -> str:
        """Return ``added``, ``removed`` or ``changed``."""
        return (
            "changed" if self.old and self.new else "added" if self.new else "removed"
        )


def differences(old: View, new: View) -> list[Difference]:
    """Return the differences by section; values excluded by the facts do not count."""
    sides, right = _entries(old.values), _entries(new.values)
    order = {section: index for index, section in enumerate(SECTIONS)}
    keys = sorted(dict.fromkeys([*sides, *right]), key=lambda key: order[key[0]])
    return [
        Difference(*key, sides.get(key, ()), right.get(key, ()))
        for key in keys
        if _comparable(sides.get(key, ())) != _comparable(right.get(key, ()))
    ]


def _entries(values: Sequence[Value]) -> dict[tuple[str, str], tuple[Side, ...]]:
    sides: dict[tuple[str, str], tuple[Side, ...]] = {}
    for value in values:
        if value.state in _GONE:
            continue
        # A decided condition is not a condition any more.
        when = () if value.state is ValueState.HOLDS else value.when
        if value.state is ValueState.IN_JOB:
            when = tuple(test for test in when if test.fact in IN_JOB)
        side = Side(value.text, when, value.otherwise, value.place)
        key = (value.section, value.name)
        sides[key] = (*sides.get(key, ()), side)
    return sides


def _comparable(sides: Sequence[Side]) -> list[tuple[object, ...]]:
    return [(side.text, frozenset(side.when), side.otherwise) for side in sides]
