"""Reasons of values, and the facts that are known when the bash is generated."""

from collections.abc import Mapping
from typing import NamedTuple

from envcfg.common.findings import Place
from envcfg.profile.conditions import Condition, Truth, judge


class Reason(NamedTuple):
    """The reason for a value, with its source, date and place.

    Every entry of a profile carries one.
    """

    why: str
    source: str
    date: str
    place: Place

    @property
    def cited(self) -> str:
        """Return the source and its date."""
        return f"{self.source}, {self.date}"


class Fact(NamedTuple):
    """A fact about the container, host or allocation, with its source."""

    value: str
    reason: Reason


class Facts:
    """The facts of one job, with a record of the unknown facts that were needed."""

    def __init__(self, facts: Mapping[str, Fact]) -> None:
        """Store the known *facts*."""
        self.known = facts  # the facts by name
        # For each unknown fact, the entries that depend on it, in order.
        self.missed: dict[str, list[str]] = {}
        self._values = {name: fact.value for name, fact in facts.items()}

    def judge(self, when: Condition, user: str) -> tuple[Truth, Condition]:
        """Judge a condition: its truth, and the tests left to the job.

        Args:
            user: the name of the entry, for a note about a missing fact.
        """
        truth, unknown, condition = judge(when, self._values)
        for fact in unknown:
            users = self.missed.setdefault(fact, [])
            if user not in users:
                users.append(user)
        return truth, condition
