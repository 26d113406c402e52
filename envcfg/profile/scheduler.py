"""What the scheduler of a system wants and bills: the model; frozen data."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from envcfg.profile.conditions import ALWAYS, Condition
from envcfg.profile.facts import Reason

# What ``request.gpus`` says of a system whose scheduler does not know its GPUs.
UNASKED = "none"


class Asking(NamedTuple):
    """How nodes and GPUs are asked for.

    Attributes:
        scheduler: ``slurm``, ``flux``, ``pbs`` or ``none``.
        gpus: the option that takes the number of GPUs, such as ``--gres``; ``UNASKED``: a
            job has all of its nodes', and none can be asked for.
        gpu_type: where the option wants it named, as in ``--gres=gpu:a100:4``.
    """

    reason: Reason
    scheduler: str
    gpus: str | None = None
    gpu_type: str | None = None


class RequestRule(NamedTuple):
    """What the scheduler makes of one option.

    Attributes:
        rule: ``must`` be given, ``must not``, ``avoid``, or ``repeat`` on srun.
        value: what it must look like: a glob or an example.
        default: what is right for nearly all jobs; *others* are right for some.
        refused: a source says that the scheduler takes no job that is against the rule.
    """

    option: str
    rule: str
    reason: Reason
    value: str | None = None
    default: str | None = None
    others: tuple[str, ...] = ()
    refused: bool = False


class Size(NamedTuple):
    """How long jobs of up to *nodes* nodes may run; *time* as Slurm writes it."""

    nodes: int
    time: str


class Partition(NamedTuple):
    """A partition, or a queue, and its limits.

    Attributes:
        nodes: the most of a job, as *gpus*; *min_nodes*, *min_gpus*: the fewest.
        time: the longest, as Slurm writes it.
        sizes: where the longest time depends on the nodes: by size, the smallest first.
        exclusive: whole nodes.
        default: a job that names none gets it.
        is_old: nobody has looked at its limits for long, so that they refuse nothing.
    """

    name: str
    reason: Reason
    nodes: int | None = None
    time: str | None = None
    exclusive: bool | None = None
    gpus: int | None = None
    min_nodes: int | None = None
    min_gpus: int | None = None
    sizes: tuple[Size, ...] = ()
    default: bool = False
    is_old: bool = False

    def __str__(self) -> str:
        """Return what messages call it."""
        return f"partition {self.name}"


class Qos(NamedTuple):
    """A quality of service; its limits, as a partition's, take the place of those.

    Attributes:
        partitions: those that it is for; none: all of them.
        is_old: as a partition's.
    """

    name: str
    reason: Reason
    nodes: int | None = None
    time: str | None = None
    gpus: int | None = None
    min_nodes: int | None = None
    min_gpus: int | None = None
    sizes: tuple[Size, ...] = ()
    partitions: tuple[str, ...] = ()
    is_old: bool = False

    def __str__(self) -> str:
        """Return what messages call it."""
        return f"QOS {self.name}"


class Module(NamedTuple):
    """An environment module to ``load``, ``unload`` or ``use`` before the step."""

    name: str
    action: str
    reason: Reason
    when: Condition = ALWAYS


class Own(NamedTuple):
    """What the user may name, as the scheduler here says.

    Attributes:
        qos: the QOS of each account; none where any goes.
    """

    reason: Reason
    qos: Mapping[str, Sequence[str]]


class Billing(NamedTuple):
    """What a job costs, in *unit* per hour; amounts are decimal numbers as written.

    Attributes:
        charge: ``gpus`` (GPUs alone), ``sum`` (of all parts), or ``largest share`` (the
            most of GPUs, cores / *cores_per_share* and GiB / *memory_per_share*).
        whole_shares: shares of cores and memory are rounded up to whole ones.
        whole_nodes: partitions that bill *per_node*, whatever was asked for.
        is_old: as a partition's, of prices.
    """

    reason: Reason
    unit: str
    charge: str
    per_gpu: str | None = None
    per_node: str | None = None
    per_core: str | None = None
    per_gib: str | None = None
    per_nvme_gib: str | None = None
    cores_per_share: int | None = None
    memory_per_share: int | None = None
    whole_shares: bool = False
    whole_nodes: tuple[str, ...] = ()
    is_old: bool = False
