"""How far nodes and ranks are, and until when the others are waited for; pure.

Nobody is waited for for ever: who is behind the first by more than *patience* seconds is
late. Until the first has come, and while an image's torch is loaded from a slow file system
by all alike, *start* seconds count.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from envcfg.preflight.collective import STAGES
from envcfg.preflight.records import NodeAnswer, RankAnswer
from envcfg.probe.runner import Patience

_LOADING = STAGES.index("imported")  # stages that all have reached, before it
_JOINED = STAGES.index("joined") + 1


class Limits(NamedTuple):
    """How long is waited; all in seconds.

    Attributes:
        start: for the first to answer, and for the first to have loaded torch.
        patience: for the others, once one has come as far.
        measure: for what is measured.
    """

    start: float = 120.0
    patience: float = 20.0
    measure: float = 20.0


class NodeProgress:
    """Which nodes have answered."""

    def __init__(self, hosts: Collection[str], limits: Limits, began: float) -> None:
        """Wait for *hosts* from *began* on (seconds of a clock that only goes on)."""
        self._hosts, self._others = frozenset(hosts), limits.patience
        self._patience = Patience(limits.start, began)

    def deadline(self, answers: Mapping[str, NodeAnswer], now: float) -> float | None:
        """Return until when more is waited for; None: all have answered."""
        whole = {host for host, answer in answers.items() if answer.is_whole}
        if whole >= self._hosts:
            return None
        return self._patience.until(now, self._others, has_any=bool(whole))


class RankProgress:
    """Which stage the ranks have reached."""

    def __init__(self, limits: Limits, began: float) -> None:
        """Wait from *began* on."""
        self._limits = limits
        self._stage = 0  # that all have reached
        self._first = 0  # that one has reached at least
        self._deadline = began + limits.start
        self._since = began  # when the last stage was reached by all

    def deadline(
        self, ranks: Mapping[int, RankAnswer], world: int | None, now: float
    ) -> float | None:
        """Return until when more is waited for; None: all are done, or one cannot go on."""
        stages = [each.stage for each in ranks.values() if not each.lacks]
        if world is not None and len(ranks) >= world:
            if not stages or min(stages) == len(STAGES):
                return None
            if min(stages) > self._stage:
                self._stage, self._since = min(stages), now
                is_loading = self._stage == _LOADING
                longer = self._limits.start if is_loading else self._longer(now)
                self._deadline = now + longer
        if max(stages, default=0) > max(self._first, self._stage):
            self._first = max(stages)
            self._deadline = now + self._longer(now)
        if any(each.failed or each.unmet for each in ranks.values()):
            self._deadline = min(self._deadline, now + 1)  # others may say it as well
        return self._deadline

    def _longer(self, now: float) -> float:
        """Return how far a rank may be behind the first: files come at their time."""
        more = self._limits.measure if self._stage >= _JOINED else 0.0
        if self._stage == _LOADING:
            more = now - self._since
        return self._limits.patience + more


def late_ranks(
    ranks: Mapping[int, RankAnswer], world: int | None
) -> tuple[Sequence[int], int]:
    """Return the ranks that are behind, rising, and the stage that they have reached.

    All where nobody is ahead; a rank that has said nothing has reached none.
    """
    numbers = range(world if world is not None else max(ranks, default=-1) + 1)
    reached = {each: ranks[each].stage if each in ranks else 0 for each in numbers}
    lowest = min(reached.values(), default=0)
    return [each for each, stage in reached.items() if stage == lowest], lowest
