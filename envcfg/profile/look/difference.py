"""What differs between two resolved profiles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from envcfg.findings import Place
from envcfg.profile.conditions import IN_JOB, Condition
from envcfg.profile.look.view import SECTIONS, State, Value, View

_GONE = {State.NOT, State.PASSED}


class Side(NamedTuple):
    """A value on one side, with what must hold for it."""

    text: str | None
    when: Condition
    otherwise: bool
    place: Place


class Difference(NamedTuple):
    """An entry that differs; empty on the side that does not have it."""

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
    """Return what differs, by section; values that the facts rule out do not count."""
    left, right = _entries(old.values), _entries(new.values)
    order = {section: index for index, section in enumerate(SECTIONS)}
    keys = sorted(dict.fromkeys([*left, *right]), key=lambda key: order[key[0]])
    return [
        Difference(*key, left.get(key, ()), right.get(key, ()))
        for key in keys
        if _said(left.get(key, ())) != _said(right.get(key, ()))
    ]


def _entries(values: Sequence[Value]) -> dict[tuple[str, str], tuple[Side, ...]]:
    found: dict[tuple[str, str], tuple[Side, ...]] = {}
    for each in values:
        if each.state in _GONE:
            continue
        # What is decided is no condition any more.
        when = () if each.state is State.HOLDS else each.when
        if each.state is State.IN_JOB:
            when = tuple(test for test in when if test.fact in IN_JOB)
        side = Side(each.text, when, each.otherwise, each.place)
        key = (each.section, each.name)
        found[key] = (*found.get(key, ()), side)
    return found


def _said(sides: Sequence[Side]) -> list[tuple[object, ...]]:
    return [(side.text, frozenset(side.when), side.otherwise) for side in sides]
