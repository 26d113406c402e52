"""What a log comes to: the verdict of each rank and of the job, and what it rests on.

Plain data: :mod:`envcfg.log.judge` makes it, the reports show it.
"""

from collections.abc import Mapping
from typing import Literal, NamedTuple

from envcfg.findings import Evidence, Finding

Verdict = Literal["ok", "degraded", "broken", "inconclusive"]
WORST_FIRST: tuple[Verdict, ...] = ("broken", "degraded", "inconclusive", "ok")
# What a finding makes of the verdict, by its severity.
EFFECT: Mapping[str, Verdict] = {"error": "broken", "warning": "degraded"}
Share = Literal["yes", "no", "partial", "unknown"]
PluginState = Literal["loaded", "missing", "failed", "unknown"]
Loaded = Literal["all", "some", "none", "unknown"]


def is_worse(one: Verdict, other: Verdict) -> bool:
    """Return whether *one* is a worse verdict than *other*."""
    return WORST_FIRST.index(one) < WORST_FIRST.index(other)


class RankReport(NamedTuple):
    """One rank of the job.

    Attributes:
        rank: number in the world communicator, from 0.
        host: node; empty where the log does not name it.
        pid: process id on that node; None where unknown.
        device: GPU index in that process; None where unknown.
        verdict: of this rank alone.
        reason: why, in a few words; empty for ``ok``.
        network: what NCCL calls its network (``AWS Libfabric``, ``Socket``, ``IB``).
        provider: libfabric provider (``cxi``, ``efa``, ``tcp``); None where unknown.
        nics: how many NICs libfabric offers to the process; None where unknown.
        gdr: whether the GPU memory went to the NIC directly, on channels between nodes.
        plugin: ``loaded``, ``missing``, ``failed`` or ``unknown``.
        interface: interface of the bootstrap; None where unknown.
    """

    rank: int
    host: str
    pid: int | None
    device: int | None
    verdict: Verdict
    reason: str
    network: str | None
    provider: str | None
    nics: int | None
    gdr: Share
    plugin: PluginState
    interface: str | None


class Transport(NamedTuple):
    """How one rank sends to another.

    Attributes:
        sender: rank that sends.
        receiver: rank that receives.
        kind: ``NET/NAME``, ``P2P``, ``SHM``: as NCCL names it.
        gdr: True with GPU RDMA, False without, None where it does not apply (not NET).
    """

    sender: int
    receiver: int
    kind: str
    gdr: bool | None


class Plugin(NamedTuple):
    """The external network plugin.

    Attributes:
        name: package (``aws-ofi-rccl``) or what NCCL calls it; None where unknown.
        version: of the package; None where the log does not tell.
        loaded: by how many of the processes that were seen.
    """

    name: str | None
    version: str | None
    loaded: Loaded


class Progress(NamedTuple):
    """How far the program of a job came, as its own lines and its scheduler's say.

    Attributes:
        step: the last step, iteration, epoch or size, as it is written; None: unknown.
        steps: of how many; None: unknown.
        time: when, as it is written; None: unknown.
        checkpoint: the step of the last one, or the line that tells of it; None: none.
        ended: who says that it came to its end as it should; None: nobody.
    """

    step: str | None
    steps: str | None
    time: str | None
    checkpoint: str | None
    ended: str | None


class JobReport(NamedTuple):
    """The job as a whole.

    Attributes:
        world_size: number of ranks of the largest communicator; None where unknown.
        ranks_seen: ranks whose own lines are in the log, rising.
        ranks_missing: ranks of the world that are not, rising.
        nodes: hosts that were seen, sorted.
        node_count: nodes of the job as NCCL counted them, else as many as were seen.
        network: the network of all ranks, ``mixed``, or None where unknown.
        networks: every network seen, with the number of ranks that use it.
        provider: libfabric provider of all ranks, ``mixed``, or None.
        plugin: the network plugin.
        gdr: GPU RDMA between nodes.
        interfaces: ``bootstrap`` and ``socket``: their interfaces, most used first.
        versions: library (``nccl``, ``rccl``, ``hip``, ``libfabric``, ...) to the versions
            that were seen; more than one means that ranks differ.
        progress: how far its program came; None where no line tells.
    """

    world_size: int | None
    ranks_seen: tuple[int, ...]
    ranks_missing: tuple[int, ...]
    nodes: tuple[str, ...]
    node_count: int | None
    network: str | None
    networks: Mapping[str, int]
    provider: str | None
    plugin: Plugin
    gdr: Share
    interfaces: Mapping[str, tuple[str, ...]]
    versions: Mapping[str, tuple[str, ...]]
    progress: Progress | None = None


