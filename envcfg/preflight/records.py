"""What nodes and ranks have said, and what they should have, as data; pure.

What a node does not say, or says in words that are no number, is None: never 0.
"""

from collections.abc import Mapping
from functools import partial
from typing import NamedTuple

from envcfg.datafile import finding_in
from envcfg.findings import Finding
from envcfg.probe.sample import GpuSample

finding = partial(finding_in, "preflight")  # as findings.yaml has it
Rows = tuple[tuple[str, ...], ...]
Facts = Mapping[str, Rows]


class NodeAnswer(NamedTuple):
    """What a node has said of itself.

    Attributes:
        is_whole: its last line has come.
        facts: rows of its words by kind, as ``lines.WORDS`` has them; none is torn.
        gpus: what the tool said; None: it has not answered.
    """

    host: str
    is_whole: bool = False
    facts: Mapping[str, Rows] = {}
    gpus: GpuSample | None = None

    def rows(self, kind: str) -> Rows:
        """Return the rows of a kind."""
        return self.facts.get(kind, ())

    @property
    def variables(self) -> Mapping[str, str]:
        """What its tasks have of some variables."""
        return {row[0]: row[1] for row in self.rows("variable")}

    @property
    def memlock(self) -> int | None:
        """Bytes that a process may lock; -1: as many as it likes; None: not known."""
        said = next((row[0] for row in self.rows("memlock")), None)
        return None if said is None else -1 if said == "unlimited" else int(said)


class Pair(NamedTuple):
    """A transfer to a rank from another: *size* bytes in *seconds*."""

    sender: int
    size: int
    seconds: float


class Sum(NamedTuple):
    """An all-reduce over all ranks: of *size* bytes, in *seconds*.

    Attributes:
        bandwidth: what the slowest link must carry ("bus bandwidth"), GB/s (10^9).
    """

    size: int
    seconds: float
    bandwidth: float


class RankAnswer(NamedTuple):
    """What a rank has said.

    Attributes:
        stage: how many of ``collective.STAGES`` it has reached.
        clock: seconds by which its node's clock is ahead of the first node's.
        unmet: where it could not reach the first node, and why.
        absent: how many nodes the first one has not seen (rank 0 only).
        torch: version and build (``cpu``, or a version of CUDA or ROCm) of torch.
        devices: GPUs that torch sees.
        lacks: what the image has not, without which there is no collective.
        partner: the host that it talks with, where it has not come back from that.
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


class Wanted(NamedTuple):
    """What the nodes should have; what is empty or None, nobody says.

    Attributes:
        hosts: all nodes of the job, in order.
        interfaces: of each node.
        gpus: of each node.
        devices: patterns of paths, each of which must be there.
        is_fast: the network between nodes is not TCP.
        bandwidth: of a large all-reduce, GB/s.
        profile: who says so.
    """

    hosts: tuple[str, ...]
    interfaces: tuple[str, ...] = ()
    gpus: int | None = None
    devices: tuple[str, ...] = ()
    is_fast: bool = False
    bandwidth: float | None = None
    profile: str = ""


class Report(NamedTuple):
    """What a preflight comes to.

    Attributes:
        nodes: by host, what was found of each, in the order of the job's nodes.
        job: what was found of all together.
        answers: what the nodes said.
        ranks: what the ranks said; empty where there was no collective.
        network: ``fast``, ``slow``, ``unknown`` or ``unneeded``: proven by NCCL's log.
        said: the verdict on that log, in a sentence.
        is_inconclusive: not all that was asked for could be seen.
    """

    nodes: Mapping[str, tuple[Finding, ...]]
    job: tuple[Finding, ...]
    answers: Mapping[str, NodeAnswer]
    ranks: Mapping[int, RankAnswer]
    network: str
    said: str
    is_inconclusive: bool

    @property
    def failed(self) -> list[str]:
        """The nodes with an error, in order."""
        return [
            host
            for host, found in self.nodes.items()
            if any(each.severity == "error" for each in found)
        ]

    @property
    def torch(self) -> tuple[str, str] | None:
        """Version and build of torch; None: no rank has it."""
        return next((each.torch for each in self.ranks.values() if each.torch), None)

    @property
    def backend(self) -> str:
        """Who carries the collective: ``nccl``, also for RCCL, or ``gloo``."""
        return "nccl" if any(each.devices for each in self.ranks.values()) else "gloo"

    @property
    def sums(self) -> list[Sum]:
        """The all-reduces, by size."""
        return [made for rank in self.ranks.values() for made in rank.sums]
