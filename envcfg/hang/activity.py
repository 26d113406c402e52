"""What a rank does, by what the kernel says of its first thread; pure."""

import os.path
import re
from collections.abc import Sequence
from functools import cache
from typing import Literal, NamedTuple

from envcfg.datafile import load_yaml
from envcfg.hang.records import RankView

Kind = Literal["stopped", "ended", "stuck", "sleeps", "waits", "runs", "unknown"]

_FILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "channels.yaml")
_channels = cache(load_yaml)
# nanosleep and clock_nanosleep of x86_64 and of arm64, where no function is named.
_SLEEPS = frozenset({35, 230, 101, 115})
# Frames of PyTorch and what is built on it, between the program and the communication.
_COLLECTIVE = re.compile(
    r"distributed_c10d\.py|c10d_logger\.py|functional_collectives|torch/distributed/"
    r"|deepspeed/comm/|horovod/torch/mpi_ops"
    r"|^(wait|synchronize) \(torch/(cuda|xpu)/"  # for what its GPU does
)
LEAST = 15.0  # seconds between two looks, in which a job that goes on does something
_IDLE = 0.05  # cores that a thread which only says that it lives may use


class Activity(NamedTuple):
    """What a rank does.

    Attributes:
        kind: what others are compared by.
        said: the same, as said of the rank.
    """

    kind: Kind
    said: str


def activity(rank: RankView) -> Activity:
    """Return what *rank* does."""
    if rank.state in "Tt":
        by = "by a debugger" if rank.state == "t" else "by a signal"
        return Activity("stopped", f"is stopped {by}")
    if rank.state in "ZX":
        return Activity("ended", "has ended")
    if rank.state == "D":
        at = f" ({rank.channel})" if rank.channel else ""
        return Activity("stuck", f"cannot be interrupted in the kernel{at}")
    if rank.state == "R":
        return Activity("runs", "runs")
    fits = (
        e["said"] for e in _channels(_FILE) if re.search(e["pattern"], rank.channel)
    )
    said = next(fits, "") if rank.channel else ""
    if said == "sleeps" or (not said and rank.call in _SLEEPS):
        return Activity("sleeps", "sleeps")
    if rank.channel:
        return Activity("waits", said or f"waits in {rank.channel}")
    return Activity("unknown", "waits for something that the kernel does not show")


def is_in_collective(rank: RankView) -> bool:
    """Tell whether its stack shows that it waits in a collective, or for its GPU in one."""
    return any(_COLLECTIVE.search(frame) for frame in rank.stack)


def place(rank: RankView) -> str:
    """Return where its program is: the innermost frame that is its own; or nothing.

    What stands between a program and the end of its call is Python's or PyTorch's.
    """
    for frame in rank.stack:
        if not re.search(r"\((?:torch|contextlib|threading|socket|selectors)", frame):
            return frame
    return rank.stack[0] if rank.stack else ""


def does(rank: RankView) -> str:
    """Return what *rank* does, and where in its program."""
    return f"{activity(rank).said}{where(rank)}"


def where(rank: RankView) -> str:
    """Return `` in FRAME`` for where *rank* is in its program; empty where unknown."""
    at = place(rank)
    return f" in {at}" if at else ""


def standing(
    before: Sequence[RankView], now: Sequence[RankView]
) -> frozenset[tuple[str, int]]:
    """Return host and process of the ranks that have not run since *before*.

    A heartbeat, a bar that ticks or the warnings of a helper write on while a job hangs. Of
    a rank whose first thread has not run once, and which with all that it has started has
    used next to nothing of a processor, none of that is the program.
    """
    known = {(each.host, each.pid): each for each in before}
    found = set()
    for each in now:
        old = known.get((each.host, each.pid), RankView(0, "", 0))
        if None in (each.turns, old.worked, each.worked, old.moment, each.moment):
            continue
        passed = (each.moment or 0.0) - (old.moment or 0.0)
        worked = (each.worked or 0.0) - (old.worked or 0.0)
        is_idle = passed >= LEAST and 0 <= worked <= _IDLE * passed
        if is_idle and old.turns == each.turns:
            found.add((each.host, each.pid))
    return frozenset(found)
