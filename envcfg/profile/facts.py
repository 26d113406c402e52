"""Why something is so; what is known of a job when its bash is made, and what is not."""

from collections.abc import Mapping
from typing import NamedTuple

from envcfg.findings import Place
from envcfg.profile.conditions import Condition, Truth, judge


class Reason(NamedTuple):
    """Why something is so: the reason, who says it, since when, and where it stands.

    Every entry of a profile carries one.
    """

    why: str
    source: str
    date: str
    place: Place

    @property
    def cited(self) -> str:
        """Return who says it, and since when."""
        return f"{self.source}, {self.date}"


class Fact(NamedTuple):
    """Something known of container, host or allocation, and who says so."""

    value: str
    reason: Reason


class Facts:
    """The facts of one job; remembers which were asked for and are not known.

    Attributes:
        known: the facts by name.
        missed: for each fact that nobody stated, what depends on it, in order.
    """

    def __init__(self, known: Mapping[str, Fact]) -> None:
        """Begin with what is known."""
        self.known = known
        self.missed: dict[str, list[str]] = {}
        self._values = {name: fact.value for name, fact in known.items()}

    def judge(self, when: Condition, user: str) -> tuple[Truth, Condition]:
        """Judge a condition: its truth, and what of it is left to test in the job.

        Args:
            user: whose it is, as a note names it if a fact is missing.
        """
        truth, unknown, left = judge(when, self._values)
        for fact in unknown:
            users = self.missed.setdefault(fact, [])
            if user not in users:
                users.append(user)
        return truth, left
