"""Evidence on nodes and processes: certain problems and outliers; pure."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from envcfg.common.findings import Finding
from envcfg.log.numbers import count_of, grouped
from envcfg.nodes.hang.hang_records import Evidence, HangRank, by_program
from envcfg.nodes.hang.hang_rules import finding, has, ranks_said
from envcfg.nodes.hang.rank_activity import (
    activity,
    does,
    is_in_collective,
    place,
    where,
)
from envcfg.nodes.probe.links import links_text, lost_links

_STILL = {
    "stopped": "hang-rank-stopped",
    "ended": "hang-rank-missing",
    "stuck": "hang-rank-disk",
}
_FEW = 4  # ranks with a finding each; more share one
_MOST = 2 / 3  # share of equal ranks that makes the others outliers


def of_nodes(evidence: Evidence) -> Iterator[Finding]:
    """Yield nodes that do not answer, or on which no rank runs."""
    # If no node answers, the fault is the step's and not the nodes'.
    answering = any(node.answers for node in evidence.nodes)
    silent = sum(not node.answers for node in evidence.nodes)
    unseen = _unseen_ranks(evidence)
    answers = {node.host: node.links for node in evidence.nodes if node.answers}
    for host, names in lost_links(answers).items():
        yield finding("hang-link-down", host, links_text(names))
    for node in evidence.nodes:
        if not node.answers and answering:
            why = f" ({node.reason})" if node.reason else ""
            state = f"; Slurm has it as {node.state}" if node.state else ""
            # With several silent nodes the place of a missing rank is unknown.
            some = " there or on another such node" if silent > 1 else ""
            ranks_text = f", with {ranks_said(unseen)}{some}" if unseen else ""
            yield finding(
                "hang-node-silent",
                node.host,
                f"does not answer{why}{ranks_text}{state}",
            )
        elif node.is_complete and not node.ranks and evidence.ranks and unseen:
            ranks = f"{ranks_said(unseen)} {has(unseen)}"
            message = f"runs no rank, and {ranks} no process elsewhere"
            yield finding("hang-node-empty", node.host, message)


def _unseen_ranks(evidence: Evidence) -> list[int]:
    """Return the ranks that others count and no node shows; none for a part of a job."""
    if evidence.is_part or twice(evidence) or len(by_program(evidence)) > 1:
        return []
    # Ranks that disagree about the size of the world belong to several programs.
    worlds = {rank.world for rank in evidence.ranks if rank.world}
    every = range(worlds.pop() if len(worlds) == 1 else 0)
    return sorted({*every} - {rank.rank for rank in evidence.ranks})


def twice(evidence: Evidence) -> str:
    """Return the rank that runs on two nodes: its processes cannot be assigned."""
    hosts: dict[int, str] = {}
    for rank in evidence.ranks:
        if (host := hosts.setdefault(rank.rank, rank.host)) != rank.host:
            return f"rank {rank.rank} is on {host} and on {rank.host}"
    return ""


def of_processes(evidence: Evidence) -> Iterator[Finding]:
    """Yield ranks without a process, and ranks with a stopped, ended or stuck process."""
    is_all = all(node.is_complete and node.ranks for node in evidence.nodes)
    if is_all and (unseen := _unseen_ranks(evidence)):
        message = f"{has(unseen)} no process on any node of the job"
        yield finding("hang-rank-missing", ranks_said(unseen), message)
    for kind, rule in _STILL.items():
        those = [rank for rank in evidence.ranks if activity(rank).kind == kind]
        alike = _alike(those, lambda rank: (activity(rank).phrase, rank.state))
        for subject, prefix, (first, *_) in alike:
            pid = "" if prefix else f"process {first.pid}, "
            message = f"{prefix}{activity(first).phrase} ({pid}state {first.state})"
            yield finding(rule, subject, message)


def blamed(certain: Sequence[Finding], evidence: Evidence) -> set[int]:
    """Return the ranks with a certain problem."""
    # Without a certain problem the silence of a rank does not prove a fault.
    if not certain:
        return set()
    still = {rank.rank for rank in evidence.ranks if activity(rank).kind in _STILL}
    return still | set(_unseen_ranks(evidence))


def compared(ranks: Sequence[HangRank]) -> Iterator[Finding]:
    """Yield ranks with another activity than most, by their stacks or by the kernel.

    Stacks come first, because they show collectives: a rank outside blocks the ranks
    inside. If stacks do not separate them, the kernel's state does. No collective sleeps
    while it waits, so one sleeping rank of two is enough. A running rank may wait in NCCL,
    so running ranks are named only if most do not run.
    """
    if len(ranks) < 2:
        return
    if all(rank.stack for rank in ranks):
        outside = [rank for rank in ranks if not is_in_collective(rank)]
        # All inside or all outside: then the place in the program may still differ.
        if len(outside) in (0, len(ranks)):
            outside = _minority(ranks, [place(rank) for rank in ranks])
        if outside:
            yield from _apart(outside, ranks)
            return
    yield from _by_kernel(ranks)


def _by_kernel(ranks: Sequence[HangRank]) -> Iterator[Finding]:
    kinds = [activity(rank).kind for rank in ranks]
    if sleeping := _fewer("sleeps", ranks, kinds):
        yield from _apart(sleeping, ranks)
        return
    # A waiting minority may be the ones that lack a message; a running one computes.
    rank_views = _minority(ranks, kinds) or _fewer("runs", ranks, kinds)
    busy = [rank_view for rank_view in rank_views if activity(rank_view).kind == "runs"]
    rest = count_of(len(ranks) - len(rank_views), "other")
    for subject, prefix, some in _alike(busy, where):
        message = f"{prefix}computes{where(some[0])}, while {rest} wait"
        yield finding("hang-rank-busy", subject, message)
    if idle := [rank_view for rank_view in rank_views if rank_view not in busy]:
        yield from _apart(idle, [rank for rank in ranks if rank not in busy])


def _fewer(
    kind: str, ranks: Sequence[HangRank], kinds: Sequence[str]
) -> list[HangRank]:
    """Return the ranks of *kind* if all others wait; empty if those are the minority."""
    is_so = {*kinds} == {kind, "waits"} and 2 * kinds.count(kind) <= len(ranks)
    return [rank for rank in ranks if activity(rank).kind == kind] if is_so else []


def _minority(ranks: Sequence[HangRank], signs: Sequence[str]) -> list[HangRank]:
    """Return the ranks with another sign than the majority; empty without a majority."""
    (common, count), *_ = Counter(signs).most_common(1)
    # Two ranks have no majority.
    if len(ranks) < 3 or count == len(ranks) or count < _MOST * len(ranks):
        return []
    return [rank for rank, sign in zip(ranks, signs, strict=True) if sign != common]


def _apart(apart: Sequence[HangRank], ranks: Sequence[HangRank]) -> Iterator[Finding]:
    rest = [rank for rank in ranks if rank not in apart]
    # The usual activity is shown too, because the difference is the evidence.
    usual, count = Counter(does(rank) for rank in rest).most_common(1)[0]
    rest_text = f"{count} of {count_of(len(rest), 'other')}"
    rest_text = rest_text if len(rest) > 1 else "the other"
    for subject, prefix, some in _alike(apart, does):
        message = f"{prefix}{does(some[0])}; {rest_text}: {usual}"
        yield finding("hang-rank-apart", subject, message)


def _alike(
    ranks: Sequence[HangRank], key: Callable[[HangRank], object]
) -> Iterator[tuple[str, str, Sequence[HangRank]]]:
    """Yield the subjects of findings on ranks with the same activity; few ranks get one
    each.

    Each subject comes with ``each `` if it is several ranks, and with these ranks.
    """
    for some in grouped(ranks, key).values():
        if len(some) > _FEW:
            hosts = {rank.rank: rank.host for rank in some}
            yield ranks_said([rank.rank for rank in some], hosts), "each ", some
        else:
            yield from ((f"rank {r.rank} on {r.host}", "", [r]) for r in some)
