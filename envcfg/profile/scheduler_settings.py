"""The scheduler of a system, its requests and billing: the model; frozen data."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from envcfg.common.characters import Texts
from envcfg.profile.conditions import ALWAYS, Condition
from envcfg.profile.job_facts import Reason

# The value of ``request.gpus`` for a system whose scheduler does not manage GPUs.
UNASKED = "none"


LIMITS_LAST = 183  # days after which a limit may have changed and refuses nothing


class Asking(NamedTuple):
    """The options that request nodes and GPUs."""

    reason: Reason
    scheduler: str  # `slurm`, `flux`, `pbs` or `none`
    # The option with the number of GPUs, such as `--gres`; `UNASKED`: a job gets all
    # GPUs of its nodes, and cannot request any.
    gpus: str | None = None
    gpu_type: str | None = None  # the type in the option, as in `--gres=gpu:a100:4`


class RequestRule(NamedTuple):
    """The scheduler's rule for one option."""

    option: str
    rule: str  # `must` be given, `must not`, `avoid`, or `repeat` on srun
    reason: Reason
    value: str | None = None  # the required form: a glob or an example
    # The right value for nearly all jobs; *others* are right for some.
    default: str | None = None
    others: Texts = ()
    # Whether a source states that the scheduler rejects such a job.
    refused: bool = False


class Size(NamedTuple):
    """The longest time of jobs of up to *nodes* nodes; *time* in Slurm's form."""

    nodes: int
    time: str


class Partition(NamedTuple):
    """A partition, or a queue, and its limits."""

    name: str
    reason: Reason
    # The most of a job, as for *gpus*; *min_nodes*, *min_gpus*: the fewest.
    nodes: int | None = None
    time: str | None = None  # the longest time, in Slurm's form
    exclusive: bool | None = None  # whether a job gets whole nodes
    gpus: int | None = None
    min_nodes: int | None = None
    min_gpus: int | None = None
    # If the longest time depends on the nodes: by size, smallest first.
    sizes: tuple[Size, ...] = ()
    default: bool = False  # whether a job without a partition gets this one
    is_old: bool = False  # its limits were not checked for long, so they refuse nothing

    def __str__(self) -> str:
        """Return the name used in messages."""
        return f"partition {self.name}"


class Qos(NamedTuple):
    """A quality of service; its limits override those of a partition."""

    name: str
    reason: Reason
    nodes: int | None = None
    time: str | None = None
    gpus: int | None = None
    min_nodes: int | None = None
    min_gpus: int | None = None
    sizes: tuple[Size, ...] = ()
    partitions: Texts = ()  # the partitions where it applies; none: all
    is_old: bool = False  # as for a partition

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
    """The accounts and queues that the user may use, according to the scheduler."""

    reason: Reason
    # The QOS of each account; an empty list allows any.
    qos: Mapping[str, Sequence[str]]


class Billing(NamedTuple):
    """The cost of a job, in *unit* per hour; amounts are decimal numbers as written."""

    reason: Reason
    unit: str
    # `gpus` (GPUs alone), `sum` (of all parts), or `largest share` (the most of GPUs,
    # cores / *cores_per_share* and GiB / *memory_per_share*).
    charge: str
    per_gpu: str | None = None
    per_node: str | None = None
    per_core: str | None = None
    per_gib: str | None = None
    per_nvme_gib: str | None = None
    cores_per_share: int | None = None
    memory_per_share: int | None = None
    # Shares of cores and memory are rounded up to whole ones.
    whole_shares: bool = False
    # Partitions that bill *per_node*, whatever the request.
    whole_nodes: Texts = ()
    is_old: bool = False  # as for a partition, for prices
