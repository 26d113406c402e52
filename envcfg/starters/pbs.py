"""The ``mpiexec`` of a PBS job: that of PALS, of MPICH (Hydra) or of Open MPI."""

from __future__ import annotations

from envcfg.starters.model import Starter

STARTER = Starter(
    name="pbs",
    # ALCF's and NCAR's guides; mpiexec(1) of MPICH 4.0; mpirun(1) of Open MPI 4.1. Flux
    # and srun set some of them, too.
    shared_names=(
        *("PALS_RANKID", "PALS_LOCAL_RANKID", "PMI_RANK", "MPI_LOCALRANKID"),
        *("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK"),
    ),
    sections=("bundles", "mpiexec", "cpu_masks"),
    bundled=("mpiexec",),
    ends_at_colon=True,
    own="mpiexec",
    pin=("--cpu-bind", "list:{cpus}"),
    starts_agents=True,
    keeps_hosts=True,
    node_names=("sh", "-c", 'cat -- "$PBS_NODEFILE"'),
)
