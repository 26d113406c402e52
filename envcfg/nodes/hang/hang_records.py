"""The answers of the nodes of a silent job, and other evidence; data.

A job may run several programs with their own ranks, such as two steps, or two launchers in
one step. Their ranks have the same numbers, but meet at different ports.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from envcfg.nodes.probe.gpu import Gpu

RAS, FLIGHT = "RAS", "Flight Recorder"


class HangRank(NamedTuple):
    """The program of a rank, at one moment."""

    rank: int  # its number in the whole job, from its environment
    host: str
    pid: int
    local_rank: int | None = None
    # Number of ranks of the job, from its environment; None if unknown.
    world: int | None = None
    state: str = "?"  # the kernel's letter: `R`, `S`, `D`, `T`, `t`, `Z`
    # Cores that it used during the look: 1.0 is one; None if unknown.
    use: float | None = None
    age: int = 0  # seconds since it was started
    threads: int = 1
    # Number of the system call in which its first thread waits; None if it runs or the
    # number is not readable.
    call: int | None = None
    channel: str = ""  # the kernel function in which it waits; empty if unknown
    name: str = ""
    step: str = ""  # its Slurm step; empty in the batch script itself
    port: str = ""  # port at which the ranks of its program meet; empty if unknown
    # Number of times that its first thread has run; None if unknown.
    turns: int | None = None
    worked: float | None = None  # processor seconds of it and its descendants
    moment: float | None = None  # time of the look, in seconds since its node came up
    # Of its first thread, by py-spy, the innermost first; empty if unknown.
    stack: tuple[str, ...] = ()
    stack_problem: str = ""  # message of py-spy instead of a stack
    kernel: tuple[str, ...] = ()  # kernel stack of its first thread, if readable
    dump: str = ""  # `new`, `old` or `none` of Flight Recorder; empty if it is not set
    dump_size: int | None = None  # bytes of its file there; None if there is none
    dump_path: str = ""  # its file, as the program names it


class RasAnswer(NamedTuple):
    """The answer on NCCL's port of a node."""

    port: str
    # `complete`, `cut`, `silent` (open without an answer), `stranger` (no RAS),
    # `refused` (closed).
    end: str
    text: str = ""


class HangNode(NamedTuple):
    """A node."""

    host: str
    answers: bool = False  # True if at least one line came
    is_complete: bool = False  # True if all lines came
    processes: int = 0
    ranks: tuple[HangRank, ...] = ()
    ras: tuple[RasAnswer, ...] = ()
    gpus: tuple[Gpu, ...] = ()  # of the job, from the node's tool
    # That program; `none` if there is none, empty if it has not answered.
    tool: str = ""
    ray: int | None = None  # workers of Ray that are not idle; None without Ray
    links: Mapping[str, str] = {}  # `up` or `down` of each interface
    state: str = ""  # Slurm's state of the node, if requested: `allocated*`
    reason: str = ""  # srun's reason why it is unreachable; empty if it is reachable


class LastLine(NamedTuple):
    """The end of the job's log."""

    path: str = ""  # of the log; empty if Slurm names none
    problem: str = ""  # reason why it is unreadable; empty if it is readable
    # The number of the last non-empty line, from 1; None of a long log.
    line: int | None = None
    text: str = ""
    # Seconds since the last write; None if envcfg itself wrote after the job.
    age: float | None = None


class LaggingRanks(NamedTuple):
    """Ranks that have not begun the operation in which others wait; from RAS or Flight
    Recorder.
    """

    by: str  # `RAS` or `Flight Recorder`
    ranks: tuple[int, ...]  # lagging ranks of the job, rising
    waiting: int  # number of ranks that wait for them
    operation: str
    group: str
    number: int | None = None  # operations that they have begun of it; None if unknown
    most: int | None = None  # operations that the waiting ranks have begun
    # Seconds for which the others have waited; None if unknown.
    since: float | None = None
    # The line of the program in which the others wait; empty if unknown.
    where: str = ""
    # Property in which ranks differ (`operation`, `size`, `type`); empty if they are
    # behind.
    differs: str = ""
    elsewhere: str = ""  # operation in which some of them wait; empty if none
    follows: bool = False  # True if others hold up all of them
    program: str = ""  # program of these ranks; empty if the job has one
    # True if no group of its source has moved since the look before.
    stands: bool = False
    same: bool = False  # True if these ranks had begun as many at the look before


class Evidence(NamedTuple):
    """The evidence on a job at one moment."""

    job: str
    nodes: tuple[HangNode, ...]  # in Slurm's order
    log: LastLine = LastLine()
    behind: tuple[LaggingRanks, ...] = ()  # lagging ranks, from the libraries
    flights: tuple[int, ...] = ()  # ranks with a readable dump
    ras_read: tuple[str, ...] = ()  # nodes with a readable RAS answer
    # Reasons why one source of evidence was unreadable, by its name.
    problems: Mapping[str, str] = {}
    # Seconds since a rank last called a collective, by the dumps; None without a dump.
    called: float | None = None
    is_part: bool = False  # True if the job has nodes that were not examined
    program: str = ""  # program of these ranks; empty if the job has one
    # Host and process of ranks that have not run since the look before.
    still: frozenset[tuple[str, int]] = frozenset()
    watched: float | None = None  # seconds between the two looks; None if there was one
    moment: float = 0.0  # time of the look, by a monotonic clock of this process

    @property
    def ranks(self) -> tuple[HangRank, ...]:
        """All ranks in the answers, rising."""
        rank_views = [rank for node in self.nodes for rank in node.ranks]
        return tuple(
            sorted(
                rank_views,
                key=lambda rank_view: (rank_view.rank, rank_view.host, rank_view.pid),
            )
        )


def program_names(ranks: Sequence[HangRank]) -> dict[tuple[str, int], str]:
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
