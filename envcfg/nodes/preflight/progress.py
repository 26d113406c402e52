"""The progress of nodes and ranks, and the deadlines for the others; pure.

Every wait has a time limit: a rank more than *patience* seconds behind the first is late.
Until the first answer, and while all load torch from a slow file system, the limit is
*start* seconds.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from envcfg.nodes.preflight.collective import STAGES
from envcfg.nodes.preflight.preflight_records import RankAnswer
from envcfg.nodes.probe.node_answer import NodeAnswer
from envcfg.nodes.probe.runner import Patience

_LOADING = STAGES.index("imported")  # number of stages before the import is complete
_JOINED = STAGES.index("joined") + 1


class Limits(NamedTuple):
    """The time limits, in seconds."""

    start: float = 120.0  # for the first answer, and for the first import of torch
    patience: float = 20.0  # for the others, after one has come as far
    measure: float = 20.0  # for the measurements


class NodeProgress:
    """The nodes that have answered."""

    def __init__(self, hosts: Collection[str], limits: Limits, began: float) -> None:
        """Wait for *hosts* from *began* on (seconds of a monotonic clock)."""
        self._hosts, self._others = frozenset(hosts), limits.patience
        self._patience = Patience(limits.start, began)

    def deadline(self, answers: Mapping[str, NodeAnswer], now: float) -> float | None:
        """Return the deadline for more answers; None: all nodes have answered."""
        complete = {host for host, answer in answers.items() if answer.is_whole}
        if complete >= self._hosts:
            return None
        return self._patience.until(now, self._others, has_any=bool(complete))


class RankProgress:
    """The stage that the ranks have reached."""

    def __init__(self, limits: Limits, began: float) -> None:
        """Wait from *began* on."""
        self._limits = limits
        self._stage = 0  # reached by all ranks
        self._first = 0  # reached by at least one rank
        self._deadline = began + limits.start
        self._since = began  # time at which all ranks had reached the last stage

    def deadline(
        self, ranks: Mapping[int, RankAnswer], world: int | None, now: float
    ) -> float | None:
        """Return the deadline for more lines; None: all are done, or one cannot go on."""
        # A rank without torch reaches no further stage, and is not awaited.
        stages = [rank.stage for rank in ranks.values() if not rank.lacks]
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
        if any(rank.failed or rank.unmet for rank in ranks.values()):
            self._deadline = min(self._deadline, now + 1)  # others may report it too
        return self._deadline

    def _longer(self, now: float) -> float:
        """Return the seconds that a rank may be behind the first one."""
        more = self._limits.measure if self._stage >= _JOINED else 0.0
        # A slow file system delays the other ranks as much as it delayed the first.
        if self._stage == _LOADING:
            more = now - self._since
        return self._limits.patience + more


def late_ranks(
    ranks: Mapping[int, RankAnswer], world: int | None
) -> tuple[Sequence[int], int]:
    """Return the ranks that are behind, rising, and the stage that they have reached.

    If no rank is ahead, these are all ranks; a rank without lines has reached no stage.
    """
    numbers = range(world if world is not None else max(ranks, default=-1) + 1)
    reached = {
        number: ranks[number].stage if number in ranks else 0 for number in numbers
    }
    lowest = min(reached.values(), default=0)
    return [rank for rank, stage in reached.items() if stage == lowest], lowest
