"""The words for what is found of a job that hangs: its rules, and of whom they speak."""

import os.path
from collections.abc import Iterator, Mapping, Sequence
from functools import cache

from envcfg.datafile import load_yaml
from envcfg.findings import Finding
from envcfg.hang.records import RankView
from envcfg.log.numbers import first_of, ranks_of
from envcfg.log.rulebook import Rule

_FEW = 4  # ranks that get a finding each
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


def subjects(ranks: Sequence[RankView]) -> Iterator[tuple[str, Sequence[RankView]]]:
    """Yield subjects of findings on *ranks* that do the same, and whom each speaks of."""
    if len(ranks) > _FEW:
        hosts = {rank.rank: rank.host for rank in ranks}
        yield ranks_said([rank.rank for rank in ranks], hosts), ranks
        return
    for rank in ranks:
        yield f"rank {rank.rank} on {rank.host}", [rank]


def ranks_said(ranks: Sequence[int], hosts: Mapping[int, str] | None = None) -> str:
    """Return ``ranks 0-3``, with their *hosts* where these are given."""
    known = sorted({hosts[rank] for rank in ranks if rank in hosts}) if hosts else []
    on = f" on {first_of(known)}" if known else ""
    return f"{ranks_of(ranks)}{on}"


def has(ranks: Sequence[int]) -> str:
    """Return the verb for *ranks*."""
    return "has" if len(ranks) == 1 else "have"
