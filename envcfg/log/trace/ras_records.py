"""The records in an answer of RAS: processes, communicators, progress of each rank.

:mod:`envcfg.log.trace.ras` reads answers; both forms, text and JSON, become these records.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

STATUS = "status"  # subject of a ``DifferingValue`` without an operation


class RasProcess(NamedTuple):
    """A process of the job that did not answer.

    Attributes:
        host: address of its node in the answer; empty if unknown.
        pid: its process id there; None if unknown.
        dead: True if NCCL has given it up; else it did not answer in time.
    """

    host: str
    pid: int | None
    dead: bool


class RasRank(NamedTuple):
    """A rank of a communicator.

    Attributes:
        rank: its number in the communicator.
        host: address of its node; empty if unknown.
        pid: process id there; None if unknown.
        error: error that NCCL reports for it; empty if none.
        counts: operations that it has launched, by collective; empty if unknown.
    """

    rank: int
    host: str = ""
    pid: int | None = None
    error: str = ""
    counts: Mapping[str, int] = {}


class Share(NamedTuple):
    """Ranks with the same value.

    Attributes:
        value: operations that they have launched, or their status: ``NOCOMM``, ``INIT``,
            ``RUNNING``, ``FINALIZE`` or ``ABORT``.
        count: number of these ranks.
        ranks: named ranks, rising: all, or none if they are many.
    """

    value: int | str
    count: int  # type: ignore[assignment]  # hides tuple.count, which is unused
    ranks: tuple[RasRank, ...]


class DifferingValue(NamedTuple):
    """A value in which the ranks of a communicator differ.

    Attributes:
        subject: a collective (``AllReduce``), or ``status``.
        shares: two or more; those of a collective from the fewest operations to the most.
    """

    subject: str
    shares: tuple[Share, ...]

    @property
    def behind(self) -> tuple[Share, ...]:
        """The shares that launched fewer operations than the maximum; empty if only
        status differs."""
        return () if self.subject == STATUS else self.shares[:-1]


class RasComm(NamedTuple):
    """A communicator.

    Attributes:
        hash: its number, 16 hex digits, the ``commId`` of NCCL's log.
        name: its place in the text's table (``#0-1``); empty in JSON.
        size: number of its ranks; None if the text does not show it.
        failed: True if NCCL reports an error for it.
        ranks: ranks in the answer, rising.
        spreads: values in which its ranks differ.
    """

    hash: str
    name: str
    size: int | None
    failed: bool
    ranks: tuple[RasRank, ...]
    spreads: tuple[DifferingValue, ...]


class RasGroup(NamedTuple):
    """Communicators with the same properties: a line of the text's table.

    Attributes:
        comms: number of these communicators.
        size: number of ranks of each of them.
    """

    comms: int
    size: int


class RasReport(NamedTuple):
    """One answer of NCCL's RAS.

    Attributes:
        time: time of the answer, in the node's own time; empty in the text.
        missing: number of processes that did not answer; large numbers are not named.
        dead: number of processes that NCCL has given up.
        silent: named processes of both kinds.
        groups: the text's table; none in JSON.
        comms: in the text those with a problem, in JSON all.
        is_complete: True if the answer is complete.
    """

    time: str
    missing: int
    dead: int
    silent: tuple[RasProcess, ...]
    groups: tuple[RasGroup, ...]
    comms: tuple[RasComm, ...]
    is_complete: bool


def spread_of(subject: str, shares: Sequence[Share]) -> DifferingValue:
    """Return the values of a property in which ranks differ, in order.

    States begin with that of most ranks; counts of operations rise.
    """
    if subject == STATUS:
        return DifferingValue(
            subject, tuple(sorted(shares, key=lambda share: -share.count))
        )
    return DifferingValue(
        subject, tuple(sorted(shares, key=lambda share: int(share.value)))
    )
