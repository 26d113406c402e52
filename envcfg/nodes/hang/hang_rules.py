"""The messages on a hanging job: its rules and their subjects."""

from collections.abc import Mapping, Sequence
from functools import cache

from envcfg.common.datafile import load_yaml
from envcfg.common.findings import Finding
from envcfg.log.numbers import count_of, first_of, ranks_of
from envcfg.log.read.rulebook import LogRule
from envcfg.nodes.hang.hang_records import FLIGHT, LaggingRanks


@cache
def hang_rules() -> dict[str, LogRule]:
    """Return all rules by id."""
    return {
        rule["id"]: LogRule(**rule)
        for rule in load_yaml("nodes/hang/rules.yaml")["rules"]
    }


def finding(rule: str, subject: str, message: str) -> Finding:
    """Return the finding of *rule* on *subject*; the *message* has no full stop."""
    return hang_rules()[rule].finding(subject, message)


def ranks_said(ranks: Sequence[int], hosts: Mapping[int, str] | None = None) -> str:
    """Return ``ranks 0-3``, with their *hosts* if given."""
    names = sorted({hosts[rank] for rank in ranks if rank in hosts}) if hosts else []
    on = f" on {first_of(names)}" if names else ""
    return f"{ranks_of(ranks)}{on}"


def has(ranks: Sequence[int]) -> str:
    """Return ``has`` or ``have``, which agrees with the number of *ranks*."""
    return "has" if len(ranks) == 1 else "have"


def behind_said(behind: LaggingRanks) -> str:
    """Return the operation that ranks have not begun, and the ranks that wait."""
    if behind.differs:
        return f"out of step at {behind.most} of {behind.group}: {behind.operation}"
    verb = has(behind.ranks)
    waits = f"{behind.waiting} wait{'s' if behind.waiting == 1 else ''}"
    where = f" at {behind.where}" if behind.where else ""
    since = f" for {span(behind.since)}" if behind.since is not None else ""
    # Flight Recorder numbers collectives in a group; RAS counts each operation.
    if behind.by == FLIGHT:
        call = f"number {behind.most} of {behind.group}, {behind.operation}"
        if behind.number == behind.most:
            others = count_of(behind.waiting, "other")
            return f"{verb} been in {call}{since}, which has ended on {others}{where}"
        done = "written no dump"
        if behind.number is not None:
            done = f"called {behind.number} collectives of {behind.group}"
        return f"{verb} {done}; {waits} in {call}{since}{where}"
    return (
        f"{verb} begun {behind.number} {behind.operation} of communicator {behind.group}, "
        f"{count_of(behind.waiting, 'other')} {behind.most}"
    )


def span(seconds: float) -> str:
    """Return a time in words: ``40 s``, ``12 min``, ``3 h 20 min``."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    if minutes < 100:
        return f"{minutes} min"
    return f"{minutes // 60} h {minutes % 60} min"
