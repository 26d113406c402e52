"""The activity of a rank, by the kernel state of its first thread; pure."""

import re
from collections.abc import Sequence
from functools import cache
from typing import Literal, NamedTuple

from envcfg.common.datafile import load_yaml
from envcfg.nodes.hang.hang_records import HangRank

Kind = Literal["stopped", "ended", "stuck", "sleeps", "waits", "runs", "unknown"]

_channels = cache(load_yaml)
# Numbers of nanosleep and clock_nanosleep on x86_64 and arm64, if no function is named.
_SLEEPS = frozenset({35, 230, 101, 115})
# Frames of PyTorch and its extensions, between the program and the communication.
_COLLECTIVE = re.compile(
    r"distributed_c10d\.py|c10d_logger\.py|functional_collectives|torch/distributed/"
    r"|deepspeed/comm/|horovod/torch/mpi_ops"
    r"|^(wait|synchronize) \(torch/(cuda|xpu)/"  # waits for the work of its GPU
)
LEAST = 15.0  # seconds between two looks, in which a running job does something
_IDLE = 0.05  # cores that a heartbeat thread may use


class Activity(NamedTuple):
    """The activity of a rank."""

    kind: Kind
    phrase: str  # the activity as a verb phrase


def activity(rank: HangRank) -> Activity:
    """Return the activity of *rank*."""
    # The kernel's letter comes first, because it is certain.
    if rank.state in "Tt":
        by = "by a debugger" if rank.state == "t" else "by a signal"
        return Activity("stopped", f"is stopped {by}")
    if rank.state in "ZX":
        return Activity("ended", "has ended")
    if rank.state == "D":
        channel = f" ({rank.channel})" if rank.channel else ""
        return Activity("stuck", f"cannot be interrupted in the kernel{channel}")
    if rank.state == "R":
        return Activity("runs", "runs")
    fits = (
        e["said"]
        for e in _channels("nodes/hang/channels.yaml")
        if re.search(e["pattern"], rank.channel)
    )
    text = next(fits, "") if rank.channel else ""
    # Without a readable kernel function, the system call shows the activity.
    if text == "sleeps" or (not text and rank.call in _SLEEPS):
        return Activity("sleeps", "sleeps")
    if rank.channel:
        return Activity("waits", text or f"waits in {rank.channel}")
    return Activity("unknown", "waits for something that the kernel does not show")


def is_in_collective(rank: HangRank) -> bool:
    """Return whether the stack of *rank* shows that it waits in a collective."""
    return any(_COLLECTIVE.search(frame) for frame in rank.stack)


def place(rank: HangRank) -> str:
    """Return the innermost frame of its own program; empty if unknown.

    Frames between a program and its system call belong to Python or PyTorch.
    """
    for frame in rank.stack:
        if not re.search(r"\((?:torch|contextlib|threading|socket|selectors)", frame):
            return frame
    return rank.stack[0] if rank.stack else ""


def does(rank: HangRank) -> str:
    """Return the activity of *rank*, and its place in the program."""
    return f"{activity(rank).phrase}{where(rank)}"


def where(rank: HangRank) -> str:
    """Return `` in FRAME`` for the place of *rank* in its program; empty if unknown."""
    place_text = place(rank)
    return f" in {place_text}" if place_text else ""


def standing(
    before: Sequence[HangRank], now: Sequence[HangRank]
) -> frozenset[tuple[str, int]]:
    """Return host and process of the ranks that have not run since *before*.

    A heartbeat, a progress bar or warnings of a helper continue while a job hangs. A rank
    stands if its first thread has not run once, and the rank with all its descendants has
    used nearly no processor time.
    """
    rank_views = {(view.host, view.pid): view for view in before}
    standing_ranks = set()
    for rank_view in now:
        old = rank_views.get((rank_view.host, rank_view.pid), HangRank(0, "", 0))
        if None in (
            rank_view.turns,
            old.worked,
            rank_view.worked,
            old.moment,
            rank_view.moment,
        ):
            continue
        passed = (rank_view.moment or 0.0) - (old.moment or 0.0)
        worked = (rank_view.worked or 0.0) - (old.worked or 0.0)
        # A new process with an old number would have a smaller time.
        is_idle = passed >= LEAST and 0 <= worked <= _IDLE * passed
        if is_idle and old.turns == rank_view.turns:
            standing_ranks.add((rank_view.host, rank_view.pid))
    return frozenset(standing_ranks)
