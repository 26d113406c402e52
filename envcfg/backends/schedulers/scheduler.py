"""Schedulers: their requests for nodes, and the signs of their jobs.

Requests use the options of Slurm. Each scheduler defines its own spelling of them, or
lacks them.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple


class JobNames(NamedTuple):
    """Values that a directive may need: the job's name, and its time limit in seconds."""

    name: str
    seconds: int | None


# An option by Slurm's name with its value. None: it has no value, or, for
# ``--output``, the scheduler names the file itself.
Asked = tuple[str, str | None]


class Directive(NamedTuple):
    """A line of a job script, without the mark; *of*: the indexes of the options in it."""

    text: str
    of: tuple[int, ...]


class OptionRefusal(NamedTuple):
    """The reason why a scheduler rejects an option, and the replacement."""

    why: str
    fix: str


def only_long(option: str, value: str | None) -> OptionRefusal | None:
    """Reject a one-letter option, given as ``--request-arg``."""
    # A one-letter option takes the next word, so its value could not be separated.
    if option.startswith("--"):
        return None
    word = option if value is None else f"{option}={value}"
    return OptionRefusal(
        f"--request-arg={word}: {{}}'s options have long names here",
        "write it as --reservation=NAME",
    )


def words(command: Sequence[str]) -> str:
    """Return a command for messages, without its options."""
    return " ".join(word for word in command if word[0] != "-" and "=" not in word)


# In `lacks`: the scheduler has no types of GPUs.
TYPED = "--gpus TYPE:N"


class Scheduler(NamedTuple):
    """The properties of a scheduler."""

    # Its name in profiles, and its folder in `job/script/templates`; `begin.sh` there
    # begins its jobs, and `requeue.sh` restarts them.
    name: str
    title: str
    mark: str  # the text that begins a directive in a job script
    prefix: str  # the prefix of the variables that it sets in its jobs
    job_variable: str  # one of them that is set only there
    # The command that accepts a job script on its stdin; *cancel* ends jobs.
    submit: str
    cancel: str
    # The lines of a job script for its options; a line may represent several.
    spell: Callable[[Sequence[Asked], JobNames], Iterator[Directive]]
    # Reports the name outside a job; *cluster_pattern* finds it in the output.
    # *cluster_of_job* finds it in the value of *job_variable*.
    cluster_command: tuple[str, ...]
    cluster_pattern: str
    lists: str  # the command that lists a user's jobs
    name_words: tuple[str, ...]  # the options that name a job; `{}` is the name
    # A pattern of directives of other schedulers with the same *mark*.
    foreign: str = "(?!)"
    # A pattern of all spellings of *mark*, if there are several; lines with *old_mark*
    # are read as well, but do not make a text a job script.
    mark_pattern: str = ""
    old_mark: str = ""
    # The prefix of variables with options for *submit*, if it reads any.
    option_prefix: str = ""
    # A pattern of other schedulers' directives that also name a job.
    name_lines: bytes = b""
    # Variables with a size of the job, by the name of the size in lint.
    sizes: Mapping[str, str] = {}
    cluster_of_job: str | None = None
    cluster_variable: str | None = None  # the variable with the cluster's name
    # The variables of a job with the values of options that select its nodes.
    selecting: Mapping[str, str] = {}
    # The command that reports the limits of its queues; *qos*: those of each QOS;
    # *nodes*: the resources of its nodes; *own*: the accounts and QOS of a user, whose
    # name replaces `{}`.
    queues: tuple[str, ...] = ()
    nodes: tuple[str, ...] = ()
    # A pattern that finds the default queue in the output of *cluster_command*; empty:
    # *queues* reports it.
    default_queue: str = ""
    qos: tuple[str, ...] = ()
    own: tuple[str, ...] = ()
    # The command that reports what jobs used, with a line of columns; `{}`: their ids.
    accounting: tuple[str, ...] = ()
    # The default name of the job's output, and that of array jobs; None: the
    # scheduler's own name.
    output: tuple[str, str] | None = ("%x-%j.out", "%x-%A_%a.out")
    # The option for GPUs if a profile names none; None: there is no option.
    gpus: str | None = "--gpus-per-node"
    gpus_by: str | None = None  # the option for GPUs on a cluster without a profile
    # The option for parts of the job within one NVLink domain, if any.
    segment: str | None = None
    resources: tuple[str, ...] = ()  # its own options with values from the profile
    # Options of `envcfg job` without a documented counterpart.
    lacks: tuple[str, ...] = ()
    # The reason to reject an option with its value, if any; `{}` is its title.
    refuse: Callable[[str, str | None], OptionRefusal | None] = only_long
    # The names of options in the rules of profiles, if different.
    rule_names: Mapping[str, str] = {}
    # Whether jobs request tasks, cores and memory; otherwise whole nodes.
    asks_amounts: bool = True
    # By option, the variable with its value in a job, and the variable that passes it
    # to the starter.
    told_by: Mapping[str, tuple[str, str]] = {}
    # The pattern of the output of *submit*, with the `id` of the job, and its `number`
    # in file names if that is shorter.
    answer: str = r"^(?P<id>\S+)$"
    # The scheduler's own names of the output, also for arrays, as in *output*.
    own_output: tuple[str, str] = ("%x.o%j", "%x.o%A.%a")
    fills: Mapping[str, str] = {}  # its placeholders in file names, by those of Slurm
    # A pattern of its options with paths in which it replaces no variables except its
    # own.
    path_options: str = ""
    # Options with which *submit* reports the start time without submitting; none:
    # impossible.
    test: tuple[str, ...] = ()
    starts: str = ""  # a pattern of the time in that answer

    @property
    def sign(self) -> str:
        """The pattern of the marks that identify a job script."""
        return self.mark_pattern or re.escape(self.mark)
