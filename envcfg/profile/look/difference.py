"""The differences of two resolved profiles."""

from collections.abc import Sequence
from typing import NamedTuple

from envcfg.profile.conditions import IN_JOB, condition_suffix
from envcfg.profile.look.value_list import SECTIONS, Value, ValueState, View

_GONE = {ValueState.NOT, ValueState.PASSED}


class Difference(NamedTuple):
    """An entry that differs."""

    section: str
    name: str
    # Its values with their conditions, in both profiles; empty: the profile lacks it.
    old: tuple[str, ...]
    new: tuple[str, ...]


def differences(old: View, new: View) -> list[Difference]:
    """Return the differences by section; values excluded by the facts do not count."""
    left, right = _entries(old.values), _entries(new.values)
    order = [*SECTIONS]
    keys = sorted(left | right, key=lambda key: order.index(key[0]))
    entries = (Difference(*key, left.get(key, ()), right.get(key, ())) for key in keys)
    return [entry for entry in entries if entry.old != entry.new]


def _entries(values: Sequence[Value]) -> dict[tuple[str, str], tuple[str, ...]]:
    entries: dict[tuple[str, str], tuple[str, ...]] = {}
    for value in values:
        if value.state in _GONE:
            continue
        # A decided condition is not a condition any more.
        when = () if value.state is ValueState.HOLDS else value.when
        if value.state is ValueState.IN_JOB:
            when = tuple(test for test in when if test.fact in IN_JOB)
        suffix = condition_suffix(tuple(sorted(when)), otherwise=value.otherwise)
        key = value.section, value.name
        entries[key] = (*entries.get(key, ()), f"{value.assignment}{suffix}")
    return entries
