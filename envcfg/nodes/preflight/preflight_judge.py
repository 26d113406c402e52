"""All evidence, combined: each node, the network, the job; pure."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from envcfg.common.findings import Finding
from envcfg.log.names import network_kind
from envcfg.log.verdict import LogReport
from envcfg.nodes.preflight.collective_log import log_findings, network_state
from envcfg.nodes.preflight.network_judge import is_done, judge_ranks
from envcfg.nodes.preflight.node_judge import judge_nodes, not_seen
from envcfg.nodes.preflight.preflight_records import (
    RankAnswer,
    Report,
    Requirements,
    finding,
)
from envcfg.nodes.probe.node_answer import NodeAnswer


class Answers(NamedTuple):
    """The collected answers."""

    answers: Mapping[str, NodeAnswer]
    # Hosts with a task that ended before its answer, and the reason.
    ended: Mapping[str, str]
    ranks: Mapping[int, RankAnswer] = {}
    world: int | None = None
    # Hosts with a rank that ended by itself, and the reason.
    tasks: Mapping[str, str] = {}
    # The exit code of the ranks' step; None if it was ended from outside.
    code: int | None = None
    has_ranks: bool = False
    # The verdict on NCCL's log; None if NCCL printed nothing.
    log: LogReport | None = None
    is_cut: bool = False  # True if the ranks were ended because of a bad log


def judge_all(
    requirements: Requirements, observations: Answers, *, needs_fast: bool
) -> Report:
    """Return the report; with *needs_fast* a fast network must be proven."""
    nodes = judge_nodes(requirements, observations.answers, observations.ended)
    job: list[Finding] = []
    done = is_done(observations.ranks, observations.world)
    state = network_state(observations.log, len(requirements.hosts), is_done=done)
    if observations.has_ranks:
        by_host, job = judge_ranks(
            requirements,
            observations.ranks,
            observations.world,
            observations.tasks,
            is_cut=observations.is_cut,
        )
        for host, more in by_host.items():
            nodes[host] += more
        if observations.log:
            # NCCL prints short names of nodes.
            names = {host.partition(".")[0]: host for host in requirements.hosts}
            for each in log_findings(observations.log, names):
                nodes.get(each.subject, job).append(each)
            job += _on_sockets(observations.log, state)
        job += _undone(observations)
    job += [
        finding("not-looked-at", "", what=part)
        for part in not_seen(requirements, observations.answers)
    ]
    network = _network_text(state, observations)
    # A proven slow network and an unproven fast one both fail the requirement.
    if needs_fast and observations.has_ranks and state not in ("fast", "unneeded"):
        job.append(finding("fast-unproven", "", network=network))
    return Report(
        nodes={host: tuple(some) for host, some in nodes.items()},
        job=tuple(job),
        answers=observations.answers,
        ranks=observations.ranks,
        network=state,
        verdict=network,
        is_inconclusive=not done or (requirements.is_fast and state == "unknown"),
    )


def _on_sockets(log: LogReport, state: str) -> Iterator[Finding]:
    """Yield that traffic uses TCP, if the log does not name the ranks that use it."""
    kinds = {network_kind(name) for name in log.job.networks}
    if state == "slow" and "socket" in kinds and not log.ranks:
        fix = next((finding.fix for finding in log.findings if finding.fix), None)
        yield Finding(f"network-{log.verdict}", "error", "", log.summary, fix)


def _undone(observations: Answers) -> list[Finding]:
    """Return the reason for a missing collective, if no other finding gives it."""
    lacks = next(
        (rank.lacks for rank in observations.ranks.values() if rank.lacks), None
    )
    # If some ranks have torch, the nodes differ, and another finding names them.
    if lacks and not any(rank.torch for rank in observations.ranks.values()):
        return [finding("torch-missing", "", lacks=lacks)]
    if not observations.ranks:
        how = (
            "did not start"
            if observations.code is None
            else f"ended with code {observations.code}"
        )
        return [finding("collective-failed", "", "nothing", how=how)]
    return []


def _network_text(state: str, observations: Answers) -> str:
    if state == "unneeded":
        return "one node: no network is needed"
    if not observations.has_ranks:
        return "not checked"
    if observations.log is None:
        return "NCCL was not used, so nothing is known of the GPUs' network"
    return observations.log.summary
