"""What an answer of RAS tells, as records: processes, communicators, how far each rank is.

:mod:`envcfg.trace.ras` reads answers; its two forms, text and JSON, both become these.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

STATUS = "status"  # what a Spread is of, where it is of no operation


class RasProcess(NamedTuple):
    """A process of the job that did not answer.

    Attributes:
        host: address of its node, as NCCL has it; empty where unknown.
        pid: its process id there; None where unknown.
        dead: NCCL has given it up; else it only did not answer in time.
    """

    host: str
    pid: int | None
    dead: bool


class RasRank(NamedTuple):
    """A rank of a communicator.

    Attributes:
        rank: its number in the communicator.
        host: address of its node; empty where unknown.
        pid: process id there; None where unknown.
        error: what NCCL reports of it; empty where nothing.
        counts: operations that it has launched, by collective; empty where not told.
    """

    rank: int
    host: str = ""
    pid: int | None = None
    error: str = ""
    counts: Mapping[str, int] = {}


class Share(NamedTuple):
    """Ranks that agree.

    Attributes:
        value: operations that they have launched, or their status: ``NOCOMM``, ``INIT``,
            ``RUNNING``, ``FINALIZE`` or ``ABORT``.
        count: how many they are.
        ranks: those that are named, rising: all, or none where they are many.
    """

    value: int | str
    count: int  # type: ignore[assignment]  # hides tuple.count, which nobody needs
    ranks: tuple[RasRank, ...]


class Spread(NamedTuple):
    """Something in which the ranks of a communicator differ.

    Attributes:
        what: a collective (``AllReduce``), or ``status``.
        shares: two or more; those of a collective from the fewest operations to the most.
    """

    what: str
    shares: tuple[Share, ...]

    @property
    def behind(self) -> tuple[Share, ...]:
        """Those that have launched less than the farthest; none where it is the status."""
        return () if self.what == STATUS else self.shares[:-1]


class RasComm(NamedTuple):
    """A communicator.

    Attributes:
        hash: its number, 16 hex digits, the ``commId`` of NCCL's log.
        name: where it stands in the text's table (``#0-1``); empty in JSON.
        size: its ranks; None where the text does not tell.
        failed: NCCL reports an error of it.
        ranks: those that something is told of, rising.
        spreads: in what its ranks differ.
    """

    hash: str
    name: str
    size: int | None
    failed: bool
    ranks: tuple[RasRank, ...]
    spreads: tuple[Spread, ...]


class RasGroup(NamedTuple):
    """Communicators that look the same: a line of the text's table.

    Attributes:
        comms: how many they are.
        size: ranks of each of them.
    """

    comms: int
    size: int


class RasReport(NamedTuple):
    """One answer.

    Attributes:
        time: when it was given, in the node's own time; empty in the text.
        missing: processes that did not answer; more than are named where they are many.
        dead: processes that NCCL has given up.
        silent: those of both that are named.
        groups: the text's table; none in JSON.
        comms: in the text those with a problem, in JSON all.
        whole: the answer is there to its end.
    """

    time: str
    missing: int
    dead: int
    silent: tuple[RasProcess, ...]
    groups: tuple[RasGroup, ...]
    comms: tuple[RasComm, ...]
    whole: bool


def spread_of(what: str, shares: Sequence[Share]) -> Spread:
    """Return a spread, its shares in order: by number, or the most ranks first."""
    if what == STATUS:
        return Spread(what, tuple(sorted(shares, key=lambda each: -each.count)))
    return Spread(what, tuple(sorted(shares, key=lambda each: int(each.value))))
