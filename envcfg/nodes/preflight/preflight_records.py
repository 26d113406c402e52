"""The answers of nodes and ranks, and the requirements on them, as data; pure.

A missing value, or a value that is no number, is None and never 0.
"""

from collections.abc import Mapping
from functools import partial
from typing import NamedTuple

from envcfg.common.findings import Finding, finding_in
from envcfg.nodes.probe.node_answer import NodeAnswer, Rows

finding = partial(finding_in, "nodes/preflight")  # texts are in findings.yaml
Facts = Mapping[str, Rows]


# Rules with an error that another job would have on the same node. Others depend on the
# image, the user's folders, or a second node.
_NODE_FAULTS = frozenset(
    {"node-silent", "node-failed", "interface-down", "device-missing", "gpu-missing"}
    | {"gpu-tool-failed", "gpu-memory-errors", "gpu-unseen", "gpu-slow", "node-slow"}
)


class Pair(NamedTuple):
    """A transfer to a rank from another: *size* bytes in *seconds*."""

    sender: int
    size: int
    seconds: float


class Sum(NamedTuple):
    """An all-reduce over all ranks: of *size* bytes, in *seconds*.

    Attributes:
        bandwidth: load of the slowest link ("bus bandwidth"), GB/s (10^9).
    """

    size: int
    seconds: float
    bandwidth: float


class RankAnswer(NamedTuple):
    """The answer of a rank.

    Attributes:
        stage: number of ``collective.STAGES`` that it has reached.
        clock: seconds by which its node's clock is ahead of the first node's.
        unmet: address of the first node that it could not reach, and the reason.
        absent: number of nodes that the first one has not seen (rank 0 only).
        torch: version and build (``cpu``, or a version of CUDA or ROCm) of torch.
        devices: GPUs that torch sees.
        lacks: missing part of the image, without which no collective is possible.
        partner: host of the current transfer, if it has not ended.
        multiply: 10^12 operations per second of its GPU.
        wrong: size of the first all-reduce with a wrong sum.
        failed: its error.
    """

    rank: int
    host: str
    stage: int = 0
    clock: float | None = None
    unmet: str | None = None
    absent: int = 0
    torch: tuple[str, str] | None = None
    devices: int | None = None
    lacks: str | None = None
    partner: str | None = None
    pairs: tuple[Pair, ...] = ()
    multiply: float | None = None
    sums: tuple[Sum, ...] = ()
    wrong: int | None = None
    failed: str | None = None


class Requirements(NamedTuple):
    """The requirements on the nodes; empty or None: no requirement.

    Attributes:
        hosts: all nodes of the job, in order.
        interfaces: of each node.
        gpus: of each node.
        devices: patterns of paths, each of which must exist.
        is_fast: True if the network between nodes must not be TCP.
        bandwidth: of a large all-reduce, GB/s.
        profile: name of the profile with these requirements.
        nics: the interface that each GPU is attached to, in the order of GPUs.
        buses: the PCI bus of each GPU, in the same order.
    """

    hosts: tuple[str, ...]
    interfaces: tuple[str, ...] = ()
    gpus: int | None = None
    devices: tuple[str, ...] = ()
    is_fast: bool = False
    bandwidth: float | None = None
    profile: str = ""
    nics: tuple[str, ...] = ()
    buses: tuple[str, ...] = ()


class Report(NamedTuple):
    """The result of a preflight.

    Attributes:
        nodes: findings on each host, in the order of the job's nodes.
        job: findings on the whole job.
        answers: answers of the nodes.
        ranks: answers of the ranks; empty if there was no collective.
        network: ``fast``, ``slow``, ``unknown`` or ``unneeded``: proven by NCCL's log.
        verdict: the verdict on that log, in a sentence.
        is_inconclusive: True if a part of the evidence is missing.
    """

    nodes: Mapping[str, tuple[Finding, ...]]
    job: tuple[Finding, ...]
    answers: Mapping[str, NodeAnswer]
    ranks: Mapping[int, RankAnswer]
    network: str
    verdict: str
    is_inconclusive: bool

    @property
    def failed(self) -> list[str]:
        """The nodes with an error, in order."""
        return [
            host
            for host, node in self.nodes.items()
            if any(finding.severity == "error" for finding in node)
        ]

    @property
    def node_faults(self) -> dict[str, str]:
        """The reasons to leave out a node in other jobs, by node.

        A fault of all nodes of a job is that of the job or its image.
        """
        faults = {
            host: [
                finding
                for finding in node
                if finding.severity == "error" and finding.rule in _NODE_FAULTS
            ]
            for host, node in self.nodes.items()
        }
        rules = [{finding.rule for finding in some} for some in faults.values()]
        shared = set.intersection(*rules) if len(rules) > 1 else set()
        return {
            host: f"{own[0].rule}: {own[0].message}"
            for host, some in faults.items()
            if (own := [finding for finding in some if finding.rule not in shared])
        }

    @property
    def torch(self) -> tuple[str, str] | None:
        # All ranks use one image, so the first answer stands for all.
        """Version and build of torch; None: no rank has it."""
        return next((rank.torch for rank in self.ranks.values() if rank.torch), None)

    @property
    def backend(self) -> str:
        """The backend of the collective: ``nccl`` (also for RCCL) or ``gloo``."""
        return "nccl" if any(rank.devices for rank in self.ranks.values()) else "gloo"

    @property
    def sums(self) -> list[Sum]:
        """The all-reduces, by size."""
        return [result for rank in self.ranks.values() for result in rank.sums]
