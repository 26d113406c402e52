"""Whether ranks stand still though the log goes on, by two looks at them; pure.

A heartbeat, a bar that ticks or the warnings of a helper write on while a job hangs. Of a
rank whose first thread has not run once, and which with all that it has started has used
next to nothing of a processor, none of that is the program.
"""

from __future__ import annotations

from collections.abc import Sequence

from envcfg.hang.records import RankView

LEAST = 15.0  # seconds between two looks, in which a job that goes on does something
_IDLE = 0.05  # cores that a thread which only says that it lives may use


def standing(
    before: Sequence[RankView], now: Sequence[RankView]
) -> frozenset[tuple[str, int]]:
    """Return host and process of the ranks that have not run since *before*."""
    known = {(each.host, each.pid): each for each in before}
    found = set()
    for each in now:
        old = known.get((each.host, each.pid))
        if old is not None and _stood(old, each):
            found.add((each.host, each.pid))
    return frozenset(found)


def _stood(old: RankView, now: RankView) -> bool:
    if None in (old.turns, now.turns, old.worked, now.worked, old.moment, now.moment):
        return False
    passed = (now.moment or 0.0) - (old.moment or 0.0)
    worked = (now.worked or 0.0) - (old.worked or 0.0)
    return passed >= LEAST and old.turns == now.turns and 0 <= worked <= _IDLE * passed
