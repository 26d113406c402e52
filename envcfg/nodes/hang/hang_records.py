"""The answers of the nodes of a silent job, and other evidence; data.

A job may run several programs with their own ranks, such as two steps, or two launchers in
one step. Their ranks have the same numbers, but meet at different ports.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from envcfg.nodes.probe.gpu import Gpu

RAS, FLIGHT = "RAS", "Flight Recorder"


class RankView(NamedTuple):
    """The program of a rank, at one moment.

    Attributes:
        rank: its number in the whole job, from its environment.
        host: its node, as Slurm names it.
        pid: its process id there.
        local_rank: its number on the node; None if unknown.
        world: number of ranks of the job, from its environment; None if unknown.
        state: the kernel's letter: ``R``, ``S``, ``D``, ``T``, ``t``, ``Z`` ...
        use: cores that it used during the look: 1.0 is one; None if unknown.
        age: seconds since it was started.
        threads: number of its threads.
        call: number of the system call in which its first thread waits; None if it runs
            or the number is not readable.
        channel: the kernel function in which it waits; empty if unknown.
        name: of the process.
        step: its Slurm step; empty in the batch script itself.
        port: port at which the ranks of its program meet; empty if unknown.
        turns: number of times that its first thread has run; None if unknown.
        worked: processor seconds of it and its descendants.
        moment: time of the look, in seconds since its node came up.
        stack: of its first thread, by py-spy, the innermost first; empty if unknown.
        stack_problem: message of py-spy instead of a stack.
        kernel: kernel stack of its first thread, if readable.
        dump: ``new``, ``old`` or ``none`` of Flight Recorder; empty if it is not set.
        dump_size: bytes of its file there; None if there is none.
        dump_path: its file, as the program names it.
    """

    rank: int
    host: str
    pid: int
    local_rank: int | None = None
    world: int | None = None
    state: str = "?"
    use: float | None = None
    age: int = 0
    threads: int = 1
    call: int | None = None
    channel: str = ""
    name: str = ""
    step: str = ""
    port: str = ""
    turns: int | None = None
    worked: float | None = None
    moment: float | None = None
    stack: tuple[str, ...] = ()
    stack_problem: str = ""
    kernel: tuple[str, ...] = ()
    dump: str = ""
    dump_size: int | None = None
    dump_path: str = ""


class RasAnswer(NamedTuple):
    """The answer on NCCL's port of a node.

    Attributes:
        port: the port.
        end: ``complete``, ``cut``, ``silent`` (open without an answer), ``stranger``
            (no RAS), ``refused`` (closed).
        text: the answer.
    """

    port: str
    end: str
    text: str = ""


class NodeView(NamedTuple):
    """A node.

    Attributes:
        host: as Slurm names it.
        answers: True if at least one line came.
        is_complete: True if all lines came.
        processes: number of processes of the job.
        ranks: their programs.
        ras: answers on NCCL's port.
        gpus: of the job, from the node's tool.
        tool: that program; ``none`` if there is none, empty if it has not answered.
        ray: workers of Ray that are not idle; None without Ray.
        links: ``up`` or ``down`` of each interface.
        state: Slurm's state of the node, if requested: ``allocated*``.
        reason: srun's reason why it is unreachable; empty if it is reachable.
    """

    host: str
    answers: bool = False
    is_complete: bool = False
    processes: int = 0
    ranks: tuple[RankView, ...] = ()
    ras: tuple[RasAnswer, ...] = ()
    gpus: tuple[Gpu, ...] = ()
    tool: str = ""
    ray: int | None = None
    links: Mapping[str, str] = {}
    state: str = ""
    reason: str = ""


class LastLine(NamedTuple):
    """The end of the job's log.

    Attributes:
        path: of the log; empty if Slurm names none.
        problem: reason why it is unreadable; empty if it is readable.
        line: the number of the last non-empty line, from 1; None of a long log.
        text: that line.
        age: seconds since the last write; None if envcfg itself wrote after the job.
    """

    path: str = ""
    problem: str = ""
    line: int | None = None
    text: str = ""
    age: float | None = None


class LaggingRanks(NamedTuple):
    """Ranks that have not begun the operation in which others wait; from RAS or Flight
    Recorder.

    Attributes:
        by: ``RAS`` or ``Flight Recorder``.
        ranks: lagging ranks of the job, rising.
        waiting: number of ranks that wait for them.
        operation: the collective, as its source names it.
        group: the communicator or group of processes.
        number: operations that they have begun of it; None if unknown.
        most: operations that the waiting ranks have begun.
        since: seconds for which the others have waited; None if unknown.
        where: the line of the program in which the others wait; empty if unknown.
        differs: property in which ranks differ (``operation``, ``size``, ``type``); empty
            if they are behind.
        elsewhere: operation in which some of them wait; empty if none.
        follows: True if others hold up all of them.
        program: program of these ranks; empty if the job has one.
        stands: True if no group of its source has moved since the look before.
        same: True if these ranks had begun as many at the look before.
    """

    by: str
    ranks: tuple[int, ...]
    waiting: int
    operation: str
    group: str
    number: int | None = None
    most: int | None = None
    since: float | None = None
    where: str = ""
    differs: str = ""
    elsewhere: str = ""
    follows: bool = False
    program: str = ""
    stands: bool = False
    same: bool = False


class Evidence(NamedTuple):
    """The evidence on a job at one moment.

    Attributes:
        job: as the user names it.
        nodes: in Slurm's order.
        log: its end.
        behind: lagging ranks, from the libraries.
        flights: ranks with a readable dump.
        ras_read: nodes with a readable RAS answer.
        problems: reasons why one source of evidence was unreadable, by its name.
        called: seconds since a rank last called a collective, by the dumps; None without a
            dump.
        is_part: True if the job has nodes that were not examined.
        program: program of these ranks; empty if the job has one.
        still: host and process of ranks that have not run since the look before.
        watched: seconds between the two looks; None if there was one.
        moment: time of the look, by a monotonic clock of this process.
    """

    job: str
    nodes: tuple[NodeView, ...]
    log: LastLine = LastLine()
    behind: tuple[LaggingRanks, ...] = ()
    flights: tuple[int, ...] = ()
    ras_read: tuple[str, ...] = ()
    problems: Mapping[str, str] = {}
    called: float | None = None
    is_part: bool = False
    program: str = ""
    still: frozenset[tuple[str, int]] = frozenset()
    watched: float | None = None
    moment: float = 0.0

    @property
    def ranks(self) -> tuple[RankView, ...]:
        """All ranks in the answers, rising."""
        rank_views = [rank for node in self.nodes for rank in node.ranks]
        return tuple(
            sorted(
                rank_views,
                key=lambda rank_view: (rank_view.rank, rank_view.host, rank_view.pid),
            )
        )


def program_names(ranks: Sequence[RankView]) -> dict[tuple[str, int], str]:
    """Return the program of each process (host and pid); empty texts if all run one.

    Ports separate programs of one step only if a rank number occurs twice: a launcher may
    give each rank a different port by mistake, and that is then the problem.
    """
    ports: dict[tuple[str, int], set[str]] = {}
    for rank in ranks:
        ports.setdefault((rank.step, rank.rank), set()).add(rank.port)
    doubled = {step for (step, _), steps in ports.items() if len(steps) > 1}
    programs = {}
    for rank in ranks:
        where = f"step {rank.step}" if rank.step else "the batch script"
        port = rank.port if rank.step in doubled else ""
        programs[rank.host, rank.pid] = f"{where}, port {port}" if port else where
    return programs if len({*programs.values()}) > 1 else dict.fromkeys(programs, "")


def by_program(evidence: Evidence) -> list[Evidence]:
    """Return the evidence for each program of a job.

    A node without ranks of a program is no evidence on it; a node that does not answer may
    hold some.
    """
    names = program_names(evidence.ranks)
    programs = sorted(set(names.values()))
    # Most jobs run one program, and keep all evidence together.
    if len(programs) < 2:
        return [evidence]
    parts = []
    for program in programs:
        nodes = []
        for node in evidence.nodes:
            ranks = tuple(r for r in node.ranks if names[r.host, r.pid] == program)
            if ranks or not node.answers:
                nodes.append(node._replace(ranks=ranks))
        behind = tuple(lag for lag in evidence.behind if lag.program == program)
        parts.append(
            evidence._replace(nodes=tuple(nodes), behind=behind, program=program)
        )
    return parts
