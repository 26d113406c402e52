"""What is seen of nodes and processes: what is certain, who stands out; pure."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from envcfg.findings import Finding
from envcfg.hang.activity import activity, does, is_in_collective, place, where
from envcfg.hang.records import Evidence, RankView, by_program
from envcfg.hang.rules import finding, has, ranks_said, subjects
from envcfg.log.numbers import count_of, grouped

_STILL = {
    "stopped": "hang-rank-stopped",
    "ended": "hang-rank-missing",
    "stuck": "hang-rank-disk",
}
_MOST = 2 / 3  # of the ranks, who must be alike for the others to stand out


def of_nodes(seen: Evidence) -> Iterator[Finding]:
    """Yield nodes that do not answer, or on which no rank runs."""
    answering = any(node.answers for node in seen.nodes)
    silent = sum(not node.answers for node in seen.nodes)
    unseen = _unseen_ranks(seen)
    for node in seen.nodes:
        if not node.answers and answering:
            why = f" ({node.reason})" if node.reason else ""
            state = f"; Slurm has it as {node.state}" if node.state else ""
            some = " there or on another such node" if silent > 1 else ""
            there = f", with {ranks_said(unseen)}{some}" if unseen else ""
            yield finding(
                "hang-node-silent", node.host, f"does not answer{why}{there}{state}"
            )
        elif node.whole and not node.ranks and seen.ranks and unseen:
            ranks = f"{ranks_said(unseen)} {has(unseen)}"
            said = f"runs no rank, and {ranks} no process elsewhere"
            yield finding("hang-node-empty", node.host, said)


def _unseen_ranks(seen: Evidence) -> list[int]:
    """Return the ranks that others know of and nobody has seen; none of a part of a job."""
    if seen.is_part or twice(seen) or len(by_program(seen)) > 1:
        return []
    worlds = {each.world for each in seen.ranks if each.world}
    every = range(worlds.pop() if len(worlds) == 1 else 0)
    return sorted({*every} - {each.rank for each in seen.ranks})


def twice(seen: Evidence) -> str:
    """Return which rank is on two nodes: nobody knows whose ranks these are then."""
    hosts: dict[int, str] = {}
    for rank in seen.ranks:
        if (host := hosts.setdefault(rank.rank, rank.host)) != rank.host:
            return f"rank {rank.rank} is on {host} and on {rank.host}"
    return ""


def of_processes(seen: Evidence) -> Iterator[Finding]:
    """Yield ranks without a process, and those whose process stands still."""
    is_all = all(node.whole and node.ranks for node in seen.nodes)
    if is_all and (unseen := _unseen_ranks(seen)):
        said = f"{has(unseen)} no process on any node of the job"
        yield finding("hang-rank-missing", ranks_said(unseen), said)
    for kind, rule in _STILL.items():
        those = [rank for rank in seen.ranks if activity(rank).kind == kind]
        alike = grouped(those, lambda rank: (activity(rank).said, rank.state))
        for (said, state), ranks in alike.items():
            for subject, some in subjects(ranks):
                pid = f"process {some[0].pid}, " if len(some) == 1 else ""
                each = "each " if len(some) > 1 else ""
                yield finding(rule, subject, f"{each}{said} ({pid}state {state})")


def blamed(certain: Sequence[Finding], seen: Evidence) -> set[int]:
    """Return the ranks for which there is a certain reason already."""
    if not certain:
        return set()
    found = {rank.rank for rank in seen.ranks if activity(rank).kind in _STILL}
    return found | set(_unseen_ranks(seen))


def compared(ranks: Sequence[RankView]) -> Iterator[Finding]:
    """Yield ranks that do something else than most, by their stacks or by the kernel.

    Stacks come first, as they tell a collective from all else: who is in none holds up
    those who are in one. Where stacks do not part them, the kernel does. No collective
    sleeps while it waits for others, so that one of two that sleeps is enough. Who runs
    may wait in NCCL, so that those who run are named only where most do not.
    """
    if len(ranks) < 2:
        return
    if all(rank.stack for rank in ranks):
        outside = [rank for rank in ranks if not is_in_collective(rank)]
        if len(outside) in (0, len(ranks)):
            outside = _minority(ranks, [place(rank) for rank in ranks])
        if outside:
            yield from _apart(outside, ranks)
            return
    yield from _by_kernel(ranks)


def _by_kernel(ranks: Sequence[RankView]) -> Iterator[Finding]:
    kinds = [activity(rank).kind for rank in ranks]
    if sleeping := _fewer("sleeps", ranks, kinds):
        yield from _apart(sleeping, ranks)
        return
    others = _minority(ranks, kinds) or _fewer("runs", ranks, kinds)
    busy = [each for each in others if activity(each).kind == "runs"]
    rest = count_of(len(ranks) - len(others), "other")
    for subject, some in _alike(busy, where):
        each = "each " if len(some) > 1 else ""
        said = f"{each}computes{where(some[0])}, while {rest} wait"
        yield finding("hang-rank-busy", subject, said)
    if idle := [each for each in others if each not in busy]:
        yield from _apart(idle, [each for each in ranks if each not in busy])


def _fewer(
    kind: str, ranks: Sequence[RankView], kinds: Sequence[str]
) -> list[RankView]:
    """Return the ranks of one kind, where all others wait and are no fewer."""
    is_so = {*kinds} == {kind, "waits"} and 2 * kinds.count(kind) <= len(ranks)
    return [rank for rank in ranks if activity(rank).kind == kind] if is_so else []


def _minority(ranks: Sequence[RankView], signs: Sequence[str]) -> list[RankView]:
    """Return the ranks whose sign is not that of most; nobody where most are not alike."""
    (common, count), *_ = Counter(signs).most_common(1)
    if len(ranks) < 3 or count == len(ranks) or count < _MOST * len(ranks):
        return []
    return [rank for rank, sign in zip(ranks, signs, strict=True) if sign != common]


def _apart(apart: Sequence[RankView], ranks: Sequence[RankView]) -> Iterator[Finding]:
    rest = [rank for rank in ranks if rank not in apart]
    usual, count = Counter(does(rank) for rank in rest).most_common(1)[0]
    others = f"{count} of {count_of(len(rest), 'other')}"
    others = others if len(rest) > 1 else "the other"
    for subject, some in _alike(apart, does):
        each = "each " if len(some) > 1 else ""
        said = f"{each}{does(some[0])}; {others}: {usual}"
        yield finding("hang-rank-apart", subject, said)


def _alike(
    ranks: Sequence[RankView], key: Callable[[RankView], str]
) -> Iterator[tuple[str, Sequence[RankView]]]:
    for some in grouped(ranks, key).values():
        yield from subjects(some)
