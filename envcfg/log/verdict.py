"""The verdict on a log: for each rank and for the job, with the evidence.

Plain data: :mod:`envcfg.log.job_judge` makes it, the reports show it.
"""

from collections.abc import Mapping
from typing import Literal, NamedTuple

from envcfg.common.findings import Evidence, Finding

Verdict = Literal["ok", "degraded", "broken", "inconclusive"]
# "inconclusive" is worse than "ok", because missing evidence must never pass as success.
WORST_FIRST: tuple[Verdict, ...] = ("broken", "degraded", "inconclusive", "ok")
# The verdict that a finding causes, by its severity; a note causes none.
EFFECT: Mapping[str, Verdict] = {"error": "broken", "warning": "degraded"}
Action = Literal["done", "fix first", "restart", "restart without", "wait", "unknown"]
CauseClass = Literal[
    "program",
    "data",
    "configuration",
    "image",
    "file system",
    "scheduler",
    "node",
    "GPU",
    "network",
]
Share = Literal["yes", "no", "partial", "unknown"]
PluginState = Literal["loaded", "missing", "failed", "unknown"]
Loaded = Literal["all", "some", "none", "unknown"]


def is_worse(verdict: Verdict, second: Verdict) -> bool:
    """Return whether *verdict* is a worse verdict than *second*."""
    return WORST_FIRST.index(verdict) < WORST_FIRST.index(second)


class RankReport(NamedTuple):
    """One rank of the job.

    Attributes:
        rank: number in the world communicator, from 0.
        host: node; empty if the log does not name it.
        pid: process id on that node; None if unknown.
        device: GPU index in that process; None if unknown.
        verdict: of this rank alone.
        reason: the reason in a few words; empty for ``ok``.
        network: NCCL's name of its network (``AWS Libfabric``, ``Socket``, ``IB``).
        provider: libfabric provider (``cxi``, ``efa``, ``tcp``); None if unknown.
        nics: number of NICs that libfabric offers to the process; None if unknown.
        gdr: whether the GPU memory went to the NIC directly, on channels between nodes.
        plugin: ``loaded``, ``missing``, ``failed`` or ``unknown``.
        interface: interface of the bootstrap; None if unknown.
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
    """The connection from one rank to another.

    Attributes:
        sender: rank that sends.
        receiver: rank that receives.
        kind: NCCL's name of the connection: ``NET/NAME``, ``P2P``, ``SHM``.
        gdr: True with GPU RDMA, False without, None if it does not apply (not NET).
    """

    sender: int
    receiver: int
    kind: str
    # None differs from False: a path inside a node needs no GPU RDMA.
    gdr: bool | None


class Plugin(NamedTuple):
    """The external network plugin.

    Attributes:
        name: package (``aws-ofi-rccl``) or NCCL's name of it; None if unknown.
        version: of the package; None if the log does not show it.
        loaded: share of the processes in the log that loaded it.
    """

    name: str | None
    version: str | None
    loaded: Loaded


class ProgramProgress(NamedTuple):
    """The progress of a job's program, from its own lines and its scheduler's.

    Attributes:
        step: the last step, iteration, epoch or size, as written; None if unknown.
        steps: total number of steps; None if unknown.
        time: time of the last step, as written; None if unknown.
        checkpoint: step of the last checkpoint, or the line about it; None if none.
        ended: source that reports a regular end; None if no line reports it.
    """

    # Programs count in their own units, so that numbers stay text.
    step: str | None
    steps: str | None
    time: str | None
    checkpoint: str | None
    ended: str | None


class JobReport(NamedTuple):
    """The job as a whole.

    Attributes:
        world_size: number of ranks of the largest communicator; None if unknown.
        ranks_seen: ranks with their own lines in the log, rising.
        ranks_missing: ranks of the world without lines, rising.
        nodes: hosts in the log, sorted.
        node_count: nodes of the job as NCCL counted them, else the hosts in the log.
        network: the network of all ranks, ``mixed``, or None if unknown.
        networks: every network, with the number of ranks that use it.
        provider: libfabric provider of all ranks, ``mixed``, or None.
        plugin: the network plugin.
        gdr: GPU RDMA between nodes.
        interfaces: ``bootstrap`` and ``socket``: their interfaces, most used first.
        versions: versions in the log for each library (``nccl``, ``rccl``, ``hip``,
            ``libfabric``, ...); more than one means that ranks differ.
        progress: progress of its program; None if no line shows it.
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
    progress: ProgramProgress | None = None


class OpenQuestion(NamedTuple):
    """An open question that the log does not answer.

    Attributes:
        what: the question, lower case, no full stop.
        remedy: the setting or step that would answer it.
    """

    what: str
    remedy: str


