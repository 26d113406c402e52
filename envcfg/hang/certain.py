"""What needs no comparison: silent nodes, ranks that are stopped, gone or stuck; pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from envcfg.findings import Finding
from envcfg.hang.activity import activity
from envcfg.hang.programs import by_program
from envcfg.hang.records import Evidence
from envcfg.hang.rules import finding, has, ranks_said, subjects
from envcfg.log.numbers import grouped


def of_nodes(seen: Evidence) -> Iterator[Finding]:
    """Yield nodes that do not answer, or on which no rank runs."""
    answering = [node for node in seen.nodes if node.answers]
    for node in seen.nodes:
        if not node.answers and answering:
            why = f" ({node.reason})" if node.reason else ""
            state = f"; Slurm has it as {node.state}" if node.state else ""
            said = f"does not answer{why}{_elsewhere(seen)}{state}"
            yield finding("hang-node-silent", node.host, said)
        elif (
            node.whole
            and not node.ranks
            and seen.ranks
            and (unseen := unseen_ranks(seen))
        ):
            ranks = f"{ranks_said(unseen)} {has(unseen)}"
            said = f"runs no rank, and {ranks} no process elsewhere"
            yield finding("hang-node-empty", node.host, said)


def _elsewhere(seen: Evidence) -> str:
    """Return which ranks are on nodes that do not answer, if that is known."""
    silent = sum(not node.answers for node in seen.nodes)
    unseen = unseen_ranks(seen)
    if not unseen:
        return ""
    where = " there or on another such node" if silent > 1 else ""
    return f", with {ranks_said(unseen)}{where}"


def unseen_ranks(seen: Evidence) -> list[int]:
    """Return the ranks that others know of and nobody has seen; none of a part of a job."""
    if seen.is_part or twice(seen) or len(by_program(seen)) > 1:
        return []
    worlds = Counter(each.world for each in seen.ranks if each.world)
    if len(worlds) != 1:
        return []
    (world,) = worlds
    return sorted(set(range(world or 0)) - {each.rank for each in seen.ranks})


def twice(seen: Evidence) -> str:
    """Return which rank is on two nodes: nobody knows whose ranks these are then."""
    hosts: dict[int, str] = {}
    for rank in seen.ranks:
        if (host := hosts.setdefault(rank.rank, rank.host)) != rank.host:
            return f"rank {rank.rank} is on {host} and on {rank.host}"
    return ""


def of_processes(seen: Evidence) -> Iterator[Finding]:
    """Yield ranks without a process, and those whose process stands still."""
    everyone = all(node.whole for node in seen.nodes)
    if (
        everyone
        and (unseen := unseen_ranks(seen))
        and all(node.ranks for node in seen.nodes)
    ):
        said = f"{has(unseen)} no process on any node of the job"
        yield finding("hang-rank-missing", ranks_said(unseen), said)
    for kind, rule in (
        ("stopped", "hang-rank-stopped"),
        ("ended", "hang-rank-missing"),
        ("stuck", "hang-rank-disk"),
    ):
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
    kinds = {"stopped", "ended", "stuck"}
    found = {rank.rank for rank in seen.ranks if activity(rank).kind in kinds}
    return found | set(unseen_ranks(seen))