class Unknown(NamedTuple):
    """Something that the log does not show.

    Attributes:
        what: the question that stays open, lower case, no full stop.
        remedy: the setting or step that would show it.
    """

    what: str
    remedy: str


class Waiting(NamedTuple):
    """A collective that a rank gave up, as PyTorch's watchdog says.

    Attributes:
        group: name of the process group; empty for that of all ranks.
        rank: number in the world where the line has it, else in the group.
        host: node; empty where the log does not name it.
        seq: number of the collective in the group.
        operation: its type (``ALLREDUCE``); empty where unknown.
        numel_in: elements that the rank gives; None where unknown.
        numel_out: elements that it gets; None where unknown.
        enqueued: number of the last collective that it called; None where unknown.
        completed: number of the last one that ended; None where unknown.
    """

    group: str
    rank: int
    host: str
    seq: int | None = None
    operation: str = ""
    numel_in: int | None = None
    numel_out: int | None = None
    enqueued: int | None = None
    completed: int | None = None


class Cause(NamedTuple):
    """What ended the job first.

    Attributes:
        rule: of the finding that says what it means.
        message: who ended, and of what.
        ranks: whose end it was, rising; none where the log does not tell.
        nodes: of them.
        file: of the program's line, with its folders; empty where unknown.
        line: number of that line, from 1; None where unknown.
        function: that it stands in; empty where unknown.
        others: what the other ranks did; empty where the log does not tell.
        evidence: the line that shows it; None where none does.
    """

    rule: str
    message: str
    ranks: tuple[int, ...]
    nodes: tuple[str, ...]
    file: str
    line: int | None
    function: str
    others: str
    evidence: Evidence | None


class Next(NamedTuple):
    """What to do after a job that ended with an error.

    Attributes:
        action: ``fix first``, ``restart``, ``restart without`` the nodes, or ``wait``.
        nodes: to leave out.
        reason: why, in a sentence.
        fingerprint: equal for two attempts that end alike; empty where nothing is known.
        repeats: how many earlier attempts in the log ended alike.
    """

    action: str
    nodes: tuple[str, ...]
    reason: str
    fingerprint: str
    repeats: int

    @property
    def words(self) -> str:
        """What to do, and why, in one line."""
        return f"{' '.join((self.action, *self.nodes))}: {self.reason}"


class Coverage(NamedTuple):
    """How much was read.

    Attributes:
        files: number of files.
        size: bytes after decompression.
        records: NCCL lines that were read.
        unknown_warnings: NCCL warnings that no rule knows.
    """

    files: int
    size: int
    records: int
    unknown_warnings: int


def next_start(report: "LogReport") -> str:
    """Return whether a job should start again, and why: ``restart``, ``stop``.

    Only where two attempts ended by the same exception of the program does a third one not
    help; what nobody knows may. Nodes to leave out stand between commas.
    """
    step, cause = report.next, report.cause
    if step is None or cause is None:
        return f"restart: {report.summary}"
    if step.repeats and cause.file:
        return f"stop: {step.reason}"
    without = f" without {','.join(step.nodes)}" if step.nodes else ""
    return f"restart{without}: {step.reason}"


class JobRow(NamedTuple):
    """One of several jobs that were read.

    Attributes:
        name: number of the job, or the files that are its.
        verdict: of this job.
        summary: the verdict in one sentence, beginning with the verdict.
    """

    name: str
    verdict: Verdict
    summary: str


class LogReport(NamedTuple):
    """The answer of ``envcfg check-log``.

    Attributes:
        verdict: of the job.
        network_verdict: of its network alone, whatever ended its program.
        summary: the verdict in one sentence, beginning with the verdict.
        job: what is known of the job.
        ranks: one entry for each rank of the world that was seen, rising.
        transports: how ranks send to each other, as far as the log shows it.
        findings: causes first, worst first.
        unknowns: what the log does not show.
        coverage: how much was read.
        cause: what ended the job first; None where it did not end with an error.
        consequences: ids of the findings that follow from it, in their order.
        next: what to do; None where it did not end with an error.
        jobs: all jobs, where several were read and this is the worst; else none.
        waiting: where ranks wait, by the lines of PyTorch's watchdog.
    """

    verdict: Verdict
    network_verdict: Verdict
    summary: str
    job: JobReport
    ranks: tuple[RankReport, ...]
    transports: tuple[Transport, ...]
    findings: tuple[Finding, ...]
    unknowns: tuple[Unknown, ...]
    coverage: Coverage
    cause: Cause | None = None
    consequences: tuple[str, ...] = ()
    next: Next | None = None
    jobs: tuple[JobRow, ...] = ()
    waiting: tuple[Waiting, ...] = ()
