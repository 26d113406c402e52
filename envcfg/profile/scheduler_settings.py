"""The scheduler of a system, its requests and billing: the model; frozen data."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from envcfg.profile.conditions import ALWAYS, Condition
from envcfg.profile.job_facts import Reason

# The value of ``request.gpus`` for a system whose scheduler does not manage GPUs.
UNASKED = "none"


LIMITS_LAST = 183  # days after which a limit may have changed and refuses nothing


class Asking(NamedTuple):
    """The options that request nodes and GPUs.

    Attributes:
        scheduler: ``slurm``, ``flux``, ``pbs`` or ``none``.
        gpus: the option with the number of GPUs, such as ``--gres``; ``UNASKED``: a job
            gets all GPUs of its nodes, and cannot request any.
        gpu_type: the type in the option, as in ``--gres=gpu:a100:4``.
    """

    reason: Reason
    scheduler: str
    gpus: str | None = None
    gpu_type: str | None = None


class RequestRule(NamedTuple):
    """The scheduler's rule for one option.

    Attributes:
        rule: ``must`` be given, ``must not``, ``avoid``, or ``repeat`` on srun.
        value: the required form: a glob or an example.
        default: the right value for nearly all jobs; *others* are right for some.
        refused: whether a source states that the scheduler rejects such a job.
    """

    option: str
    rule: str
    reason: Reason
    value: str | None = None
    default: str | None = None
    others: tuple[str, ...] = ()
    refused: bool = False


class Size(NamedTuple):
    """The longest time of jobs of up to *nodes* nodes; *time* in Slurm's form."""

    nodes: int
    time: str


class Partition(NamedTuple):
    """A partition, or a queue, and its limits.

    Attributes:
        nodes: the most of a job, as for *gpus*; *min_nodes*, *min_gpus*: the fewest.
        time: the longest time, in Slurm's form.
        sizes: if the longest time depends on the nodes: by size, smallest first.
        exclusive: whether a job gets whole nodes.
        default: whether a job without a partition gets this one.
        is_old: its limits were not checked for long, so they refuse nothing.
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
        """Return the name used in messages."""
        return f"partition {self.name}"


class Qos(NamedTuple):
    """A quality of service; its limits override those of a partition.

    Attributes:
        partitions: the partitions where it applies; none: all.
        is_old: as for a partition.
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
        """Return the name used in messages."""
        return f"QOS {self.name}"


class EnvironmentModule(NamedTuple):
    """An environment module to ``load``, ``unload`` or ``use`` before the step."""

    name: str
    action: str
    reason: Reason
    when: Condition = ALWAYS


class Own(NamedTuple):
    """The accounts and queues that the user may use, according to the scheduler.

    Attributes:
        qos: the QOS of each account; an empty list allows any.
    """

    reason: Reason
    qos: Mapping[str, Sequence[str]]


class Billing(NamedTuple):
    """The cost of a job, in *unit* per hour; amounts are decimal numbers as written.

    Attributes:
        charge: ``gpus`` (GPUs alone), ``sum`` (of all parts), or ``largest share`` (the
            most of GPUs, cores / *cores_per_share* and GiB / *memory_per_share*).
        whole_shares: shares of cores and memory are rounded up to whole ones.
        whole_nodes: partitions that bill *per_node*, whatever the request.
        is_old: as for a partition, for prices.
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