class GivenUpCollective(NamedTuple):
    """A collective that a rank gave up, as PyTorch's watchdog reports it.

    Attributes:
        group: name of the process group; empty for that of all ranks.
        rank: number in the world if the line has it, else in the group.
        host: node; empty if the log does not name it.
        seq: number of the collective in the group.
        operation: its type (``ALLREDUCE``); empty if unknown.
        numel_in: number of input elements of the rank; None if unknown.
        numel_out: number of output elements of the rank; None if unknown.
        enqueued: number of the last collective that it called; None if unknown.
        completed: number of the last one that ended; None if unknown.
    """

    group: str
    rank: int
    host: str
    # PyTorch versions print different parts of this line: each part may be missing.
    seq: int | None = None
    operation: str = ""
    numel_in: int | None = None
    numel_out: int | None = None
    enqueued: int | None = None
    completed: int | None = None


class Cause(NamedTuple):
    """The first cause of the end of a job.

    Attributes:
        rule: id of the finding that explains it.
        class_: the part that must be changed; empty if it is unknown. ``class`` in JSON.
        message: the process that ended, and the reason.
        ranks: ranks that ended, rising; empty if the log does not name them.
        nodes: nodes of these ranks.
        file: file of the program's line, with its folders; empty if unknown.
        line: number of that line, from 1; None if unknown.
        function: function with that line; empty if unknown.
        others: activity of the other ranks; empty if the log does not show it.
        evidence: the line that shows it; None if no line does.
    """

    rule: str
    class_: CauseClass | Literal[""]
    message: str
    ranks: tuple[int, ...]
    nodes: tuple[str, ...]
    file: str
    line: int | None
    function: str
    others: str
    evidence: Evidence | None


class NextStep(NamedTuple):
    """The next step after a job.

    Attributes:
        action: ``done``, ``fix first``, ``restart``, ``restart without`` the nodes,
            ``wait`` (the scheduler starts the job again), or ``unknown``.
        nodes: nodes to leave out.
        reason: the reason, in a sentence.
        fingerprint: equal for two attempts with the same end; empty if unknown.
        repeats: number of earlier attempts in the log with the same end.
    """

    action: Action = "unknown"
    nodes: tuple[str, ...] = ()
    reason: str = ""
    fingerprint: str = ""
    repeats: int = 0

    @property
    def answer(self) -> str:
        """The action, with the nodes that it leaves out."""
        # One string without spaces in the node list fits sbatch's --exclude.
        return " ".join(filter(None, (self.action, ",".join(self.nodes))))

    @property
    def words(self) -> str:
        """The answer and the reason in one line."""
        return f"{self.answer}: {self.reason}"


class Coverage(NamedTuple):
    """The amount of text that was read.

    Attributes:
        files: number of files.
        size: bytes after decompression.
        records: NCCL lines that were read.
        unknown_warnings: NCCL warnings without a matching rule.
    """

    files: int
    size: int
    records: int
    unknown_warnings: int


class Bug(NamedTuple):
    """A bug of envcfg that stopped a part of the check.

    Attributes:
        part: the part without a result, as a noun phrase.
        error: the exception.
        place: functions of envcfg in which it was raised, the innermost first.
    """

    part: str
    error: str
    place: str


class JobRow(NamedTuple):
    """One of several jobs that were read.

    Attributes:
        name: number of the job, or its files.
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
        network_verdict: of its network alone, independent of the end of the program.
        summary: the verdict in one sentence, beginning with the verdict.
        job: facts about the job.
        ranks: one entry for each rank of the world in the log, rising.
        transports: connections between ranks that the log shows.
        findings: causes first, worst first.
        unknowns: questions that the log does not answer.
        coverage: amount of text that was read.
        cause: first cause of the end; None if the job did not end with an error.
        consequences: ids of the findings that follow from it, in their order.
        next: next step for the user.
        jobs: all jobs if several were read and this is the worst; else empty.
        waiting: collectives in which ranks wait, by the lines of PyTorch's watchdog.
        bugs: parts of the check that a bug of envcfg stopped; the verdict is then not ok.
    """

    verdict: Verdict
    network_verdict: Verdict
    summary: str
    job: JobReport
    ranks: tuple[RankReport, ...]
    transports: tuple[Transport, ...]
    findings: tuple[Finding, ...]
    unknowns: tuple[OpenQuestion, ...]
    coverage: Coverage
    # Fields from here on have defaults, because a report on the network has none of them.
    cause: Cause | None = None
    consequences: tuple[str, ...] = ()
    next: NextStep = NextStep()
    jobs: tuple[JobRow, ...] = ()
    waiting: tuple[GivenUpCollective, ...] = ()
    bugs: tuple[Bug, ...] = ()
