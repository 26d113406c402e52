"""The words for what is found of a job that hangs: its rules, and of whom they speak."""

import os.path
from collections.abc import Mapping, Sequence
from functools import cache

from envcfg.datafile import load_yaml
from envcfg.findings import Finding
from envcfg.hang.records import FLIGHT, Behind
from envcfg.log.numbers import count_of, first_of, ranks_of
from envcfg.log.rulebook import Rule

_FILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "rules.yaml")


@cache
def hang_rules() -> dict[str, Rule]:
    """Return all of them by id."""
    return {each["id"]: Rule(**each) for each in load_yaml(_FILE)["rules"]}


def finding(rule: str, subject: str, message: str) -> Finding:
    """Return what *rule* says of *subject*: *message*, without a full stop."""
    known = hang_rules()[rule]
    severity, why = known.severity or "note", known.meaning
    return Finding(rule, severity, subject, message, known.fix, known.source, why)


def ranks_said(ranks: Sequence[int], hosts: Mapping[int, str] | None = None) -> str:
    """Return ``ranks 0-3``, with their *hosts* where these are given."""
    known = sorted({hosts[rank] for rank in ranks if rank in hosts}) if hosts else []
    on = f" on {first_of(known)}" if known else ""
    return f"{ranks_of(ranks)}{on}"


def has(ranks: Sequence[int]) -> str:
    """Return the verb for *ranks*."""
    return "has" if len(ranks) == 1 else "have"


def behind_said(each: Behind) -> str:
    """Return what ranks have not begun, and who waits for them."""
    if each.differs:
        return f"out of step at {each.most} of {each.group}: {each.operation}"
    verb = has(each.ranks)
    waits = f"{each.waiting} wait{'s' if each.waiting == 1 else ''}"
    where = f" at {each.where}" if each.where else ""
    since = f" for {span(each.since)}" if each.since is not None else ""
    if each.by == FLIGHT:
        done = "written no dump"
        if each.number is not None:
            done = f"called {each.number} collectives of {each.group}"
        call = f"number {each.most} of {each.group}, {each.operation}"
        return f"{verb} {done}; {waits} in {call}{since}{where}"
    return (
        f"{verb} begun {each.number} {each.operation} of communicator {each.group}, "
        f"{count_of(each.waiting, 'other')} {each.most}"
    )


def span(seconds: float) -> str:
    """Return a time as people say it: ``40 s``, ``12 min``, ``3 h 20 min``."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    if minutes < 100:
        return f"{minutes} min"
    return f"{minutes // 60} h {minutes % 60} min"
