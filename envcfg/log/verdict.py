"""The verdict on a log: for each rank and for the job, with the evidence.

Plain data: :mod:`envcfg.log.judge.job_judge` makes it, the reports show it.
"""

from collections.abc import Iterable, Mapping
from typing import Literal, NamedTuple

from envcfg.common.characters import Texts
from envcfg.common.findings import EvidenceLine, Finding

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
    "program or network",
]
Share = Literal["yes", "no", "partial", "unknown"]
PluginState = Literal["loaded", "missing", "failed", "unknown"]
Loaded = Literal["all", "some", "none", "unknown"]


def errors_of(findings: Iterable[Finding]) -> list[Finding]:
    """Return those of *findings* that make a job broken, in their order."""
    return [finding for finding in findings if finding.severity == "error"]


def is_worse(verdict: Verdict, second: Verdict) -> bool:
    """Return whether *verdict* is a worse verdict than *second*."""
    return WORST_FIRST.index(verdict) < WORST_FIRST.index(second)


class RankReport(NamedTuple):
    """One rank of the job."""

    rank: int  # number in the world communicator, from 0
    host: str  # node; empty if the log does not name it
    pid: int | None  # process id on that node; None if unknown
    device: int | None  # GPU index in that process; None if unknown
    verdict: Verdict  # of this rank alone
    reason: str  # the reason in a few words; empty for `ok`
    network: str | None  # NCCL's name of its network (`AWS Libfabric`, `Socket`, `IB`)
    provider: str | None  # libfabric provider (`cxi`, `efa`, `tcp`); None if unknown
    # Number of NICs that libfabric offers to the process; None if unknown.
    nics: int | None
    # Whether the GPU memory went to the NIC directly, on channels between nodes.
    gdr: Share
    plugin: PluginState  # `loaded`, `missing`, `failed` or `unknown`
    interface: str | None  # interface of the bootstrap; None if unknown


class Transport(NamedTuple):
    """The connection from one rank to another."""

    sender: int  # rank that sends
    receiver: int  # rank that receives
    kind: str  # NCCL's name of the connection: `NET/NAME`, `P2P`, `SHM`
    # True with GPU RDMA, False without, None if it does not apply (not NET). None
    # differs from False: a path inside a node needs no GPU RDMA.
    gdr: bool | None


class Plugin(NamedTuple):
    """The external network plugin."""

    name: str | None  # package (`aws-ofi-rccl`) or NCCL's name of it; None if unknown
    version: str | None  # of the package; None if the log does not show it
    loaded: Loaded  # share of the processes in the log that loaded it


class ProgramProgress(NamedTuple):
    """The progress of a job's program, from its own lines and its scheduler's."""

    # The last step, iteration, epoch or size, as written; None if unknown. Programs
    # count in their own units, so that numbers stay text.
    step: str | None
    steps: str | None  # total number of steps; None if unknown
    time: str | None  # time of the last step, as written; None if unknown
    # Step of the last checkpoint, or the line about it; None if none.
    checkpoint: str | None
    ended: str | None  # source that reports a regular end; None if no line reports it


class JobReport(NamedTuple):
    """The job as a whole."""

    # Number of ranks of the largest communicator; None if unknown.
    world_size: int | None
    ranks_seen: tuple[int, ...]  # ranks with their own lines in the log, rising
    ranks_missing: tuple[int, ...]  # ranks of the world without lines, rising
    nodes: Texts  # hosts in the log, sorted
    # Nodes of the job as NCCL counted them, else the hosts in the log.
    node_count: int | None
    network: str | None  # the network of all ranks, `mixed`, or None if unknown
    networks: Mapping[str, int]  # every network, with the number of ranks that use it
    provider: str | None  # libfabric provider of all ranks, `mixed`, or None
    plugin: Plugin  # the network plugin
    gdr: Share  # GPU RDMA between nodes
    # `bootstrap` and `socket`: their interfaces, most used first.
    interfaces: Mapping[str, Texts]
    # Versions in the log for each library (`nccl`, `rccl`, `hip`, `libfabric`, ...);
    # more than one means that ranks differ.
    versions: Mapping[str, Texts]
    # Progress of its program; None if no line shows it.
    progress: ProgramProgress | None = None


class OpenQuestion(NamedTuple):
    """An open question that the log does not answer."""

    what: str  # the question, lower case, no full stop
    remedy: str  # the setting or step that would answer it


class GivenUpCollective(NamedTuple):
    """A collective that a rank gave up, as PyTorch's watchdog reports it."""

    group: str  # name of the process group; empty for that of all ranks
    rank: int  # number in the world if the line has it, else in the group
    host: str  # node; empty if the log does not name it
    # PyTorch versions print different parts of this line: each part may be missing.
    seq: int | None = None  # number of the collective in the group
    operation: str = ""  # its type (`ALLREDUCE`); empty if unknown
    numel_in: int | None = None  # number of input elements of the rank; None if unknown
    # Number of output elements of the rank; None if unknown.
    numel_out: int | None = None
    # Number of the last collective that it called; None if unknown.
    enqueued: int | None = None
    completed: int | None = None  # number of the last one that ended; None if unknown
    seconds: int | None = None  # time for which the rank waited; None if unknown


