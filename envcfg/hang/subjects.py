"""Of whom a finding speaks: one rank, or many that do the same; pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from envcfg.hang.records import RankView
from envcfg.log.numbers import first_of, number_ranges

_FEW = 4  # ranks that get a finding each


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
    return f"rank{'s' if len(ranks) > 1 else ''} {number_ranges(sorted(ranks))}{on}"


def has(ranks: Sequence[int]) -> str:
    """Return the verb for *ranks*."""
    return "has" if len(ranks) == 1 else "have"
