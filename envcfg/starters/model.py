"""What is particular to a starter; frozen data."""

from typing import NamedTuple


class Names(NamedTuple):
    """The variables by which a starter tells a task and its job what they are.

    Attributes:
        task: what only a task knows of itself. Nobody can set it.
        shared: the same, but others may set it, too: fixed where this one starts the
            tasks.
        step: what it tells of the step and of the task's node. Nobody can set it.
        job: what the job has of it, and nobody can set.
        gpus: variables by which it tells a job how many GPUs a node has.
        choice: what it sets in a task, and a job may choose.
        prefix: how the names of the scheduler's own variables begin.
        node: the variable that names the node of a task.
    """

    task: tuple[str, ...] = ()
    shared: tuple[str, ...] = ()
    step: tuple[str, ...] = ()
    job: tuple[str, ...] = ()
    gpus: tuple[str, ...] = ()
    choice: tuple[str, ...] = ()
    prefix: str = ""
    node: str = "NODE_RANK"


class Looking(NamedTuple):
    """How preflight has a task on each node, and learns which of them has ended.

    Attributes:
        hosts: the command that names the nodes of a job, in order.
        shares: variables by which a job gives each task its share of a node. A task that
            is alone on its node is started without them.
        apart: options with which a task that fails does not take others along.
        ended: how it says that a task has ended: a regular expression with the groups
            ``host`` and ``how``, for its errors.
    """

    hosts: tuple[str, ...] = ("uname", "-n")
    shares: tuple[str, ...] = ()
    apart: tuple[str, ...] = ()
    ended: str = ""


class Starter(NamedTuple):
    """What is particular to a starter.

    Attributes:
        name: also that of its folder of modules.
        task: what a task of it is, for docs/launchers.md.
        names: its variables.
        looking: how preflight looks at nodes by it.
        bundled: the keys of a bundle that are for it, that of its program's options first;
            so is called the array of bash that holds them. None: no bundle counts with it.
        own: the section of a profile with options of its program, ``launch.OWN``; so are
            called the option ``--OWN-arg`` and the array of bash that holds them.
        pin: the options that bind ranks to the cores of masks, where the job has them:
            ``{masks}`` in hexadecimal, ``{cpus}`` as lists.
        unbuffered: options with which the ranks' lines come at once.
        pmi: how the option begins that says which PMI the ranks of MPI use.
        component_options: by which a step runs in another component of a heterogeneous job.
        ends_at_colon: a word ":" ends the command for its program, and begins another.
        starts_agents: it has an ``agent.sh``: one task per node, which starts the ranks.
        spans_nodes: it starts tasks on all nodes of a job, not on this one alone, where
            the host part says where ranks meet.
    """

    name: str
    task: str
    names: Names = Names()
    looking: Looking = Looking()
    bundled: tuple[str, ...] = ()
    own: str = ""
    pin: tuple[str, ...] = ()
    unbuffered: tuple[str, ...] = ()
    pmi: str | None = None
    component_options: tuple[str, ...] = ()
    ends_at_colon: bool = False
    starts_agents: bool = True
    spans_nodes: bool = True

    @property
    def sections(self) -> tuple[str, ...]:
        """Those of a profile that count with this starter alone."""
        found = {"bundles": self.bundled, self.own: self.own, "cpu_masks": self.pin}
        return tuple(name for name, counts in found.items() if counts)
