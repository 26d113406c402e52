"""The ``mpiexec`` of a PBS job: that of PALS, of MPICH (Hydra) or of Open MPI."""

from __future__ import annotations

from envcfg.backends.starters.starter import Names, NodeTasks, Starter

STARTER = Starter(
    name="pbs",
    task="a rank, by `mpiexec` in a PBS job ([wrap.md](flux-and-pbs.md#pbs))",
    # ALCF's and NCAR's guides; mpiexec(1) of MPICH 4.0; mpirun(1) of Open MPI 4.1. Flux
    # and srun set some of them, too.
    names=Names(
        shared=(
            *("PALS_RANKID", "PALS_LOCAL_RANKID", "PMI_RANK", "MPI_LOCALRANKID"),
            *("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK"),
        )
    ),
    looking=NodeTasks(hosts=("sh", "-c", 'cat -- "$PBS_NODEFILE"')),
    bundled=("mpiexec",),
    own="mpiexec",
    pin=("--cpu-bind", "list:{cpus}", "-d", "{depth}"),
    ends_at_colon=True,
)
