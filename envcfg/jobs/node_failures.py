"""Nodes on which more jobs fail than chance explains; pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import NamedTuple

# Causes that a node may have; the others are the user's, or the system's.
CLASSES = ("node", "GPU", "network")
_CHANCE = 0.001  # of naming any good node in one report


class NodeFailure(NamedTuple):
    """A failure of a job for which its cause names a node."""

    node: str
    user: str
    fingerprint: str
    day: str


class FailingNode(NamedTuple):
    """A node with its failures."""

    node: str
    jobs: int  # that ran on it
    failures: int  # one per user, fingerprint and day
    users: int
    fingerprints: int
    chance: float  # that a node like the others fails so often, corrected
    is_bad: bool
    last: str  # day of the last failure
    reason: str  # fingerprint of most failures


def find_failing_nodes(
    failures: Iterable[NodeFailure], jobs: Mapping[str, int]
) -> list[FailingNode]:
    """Return the nodes with failures, the least explained by chance first.

    Args:
        failures: of all jobs; repeated ones count once.
        jobs: the number of jobs by node.
    """
    by_node: dict[str, set[NodeFailure]] = {}
    for failure in failures:
        by_node.setdefault(failure.node, set()).add(failure)
    trials = {
        node: max(jobs.get(node, 0), len(by_node.get(node, ())))
        for node in {*jobs, *by_node}
    }
    # A node that fails often would hide others if it counted among the good ones.
    bad: dict[str, float] = {}
    while True:
        good = [node for node in trials if node not in bad]
        failed = sum(len(by_node.get(node, ())) for node in good)
        ran = sum(trials[node] for node in good)
        chances = {
            node: _corrected(len(found), trials[node], failed, ran, len(trials))
            if node not in bad
            else bad[node]
            for node, found in by_node.items()
        }
        worst = min(
            (node for node in by_node if node not in bad and _counts(by_node[node])),
            key=lambda node: (chances[node], node),
            default=None,
        )
        if worst is None or chances[worst] >= _CHANCE:
            break
        bad[worst] = chances[worst]
    nodes = []
    for node, found in by_node.items():
        prints = [failure.fingerprint for failure in found]
        nodes.append(
            FailingNode(
                node=node,
                jobs=trials[node],
                failures=len(found),
                users=len({failure.user for failure in found}),
                fingerprints=len({*prints}),
                chance=chances[node],
                is_bad=node in bad,
                last=max(failure.day for failure in found),
                reason=max(sorted({*prints}), key=prints.count),
            )
        )
    return sorted(nodes, key=lambda node: (not node.is_bad, node.chance, node.node))


def _counts(failures: Iterable[NodeFailure]) -> bool:
    """Return whether more than one user, or one cause, is affected."""
    found = [*failures]
    users, prints = ({f[at] for f in found} for at in (1, 2))
    return len(users) > 1 or len(prints) > 1


def _corrected(own: int, trials: int, failed: int, ran: int, nodes: int) -> float:
    """Return the chance of *own* failures, at the rate of the other nodes."""
    others = max(ran - trials, 1)
    # One failure is added, because a rate of zero would make any failure impossible.
    rate = min((failed - own + 1) / (others + 1), 1.0)
    return min(1.0, nodes * upper_tail(own, trials, rate))


def upper_tail(successes: int, trials: int, rate: float) -> float:
    """Return the chance of at least that many successes, by the binomial distribution.

    >>> round(upper_tail(2, 3, 0.5), 6)
    0.5
    """
    if successes <= 0:
        return 1.0
    if rate >= 1 or rate <= 0:
        return float(rate >= 1)
    total = 0.0
    for count in range(successes, trials + 1):
        ways = math.lgamma(trials + 1) - math.lgamma(count + 1)
        ways -= math.lgamma(trials - count + 1)
        log = ways + count * math.log(rate) + (trials - count) * math.log1p(-rate)
        term = math.exp(log)
        total += term
        if term < total * 1e-15:
            break
    return min(total, 1.0)
