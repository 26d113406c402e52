"""All that was seen, put together: each node, the network, the job; pure."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from envcfg.findings import Finding
from envcfg.log.names import network_kind
from envcfg.log.verdict import LogReport
from envcfg.preflight.log import log_findings, network_state
from envcfg.preflight.network import is_done, judge_ranks
from envcfg.preflight.nodes import judge_nodes, not_seen
from envcfg.preflight.records import NodeAnswer, RankAnswer, Report, Wanted, finding


class Seen(NamedTuple):
    """What was seen.

    Attributes:
        answers: what the nodes say, by host.
        ended: hosts whose task ended before it had answered, and how.
        ranks: what the ranks say.
        world: how many ranks there are.
        tasks: hosts with a rank that has ended by itself, and how.
        code: the exit code of the ranks' step; None where it was ended from outside.
        has_ranks: there was a collective.
        log: the verdict on NCCL's log; None where NCCL said nothing.
        is_cut: the ranks were ended as that log was bad.
    """

    answers: Mapping[str, NodeAnswer]
    ended: Mapping[str, str]
    ranks: Mapping[int, RankAnswer] = {}
    world: int | None = None
    tasks: Mapping[str, str] = {}
    code: int | None = None
    has_ranks: bool = False
    log: LogReport | None = None
    is_cut: bool = False


def judge_all(wanted: Wanted, seen: Seen, *, needs_fast: bool) -> Report:
    """Return what it comes to; with *needs_fast* a fast network must be proven."""
    nodes = judge_nodes(wanted, seen.answers, seen.ended)
    job: list[Finding] = []
    done = is_done(seen.ranks, seen.world)
    state = network_state(seen.log, len(wanted.hosts), is_done=done)
    if seen.has_ranks:
        found, job = judge_ranks(
            wanted, seen.ranks, seen.world, seen.tasks, is_cut=seen.is_cut
        )
        for host, more in found.items():
            nodes[host] += more
        if seen.log:
            # NCCL prints the short names of nodes.
            names = {host.partition(".")[0]: host for host in wanted.hosts}
            for each in log_findings(seen.log, names):
                nodes.get(each.subject, job).append(each)
            job += _on_sockets(seen.log, state)
        job += _undone(seen)
    job += [
        finding("not-looked-at", "", what=each)
        for each in not_seen(wanted, seen.answers)
    ]
    network = _said(state, seen)
    if needs_fast and seen.has_ranks and state not in ("fast", "unneeded"):
        job.append(finding("fast-unproven", "", network=network))
    return Report(
        nodes={host: tuple(some) for host, some in nodes.items()},
        job=tuple(job),
        answers=seen.answers,
        ranks=seen.ranks,
        network=state,
        said=network,
        is_inconclusive=not done or (wanted.is_fast and state == "unknown"),
    )


def _on_sockets(log: LogReport, state: str) -> Iterator[Finding]:
    """Yield that traffic takes TCP, where the log does not name the ranks that use it."""
    kinds = {network_kind(name) for name in log.job.networks}
    if state == "slow" and "socket" in kinds and not log.ranks:
        fix = next((each.fix for each in log.findings if each.fix), None)
        yield Finding(f"network-{log.verdict}", "error", "", log.summary, fix)


def _undone(seen: Seen) -> list[Finding]:
    """Return why there was no collective, where nothing else says it."""
    lacks = next((each.lacks for each in seen.ranks.values() if each.lacks), None)
    if lacks and not any(each.torch for each in seen.ranks.values()):
        return [finding("torch-missing", "", lacks=lacks)]
    if not seen.ranks:
        how = "did not start" if seen.code is None else f"ended with code {seen.code}"
        return [finding("collective-failed", "", "nothing", how=how)]
    return []


def _said(state: str, seen: Seen) -> str:
    if state == "unneeded":
        return "one node: no network is needed"
    if not seen.has_ranks:
        return "not looked at"
    if seen.log is None:
        return "NCCL was not used, so nothing is known of the GPUs' network"
    return seen.log.summary
