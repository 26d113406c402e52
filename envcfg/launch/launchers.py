"""What each launcher makes of a task; pure data.

A launcher that starts ranks itself is an agent: one task per node. The others are one task
per rank, to which ``templates/launch_NAME.sh`` may add what their library reads.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from envcfg.profile.launchers import LAUNCHERS


class Launcher(NamedTuple):
    """What is particular to a launcher.

    Attributes:
        is_agent: one task per node, which starts the ranks in it.
        sets: variables that its template gives to each rank, unless the job sets them.
        starters: who can start its tasks.
    """

    is_agent: bool = False
    sets: tuple[str, ...] = ()
    starters: tuple[str, ...] = ("srun", "flux", "local")


_AGENT_STARTERS = ("srun", "local")
# Above each: what its program or library reads.
_PARTICULAR: Mapping[str, Launcher] = {
    # options of torch.distributed.run (PyTorch 2.13)
    "torchrun": Launcher(
        is_agent=True,
        starters=_AGENT_STARTERS,
    ),
    # options of accelerate launch (1.15, commands/launch.py, utils/launch.py)
    "accelerate": Launcher(
        is_agent=True,
        starters=_AGENT_STARTERS,
    ),
    # what its own launcher sets (DeepSpeed 0.19.8, launcher/launch.py)
    "deepspeed": Launcher(
        sets=("LOCAL_SIZE", "CROSS_RANK", "CROSS_SIZE"),
    ),
    # what horovodrun sets (Horovod 0.28.1, runner/gloo_run.py)
    "horovod": Launcher(
        sets=(
            *("HOROVOD_HOSTNAME", "HOROVOD_RANK", "HOROVOD_SIZE", "HOROVOD_LOCAL_RANK"),
            *("HOROVOD_LOCAL_SIZE", "HOROVOD_CROSS_RANK", "HOROVOD_CROSS_SIZE"),
            *("HOROVOD_CONTROLLER", "HOROVOD_CPU_OPERATIONS", "HOROVOD_GLOO_IFACE"),
            *("HOROVOD_GLOO_RENDEZVOUS_ADDR", "HOROVOD_GLOO_RENDEZVOUS_PORT"),
        ),
    ),
    # jax.distributed.initialize() (JAX 0.10.2, distributed.py, slurm_cluster.py)
    "jax": Launcher(
        sets=("JAX_COORDINATOR_ADDRESS", "JAX_LOCAL_DEVICE_IDS"),
        starters=("srun",),
    ),
    # the cluster environments of Lightning (2.6.6, environments/slurm.py)
    "lightning": Launcher(
        sets=("SLURM_NTASKS_PER_NODE",),
    ),
    "mpi": Launcher(starters=("srun",)),
}
KINDS: Mapping[str, Launcher] = {
    name: _PARTICULAR.get(name, Launcher()) for name in LAUNCHERS
}
