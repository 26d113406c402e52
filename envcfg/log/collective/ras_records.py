"""The records in an answer of RAS: processes, communicators, progress of each rank.

``ras.py`` reads answers; both forms, text and JSON, become these records.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

STATUS = "status"  # subject of a ``DifferingValue`` without an operation


class RasProcess(NamedTuple):
    """A process of the job that did not answer."""

    host: str  # address of its node in the answer; empty if unknown
    pid: int | None
    dead: bool  # True if NCCL has given it up; else it did not answer in time


class RasRank(NamedTuple):
    """A rank of a communicator."""

    rank: int  # its number in the communicator
    host: str = ""  # address of its node; empty if unknown
    pid: int | None = None
    error: str = ""
    # Operations that it has launched, by collective; empty if unknown.
    counts: Mapping[str, int] = {}


class Share(NamedTuple):
    """Ranks with the same value."""

    # Operations that they have launched, or their status: `NOCOMM`, `INIT`, `RUNNING`,
    # `FINALIZE` or `ABORT`.
    value: int | str
    # Number of these ranks.
    count: int  # type: ignore[assignment]  # hides tuple.count, which is unused
    ranks: tuple[RasRank, ...]  # named ranks, rising: all, or none if they are many


class DifferingValue(NamedTuple):
    """A value in which the ranks of a communicator differ."""

    subject: str  # a collective (`AllReduce`), or `status`
    # Two or more; those of a collective from the fewest operations to the most.
    shares: tuple[Share, ...]

    @property
    def behind(self) -> tuple[Share, ...]:
        """The shares that launched fewer operations than the maximum; empty if only
        status differs."""
        return () if self.subject == STATUS else self.shares[:-1]


class RasComm(NamedTuple):
    """A communicator."""

    hash: str  # its number, 16 hex digits, the `commId` of NCCL's log
    name: str  # its place in the text's table (`#0-1`); empty in JSON
    size: int | None
    failed: bool  # True if NCCL reports an error for it
    ranks: tuple[RasRank, ...]
    spreads: tuple[DifferingValue, ...]  # values in which its ranks differ


class RasReport(NamedTuple):
    """One answer of NCCL's RAS."""

    time: str  # time of the answer, in the node's own time; empty in the text
    missing: int  # number of processes that did not answer; large numbers are not named
    dead: int  # number of processes that NCCL has given up
    silent: tuple[RasProcess, ...]  # named processes of both kinds
    # Each row of the text's table, none in JSON: number of communicators with the same
    # properties, and number of ranks of each of them.
    groups: tuple[tuple[int, int], ...]
    comms: tuple[RasComm, ...]  # in the text those with a problem, in JSON all
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
