"""What is particular to a starter; frozen data."""

from typing import NamedTuple


class Starter(NamedTuple):
    """What is particular to a starter.

    Attributes:
        name: also that of its folder of templates.
        task_names: what only a task knows of itself. Nobody can set it.
        shared_names: the same, but others may set it, too: fixed where this one starts
            the tasks.
        step_names: what it tells of the step and of the task's node. Nobody can set it.
        job_names: what the job has of it, and nobody can set.
        gpu_names: variables by which it tells a job how many GPUs a node has.
        choice_names: what it sets in a task, and a job may choose.
        prefix: how the names of the scheduler's own variables begin.
        node_name: the variable that names the node of a task.
        sections: of a profile, those that count with this starter alone.
        bundled: the keys of a bundle that are for it, that of its program's options first;
            so is called the array of bash that holds them. None: no bundle counts with it.
        ends_at_colon: a word ":" ends the command for its program, and begins another.
        component_options: by which a step runs in another component of a heterogeneous job.
        own: of its sections that with options of its program, ``launch.OWN``; so are
            called the option ``--OWN-arg`` and the array of bash that holds them.
        pin: the options that bind ranks to the cores of masks, where the job has them:
            ``{masks}`` in hexadecimal, ``{cpus}`` as lists.
        unbuffered: options with which the ranks' lines come at once.
        pmi: how the option begins that says by which PMI the ranks of MPI meet.
        starts_agents: it has an ``agent.sh``: one task per node, which starts the ranks.
        keeps_hosts: its host part has the job's nodes in ``ENVCFG_HOSTS``, in order, and
            the first in ``ENVCFG_MASTER_ADDR``.
        meets_outside: its host part says where ranks meet, not the rank part.
        spans_nodes: it starts tasks on all nodes of a job, not on this one alone.
        node_names: the command that names the nodes of a job, in order.
        share_names: by which a job gives each task its share of a node. A task that is
            alone on its node is started without them.
        apart: options with which a task that fails does not take others along.
        ended: how it says that a task has ended: a regular expression with the groups
            ``host`` and ``how``, for its errors.
    """

    name: str
    task_names: tuple[str, ...] = ()
    shared_names: tuple[str, ...] = ()
    step_names: tuple[str, ...] = ()
    job_names: tuple[str, ...] = ()
    gpu_names: tuple[str, ...] = ()
    choice_names: tuple[str, ...] = ()
    prefix: str = ""
    node_name: str = "NODE_RANK"
    sections: tuple[str, ...] = ()
    bundled: tuple[str, ...] = ()
    ends_at_colon: bool = False
    component_options: tuple[str, ...] = ()
    own: str = ""
    pin: tuple[str, ...] = ()
    unbuffered: tuple[str, ...] = ()
    pmi: str | None = None
    starts_agents: bool = False
    keeps_hosts: bool = False
    meets_outside: bool = False
    spans_nodes: bool = True
    node_names: tuple[str, ...] = ("uname", "-n")
    share_names: tuple[str, ...] = ()
    apart: tuple[str, ...] = ()
    ended: str = ""
