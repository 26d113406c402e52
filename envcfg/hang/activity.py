"""What a rank does, by what the kernel says of its first thread; pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal, NamedTuple

from envcfg.hang.records import RankView

Kind = Literal["stopped", "ended", "stuck", "sleeps", "waits", "runs", "unknown"]

# By the kernel's function in which it waits, the first that fits (kernel/, fs/, net/ and
# mm/ of Linux 4.18 to 6.12, where the words of these have stayed).
_CHANNELS: tuple[tuple[str, Kind, str], ...] = (
    (r"nanosleep", "sleeps", "sleeps"),
    (r"^(do_)?futex", "waits", "waits for another thread (a lock)"),
    (r"epoll|^ep_poll", "waits", "waits for a connection (epoll)"),
    (r"poll|select", "waits", "waits for a connection (poll)"),
    (r"^(wait_woken|sk_wait|tcp_|unix_|inet_|skb_)", "waits", "waits for a connection"),
    (r"pipe_(read|wait)|^pipe_", "waits", "waits for a pipe"),
    (r"^do_wait|wait4|waitid", "waits", "waits for a process that it has started"),
    (r"flock|posix_lock|locks_", "waits", "waits for the lock of a file"),
    (r"nfs|rpc_|ll_|cl_|ldlm|ptlrpc|gpfs|cxi|fuse", "waits", "waits for a file system"),
    (r"n_tty|tty_", "waits", "waits for a terminal"),
    (
        r"sigsuspend|^sigtimedwait|do_sigtimedwait|signalfd",
        "waits",
        "waits for a signal",
    ),
    (r"nvidia|^os_acquire|amdgpu|kfd_|dma_fence", "waits", "waits for a GPU's driver"),
)
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
    for pattern, kind, said in _CHANNELS:
        if rank.channel and re.search(pattern, rank.channel):
            return Activity(kind, said)
    if rank.call in _SLEEPS:
        return Activity("sleeps", "sleeps")
    if rank.channel:
        return Activity("waits", f"waits in {rank.channel}")
    return Activity("unknown", "waits for something that the kernel does not tell")


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
    return frozenset(
        (each.host, each.pid)
        for each in now
        if (old := known.get((each.host, each.pid))) and _stood(old, each)
    )


def _stood(old: RankView, now: RankView) -> bool:
    if None in (old.turns, now.turns, old.worked, now.worked, old.moment, now.moment):
        return False
    passed = (now.moment or 0.0) - (old.moment or 0.0)
    worked = (now.worked or 0.0) - (old.worked or 0.0)
    return passed >= LEAST and old.turns == now.turns and 0 <= worked <= _IDLE * passed
