"""The properties of a starter; frozen data."""

from collections.abc import Mapping
from typing import NamedTuple


class Names(NamedTuple):
    """The variables of a starter that identify a task and its job.

    Attributes:
        task: variables that only a task has. They cannot be set.
        shared: the same, but other programs may also set them; fixed only if this
            starter starts the tasks.
        step: variables of the step and of the task's node. They cannot be set.
        job: variables of the job that cannot be set.
        gpus: variables with the number of GPUs per node of a job.
        choice: variables set in a task that a job may choose.
        prefix: the prefix of the scheduler's own variables.
        node: the variable with the name of a task's node.
    """

    task: tuple[str, ...] = ()
    shared: tuple[str, ...] = ()
    step: tuple[str, ...] = ()
    job: tuple[str, ...] = ()
    gpus: tuple[str, ...] = ()
    choice: tuple[str, ...] = ()
    prefix: str = ""
    node: str = "NODE_RANK"


class NodeTasks(NamedTuple):
    """How preflight runs a task on each node, and recognises tasks that have ended.

    Attributes:
        hosts: the command that prints the nodes of a job, in order.
        shares: variables that give each task its share of a node. A task that is alone
            on its node is started without them.
        apart: options with which a failing task does not end the others.
        ended: a regular expression for its message about an ended task, with the groups
            ``host`` and ``how``.
    """

    hosts: tuple[str, ...] = ("uname", "-n")
    shares: tuple[str, ...] = ()
    apart: tuple[str, ...] = ()
    ended: str = ""


class Starter(NamedTuple):
    """The properties of a starter.

    Attributes:
        name: its name, and that of its folder of modules.
        task: a description of its tasks, for docs/launchers.md.
        names: its variables.
        looking: its use by preflight.
        bundled: its keys in a bundle, the options of its program first, which is also
            the name of their array in bash. Empty: bundles do not apply.
        own: the section of a profile with its program's options, ``launch.OWN``; also
            the name in ``--OWN-arg`` and of the array in bash.
        pin: the options that bind ranks to the cores of masks, if the job has them:
            ``{masks}`` in hexadecimal, ``{cpus}`` as lists.
        unbuffered: options that forward the ranks' lines at once.
        pmi: the prefix of the option that selects the PMI for ranks of MPI.
        component_options: options that run a step in another component of a
            heterogeneous job.
        ends_at_colon: whether a word ":" ends the command, and begins another.
        implies: the option that another one decides, by the name of the latter.
        adds: options that its module adds in the job, unless the user gives them.
        starts_agents: whether it has an ``agent.sh``: one task per node, which starts
            the ranks.
        spans_nodes: whether it starts tasks on all nodes of a job. If not, the host
            part defines the place where ranks meet.
    """

    name: str
    task: str
    names: Names = Names()
    looking: NodeTasks = NodeTasks()
    bundled: tuple[str, ...] = ()
    own: str = ""
    pin: tuple[str, ...] = ()
    unbuffered: tuple[str, ...] = ()
    pmi: str | None = None
    component_options: tuple[str, ...] = ()
    ends_at_colon: bool = False
    implies: Mapping[str, str] = {}
    adds: tuple[str, ...] = ()
    starts_agents: bool = True
    spans_nodes: bool = True

    @property
    def sections(self) -> tuple[str, ...]:
        """The sections of a profile that apply only to this starter."""
        sections = {"bundles": self.bundled, self.own: self.own, "cpu_masks": self.pin}
        return tuple(name for name, counts in sections.items() if counts)
