"""The properties of a starter; frozen data."""

from collections.abc import Mapping
from typing import NamedTuple


class Names(NamedTuple):
    """The variables of a starter that identify a task and its job."""

    # Variables that only a task has. They cannot be set.
    task: tuple[str, ...] = ()
    # The same, but other programs may also set them; fixed only if this starter starts
    # the tasks.
    shared: tuple[str, ...] = ()
    # Variables of the step and of the task's node. They cannot be set.
    step: tuple[str, ...] = ()
    job: tuple[str, ...] = ()  # variables of the job that cannot be set
    gpus: tuple[str, ...] = ()  # variables with the number of GPUs per node of a job
    choice: tuple[str, ...] = ()  # variables set in a task that a job may choose
    prefix: str = ""  # the prefix of the scheduler's own variables
    node: str = "NODE_RANK"  # the variable with the name of a task's node


class NodeTasks(NamedTuple):
    """How preflight runs a task on each node, and recognises tasks that have ended."""

    # The command that prints the nodes of a job, in order.
    hosts: tuple[str, ...] = ("uname", "-n")
    # Variables that give each task its share of a node. A task that is alone on its
    # node is started without them.
    shares: tuple[str, ...] = ()
    # Options with which a failing task does not end the others.
    apart: tuple[str, ...] = ()
    # A regular expression for its message about an ended task, with the groups `host`
    # and `how`.
    ended: str = ""


class Starter(NamedTuple):
    """The properties of a starter."""

    name: str  # its name, and that of its folder of modules
    task: str  # a description of its tasks, for docs/launchers.md
    names: Names = Names()
    looking: NodeTasks = NodeTasks()  # its use by preflight
    # Its keys in a bundle, the options of its program first, which is also the name of
    # their array in bash. Empty: bundles do not apply.
    bundled: tuple[str, ...] = ()
    # The section of a profile with its program's options, `launch.OWN`; also the name
    # in `--OWN-arg` and of the array in bash.
    own: str = ""
    # The options that bind ranks to the cores of masks, if the job has them: `{masks}`
    # in hexadecimal, `{cpus}` as lists.
    pin: tuple[str, ...] = ()
    unbuffered: tuple[str, ...] = ()  # options that forward the ranks' lines at once
    # The prefix of the option that selects the PMI for ranks of MPI.
    pmi: str | None = None
    # Options that run a step in another component of a heterogeneous job.
    component_options: tuple[str, ...] = ()
    # Whether a word ":" ends the command, and begins another.
    ends_at_colon: bool = False
    # The option that another one decides, by the name of the latter.
    implies: Mapping[str, str] = {}
    # Options that its module adds in the job, unless the user gives them.
    adds: tuple[str, ...] = ()
    # Whether it has an `agent.sh`: one task per node, which starts the ranks.
    starts_agents: bool = True
    # Whether it starts tasks on all nodes of a job. If not, the host part defines the
    # place where ranks meet.
    spans_nodes: bool = True

    @property
    def sections(self) -> tuple[str, ...]:
        """The sections of a profile that apply only to this starter."""
        sections = {"bundles": self.bundled, self.own: self.own, "cpu_masks": self.pin}
        return tuple(name for name, counts in sections.items() if counts)
