"""What takes jobs: how each is asked for nodes, and how its jobs are known.

Requests are made with the options of Slurm, and each scheduler says how it spells them, or
that it has no such thing.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple


class JobNames(NamedTuple):
    """What a directive may have to name: the job's name, and its time limit in seconds."""

    name: str
    seconds: int | None


# An option by Slurm's name with its value; None: it takes none, or, of ``--output``, the
# scheduler names the file itself.
Asked = tuple[str, str | None]


class Directive(NamedTuple):
    """A line of a job script; *of*: for which of the options it stands, by number."""

    text: str
    of: tuple[int, ...]


class Refusal(NamedTuple):
    """Why a scheduler does not take an option so, and what to write instead."""

    why: str
    fix: str


def only_long(option: str, value: str | None) -> Refusal | None:
    """Refuse an option of one letter, which is given as ``--request-arg``."""
    if option.startswith("--"):
        return None
    word = option if value is None else f"{option}={value}"
    return Refusal(
        f"--request-arg={word}: {{}}'s options have long names here",
        "write it as --reservation=NAME",
    )


def words(command: Sequence[str]) -> str:
    """Return a command that asks, for people: without its options."""
    return " ".join(each for each in command if each[0] != "-" and "=" not in each)


class Scheduler(NamedTuple):
    """What is particular to a scheduler.

    Attributes:
        name: as profiles have it, and its folder in ``bash/templates``; there
            ``begin.sh`` has what its jobs do first, ``requeue.sh`` how they start again.
        title: its name as people write it.
        job_variable: set in its jobs, and nowhere else.
        submit: the command that takes a job script.
        spell: the lines of a job script for its options; one may stand for several.
        cluster_variable: says how the cluster is named.
        cluster_command: says it where there is no job; *cluster_pattern* finds the name in
            its output. *cluster_of_job* finds it in what *job_variable* says.
        queues: the command that says the limits of its queues; *qos*: those of each QOS;
            *nodes*: what its nodes have; *own*: the accounts and QOS of a user, whose name
            goes where ``{}`` stands.
        default_queue: finds the queue that is taken where none is named in the output of
            *cluster_command*; empty: *queues* says it.
        output: how the job's output is called where nobody says, and that of the jobs of
            an array; None: as the scheduler calls it by itself.
        gpus: the option that asks for GPUs where a profile names none; None: nothing does.
        gpus_by: the one for a cluster of which only its scheduler is known.
        segment: the option for parts of the job that lie in one NVLink domain each, if any.
        resources: options of its own whose value is taken from a profile that has one.
        lacks: options of ``envcfg job`` of which no source says how it takes them.
        refuse: why it does not take an option with its value, if it does not; ``{}`` is
            its title.
        rule_names: what the rules of a profile call an option, where that differs.
        asks_amounts: tasks, cores and memory are asked for; else whole nodes are.
        told_by: by option, the variable in which a job has its value, and the one by which
            its starter is told it again.
        answer: what *submit* prints for a job, a pattern with its ``id``, and the
            ``number`` in that, by which files are named, where it has more.
        own_output: how the scheduler itself calls the output, of arrays too, as *output*.
        fills: its own signs in names of files, by those of Slurm's.
        test: options by which *submit* tells the start time, and submits nothing; none:
            it does not tell.
        starts: a pattern of the time in that answer.
    """

    name: str
    title: str
    job_variable: str
    submit: str
    spell: Callable[[Sequence[Asked], JobNames], Iterator[Directive]]
    cluster_command: tuple[str, ...]
    cluster_pattern: str
    cluster_of_job: str | None = None
    cluster_variable: str | None = None
    queues: tuple[str, ...] = ()
    nodes: tuple[str, ...] = ()
    default_queue: str = ""
    qos: tuple[str, ...] = ()
    own: tuple[str, ...] = ()
    output: tuple[str, str] | None = ("%x-%j.out", "%x-%A_%a.out")
    gpus: str | None = "--gpus-per-node"
    gpus_by: str | None = None
    segment: str | None = None
    resources: tuple[str, ...] = ()
    lacks: tuple[str, ...] = ()
    refuse: Callable[[str, str | None], Refusal | None] = only_long
    rule_names: Mapping[str, str] = {}
    asks_amounts: bool = True
    told_by: Mapping[str, tuple[str, str]] = {}
    answer: str = r"^(?P<id>\S+)$"
    own_output: tuple[str, str] = ("%x.o%j", "%x.o%A.%a")
    fills: Mapping[str, str] = {}
    test: tuple[str, ...] = ()
    starts: str = ""

    @property
    def nodes_variable(self) -> str | None:
        """The variable that says how many nodes a job has, if any."""
        return self.told_by["--nodes"][0] if "--nodes" in self.told_by else None
