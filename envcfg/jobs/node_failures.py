"""Nodes on which more jobs fail than chance explains; pure."""

import math
from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from envcfg.log.numbers import grouped

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
    last: str  # day of the last failure
    reason: str  # fingerprint of most failures
    chance: float = 1.0  # that a node like the others fails so often, corrected
    is_bad: bool = False


def find_failing_nodes(
    failures: Iterable[NodeFailure], jobs: Mapping[str, int]
) -> list[FailingNode]:
    """Return the nodes with failures, the least explained by chance first.

    Args:
        failures: of all jobs; repeated ones count once.
        jobs: the number of jobs by node.
    """
    by_node = grouped(dict.fromkeys(failures), lambda failure: failure.node)
    least = {node: max(jobs.get(node, 0), len(own)) for node, own in by_node.items()}
    trials = {**jobs, **least}
    nodes = [_describe(node, trials[node], found) for node, found in by_node.items()]
    failed, ran = sum(node.failures for node in nodes), sum(trials.values())
    bad: list[FailingNode] = []
    # A node that fails often would hide others if it counted among the good ones.
    while nodes:
        nodes = [_with_chance(node, failed, ran, len(trials)) for node in nodes]
        nodes.sort(key=lambda node: (not node.is_bad, node.chance, node.node))
        if not nodes[0].is_bad:
            break
        bad.append(nodes.pop(0))
        failed, ran = failed - bad[-1].failures, ran - bad[-1].jobs
    return [*bad, *nodes]


def _describe(node: str, jobs: int, found: Collection[NodeFailure]) -> FailingNode:
    prints = [failure.fingerprint for failure in found]
    return FailingNode(
        node=node,
        jobs=jobs,
        failures=len(found),
        users=len({failure.user for failure in found}),
        fingerprints=len({*prints}),
        last=max(failure.day for failure in found),
        reason=max(sorted({*prints}), key=prints.count),
    )


def _with_chance(node: FailingNode, failed: int, ran: int, nodes: int) -> FailingNode:
    """Return *node* with the chance of its failures at the rate of the other nodes."""
    # One failure is added, because a rate of zero would make any failure impossible.
    rate = min(1.0, (failed - node.failures + 1) / max(ran - node.jobs + 1, 1))
    chance = min(1.0, nodes * upper_tail(node.failures, node.jobs, rate))
    # More than one user, or more than one cause, must be affected.
    is_bad = chance < _CHANCE and (node.users > 1 or node.fingerprints > 1)
    return node._replace(chance=chance, is_bad=is_bad)


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
