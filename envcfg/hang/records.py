"""What the nodes of a silent job say, and what was found beside them; data.

A job may run several programs, each of which has its own ranks: two steps are two, and so
are two launchers in one. Their ranks have the same numbers, and meet at other ports.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from envcfg.probe.gpu import Gpu

RAS, FLIGHT = "RAS", "Flight Recorder"


class RankView(NamedTuple):
    """The program of a rank, at one moment.

    Attributes:
        rank: of the whole job, as its environment says.
        host: its node, as Slurm names it.
        pid: its process id there.
        local_rank: on its node; None where not told.
        world: ranks of the job, as it knows; None where not told.
        state: as the kernel has it: ``R``, ``S``, ``D``, ``T``, ``t``, ``Z`` ...
        use: cores that it used during the look: 1.0 is one; None where not told.
        age: seconds since it was started.
        threads: how many it has.
        call: number of the system call in which its first thread waits; None where it runs
            or that may not be read.
        channel: the kernel's function in which that waits; empty where not told.
        name: of the process.
        step: of Slurm, in which it runs; empty in the batch script itself.
        port: at which the ranks of its program meet; empty where not told.
        turns: how often its first thread has run; None where not told.
        worked: seconds of processors that it and all that it has started have used.
        moment: when that was seen, in seconds since its node came up.
        stack: of its first thread, by py-spy, the innermost first; empty where unknown.
        stack_problem: what py-spy says instead.
        kernel: of its first thread, where the kernel lets it be read.
        dump: ``new``, ``old`` or ``none`` of Flight Recorder; empty where it is not set.
        dump_size: bytes of its file there; None where there is none.
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
    """What listens on NCCL's port of a node.

    Attributes:
        port: which.
        end: ``complete``, ``cut``, ``silent`` (it listens, and says nothing), ``stranger``
            (no RAS), ``refused`` (nobody listens).
        text: the answer.
    """

    port: str
    end: str
    text: str = ""


class NodeView(NamedTuple):
    """A node.

    Attributes:
        host: as Slurm names it.
        answers: it has said something.
        whole: it has said all that it had to.
        processes: of the job.
        ranks: their programs.
        ras: what listens there.
        gpus: of the job, as the node's tool has them.
        state: what Slurm says of it, where it was asked: ``allocated*``.
        reason: why it cannot be reached, as srun says it; empty where it can.
    """

    host: str
    answers: bool = False
    whole: bool = False
    processes: int = 0
    ranks: tuple[RankView, ...] = ()
    ras: tuple[RasAnswer, ...] = ()
    gpus: tuple[Gpu, ...] = ()
    state: str = ""
    reason: str = ""


class LastLine(NamedTuple):
    """The end of the job's log.

    Attributes:
        path: of the log; empty where Slurm names none.
        problem: why it cannot be read; empty where it can.
        line: the number of the last line that is not empty, from 1; None of a long log.
        text: that line.
        age: seconds since something was written.
    """

    path: str = ""
    problem: str = ""
    line: int | None = None
    text: str = ""
    age: float | None = None


class Behind(NamedTuple):
    """Ranks that have not begun what others wait in; from RAS or Flight Recorder.

    Attributes:
        by: ``RAS`` or ``Flight Recorder``.
        ranks: those that are behind, rising: of the job.
        waiting: how many wait for them.
        operation: the collective, as its source names it.
        group: the communicator or group of processes.
        number: operations that they have begun of it; None where not told.
        most: how many those have that wait.
        since: seconds for which the others have waited; None where not told.
        where: the line of the program from which the others wait; empty where not told.
        differs: in what they are out of step (``operation``, ``size``, ``type``); empty
            where they are behind.
        elsewhere: in what some of them wait themselves; empty where they do not.
        follows: others hold up all of them.
        program: of whose ranks it speaks; empty where the job has one.
        stands: in no group that its source knows has anything moved since the look before.
        same: at the look before these ranks had begun as many.
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
    """All that is known of a job at one moment.

    Attributes:
        job: as the user names it.
        nodes: in Slurm's order.
        log: its end.
        behind: who lags, as the libraries know.
        flights: ranks of which a dump was read.
        ras_read: nodes whose answer could be read.
        problems: why a half of the evidence could not be read, by its name.
        called: seconds since a rank last called a collective, by the dumps; None where none
            was read.
        is_part: the job has nodes that were not looked at.
        program: whose ranks these are; empty where the job has one.
        still: host and process of those of which nothing has run since the look before.
        watched: seconds between the two looks; None where there was one.
        moment: when it was seen, by a clock of this process that only goes on.
    """

    job: str
    nodes: tuple[NodeView, ...]
    log: LastLine = LastLine()
    behind: tuple[Behind, ...] = ()
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
        """All ranks that were seen, rising."""
        found = [each for node in self.nodes for each in node.ranks]
        return tuple(sorted(found, key=lambda each: (each.rank, each.host, each.pid)))


def program_names(ranks: Sequence[RankView]) -> dict[tuple[str, int], str]:
    """Return the program of each process (host and pid); all empty where there is one.

    A port tells programs of one step apart only where a number is there twice: who starts
    ranks may give each another port, and then that is what is wrong.
    """
    ports: dict[tuple[str, int], set[str]] = {}
    for each in ranks:
        ports.setdefault((each.step, each.rank), set()).add(each.port)
    doubled = {step for (step, _), each in ports.items() if len(each) > 1}
    found = {}
    for each in ranks:
        where = f"step {each.step}" if each.step else "the batch script"
        port = each.port if each.step in doubled else ""
        found[each.host, each.pid] = f"{where}, port {port}" if port else where
    return found if len({*found.values()}) > 1 else dict.fromkeys(found, "")


def by_program(seen: Evidence) -> list[Evidence]:
    """Return what is known of each program of a job; of one, as it is.

    A node without ranks of a program says nothing of it; one that does not answer may hold
    some.
    """
    names = program_names(seen.ranks)
    programs = sorted(set(names.values()))
    if len(programs) < 2:
        return [seen]
    parts = []
    for program in programs:
        nodes = []
        for node in seen.nodes:
            ranks = tuple(r for r in node.ranks if names[r.host, r.pid] == program)
            if ranks or not node.answers:
                nodes.append(node._replace(ranks=ranks))
        behind = tuple(each for each in seen.behind if each.program == program)
        parts.append(seen._replace(nodes=tuple(nodes), behind=behind, program=program))
    return parts
