"""Views of ranks and nodes, as tests ask for them."""

from __future__ import annotations

from envcfg.nodes.hang.hang_records import Evidence, HangNode, HangRank

# What the kernel says of a rank, by what it does.
WAITS = {"state": "S", "channel": "futex_wait_queue"}
SLEEPS = {"state": "S", "channel": "hrtimer_nanosleep"}
RUNS = {"state": "R"}
STOPPED = {"state": "T", "channel": "do_signal_stop"}
IN_SUM = (
    "all_reduce (torch/distributed/distributed_c10d.py:3009)",
    "wrapper (torch/distributed/c10d_logger.py:83)",
    "step (train.py:40)",
    "<module> (train.py:80)",
)
IN_SYNCHRONIZE = (
    "synchronize (torch/cuda/__init__.py:1083)",
    "step (train.py:44)",
    "<module> (train.py:80)",
)
IN_LOADER = ("read (data.py:7)", "step (train.py:38)", "<module> (train.py:80)")


def rank(
    number: int, *, host: str = "", world: int | None = 4, **more: object
) -> HangRank:
    """Return a rank, of which two are on a node."""
    where = host or f"node{number // 2 + 1}"
    view = HangRank(number, where, 100 + number, local_rank=number % 2, world=world)
    return view._replace(**more)  # type: ignore[arg-type]


def evidence(
    *ranks: HangRank, silent: tuple[str, ...] = (), **more: object
) -> Evidence:
    """Return what is known of a job with these ranks on two nodes."""
    nodes = []
    for host in ("node1", "node2"):
        ours = tuple(each for each in ranks if each.host == host)
        is_there = host not in silent
        nodes.append(
            HangNode(host, is_there, is_there, 2 * len(ours), ours if is_there else ())
        )
    return Evidence("12", tuple(nodes), **more)  # type: ignore[arg-type]