class Cause(NamedTuple):
    """The first cause of the end of a job."""

    rule: str  # id of the finding that explains it
    # The part that must be changed; empty if it is unknown. `class` in JSON.
    class_: CauseClass | Literal[""]
    message: str  # the process that ended, and the reason
    # Ranks that ended, rising; empty if the log does not name them.
    ranks: tuple[int, ...]
    nodes: Texts  # nodes of these ranks
    file: str  # file of the program's line, with its folders; empty if unknown
    line: int | None  # number of that line, from 1; None if unknown
    function: str  # function with that line; empty if unknown
    others: str  # activity of the other ranks; empty if the log does not show it
    evidence: EvidenceLine | None  # the line that shows it; None if no line does


class NextStep(NamedTuple):
    """The next step after a job."""

    # `done`, `fix first`, `restart`, `restart without` the nodes, `wait` (the scheduler
    # starts the job again), or `unknown`.
    action: Action = "unknown"
    nodes: Texts = ()  # nodes to leave out
    reason: str = ""  # the reason, in a sentence
    fingerprint: str = ""  # equal for two attempts with the same end; empty if unknown
    repeats: int = 0  # number of earlier attempts in the log with the same end

    @property
    def answer(self) -> str:
        """The action, with the nodes that it leaves out."""
        # One string without spaces in the node list fits sbatch's --exclude.
        return " ".join(filter(None, (self.action, ",".join(self.nodes))))

    @property
    def words(self) -> str:
        """The answer and the reason in one line."""
        return f"{self.answer}: {self.reason}"


class JobAttempt(NamedTuple):
    """One attempt of a job, in the order of the log."""

    first: str  # its first step, such as `epoch 2 step 50`; empty without one
    # Its last step; empty without one, None if the log has no output of the program.
    last: str | None
    checkpoint: str  # step of its last checkpoint, or the line about it; or empty
    seconds: int | None  # from its first time to that of its end; None if unknown
    nodes: Texts  # nodes with lines in it, sorted
    rule: str  # id of the rule for the cause of its end; empty if no line shows it
    # Class of this cause; empty if it is unknown. `class` in JSON.
    class_: CauseClass | Literal[""]
    message: str  # the process that ended first, and the reason
    fingerprint: str  # equal for two attempts with the same end; empty if unknown


class Coverage(NamedTuple):
    """The amount of text that was read."""

    files: int  # number of files
    size: int  # bytes after decompression
    records: int = 0  # NCCL lines that were read
    unknown_warnings: int = 0  # NCCL warnings without a matching rule


class Bug(NamedTuple):
    """A bug of envcfg that stopped a part of the check."""

    part: str  # the part without a result, as a noun phrase
    error: str  # the exception
    place: str  # functions of envcfg in which it was raised, the innermost first


class JobRow(NamedTuple):
    """One of several jobs that were read."""

    name: str  # number of the job, or its files
    verdict: Verdict  # of this job
    summary: str  # the verdict in one sentence, beginning with the verdict


class LogReport(NamedTuple):
    """The answer of ``envcfg check-log``."""

    verdict: Verdict  # of the job
    # Of its network alone, independent of the end of the program.
    network_verdict: Verdict
    summary: str  # the verdict in one sentence, beginning with the verdict
    job: JobReport  # facts about the job
    # One entry for each rank of the world in the log, rising.
    ranks: tuple[RankReport, ...]
    transports: tuple[Transport, ...]  # connections between ranks that the log shows
    findings: tuple[Finding, ...]  # causes first, worst first
    unknowns: tuple[OpenQuestion, ...]  # questions that the log does not answer
    coverage: Coverage  # amount of text that was read
    # First cause of the end; None if the job did not end with an error. Fields from
    # here on have defaults, because a report on the network has none of them.
    cause: Cause | None = None
    # Ids of the findings that follow from it, in their order.
    consequences: Texts = ()
    next: NextStep = NextStep()  # next step for the user
    # All jobs if several were read and this is the worst; else empty.
    jobs: tuple[JobRow, ...] = ()
    # Collectives in which ranks wait, by the lines of PyTorch's watchdog.
    waiting: tuple[GivenUpCollective, ...] = ()
    # Parts of the check that a bug of envcfg stopped; the verdict is then not ok.
    bugs: tuple[Bug, ...] = ()
    # Attempts of the job, in their order; the last one is the one that is judged.
    attempts: tuple[JobAttempt, ...] = ()
