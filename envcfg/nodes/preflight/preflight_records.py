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
    """An all-reduce over all ranks: of *size* bytes, in *seconds*."""

    size: int
    seconds: float
    bandwidth: float  # load of the slowest link ("bus bandwidth"), GB/s (10^9)


class RankAnswer(NamedTuple):
    """The answer of a rank."""

    rank: int
    host: str
    stage: int = 0  # number of `collective.STAGES` that it has reached
    # Seconds by which its node's clock is ahead of the first node's.
    clock: float | None = None
    # Address of the first node that it could not reach, and the reason.
    unmet: str | None = None
    absent: int = 0  # number of nodes that the first one has not seen (rank 0 only)
    # Version and build (`cpu`, or a version of CUDA or ROCm) of torch.
    torch: tuple[str, str] | None = None
    devices: int | None = None  # GPUs that torch sees
    # Missing part of the image, without which no collective is possible.
    lacks: str | None = None
    partner: str | None = None  # host of the current transfer, if it has not ended
    pairs: tuple[Pair, ...] = ()
    multiply: float | None = None  # 10^12 operations per second of its GPU
    sums: tuple[Sum, ...] = ()
    wrong: int | None = None  # size of the first all-reduce with a wrong sum
    failed: str | None = None


class Requirements(NamedTuple):
    """The requirements on the nodes; empty or None: no requirement."""

    hosts: tuple[str, ...]  # all nodes of the job, in order
    interfaces: tuple[str, ...] = ()  # of each node
    gpus: int | None = None  # of each node
    devices: tuple[str, ...] = ()  # patterns of paths, each of which must exist
    is_fast: bool = False  # True if the network between nodes must not be TCP
    bandwidth: float | None = None  # of a large all-reduce, GB/s
    profile: str = ""
    # The interface next to each GPU, by the PCI bus of the GPU, in the order of GPUs.
    nics: Mapping[str, str] = {}
    masks: tuple[int, ...] = ()  # the CPUs of each rank, in the order of GPUs


class Report(NamedTuple):
    """The result of a preflight."""

    # Findings on each host, in the order of the job's nodes.
    nodes: Mapping[str, tuple[Finding, ...]]
    job: tuple[Finding, ...]
    answers: Mapping[str, NodeAnswer]
    # Answers of the ranks; empty if there was no collective.
    ranks: Mapping[int, RankAnswer]
    network: str  # `fast`, `slow`, `unknown` or `unneeded`: proven by NCCL's log
    verdict: str  # the verdict on that log, in a sentence
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
