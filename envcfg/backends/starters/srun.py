"""Slurm's srun."""

from __future__ import annotations

from envcfg.backends.starters.starter import Names, NodeTasks, Starter

STARTER = Starter(
    name="srun",
    task="a rank",
    # srun(1), "OUTPUT ENVIRONMENT VARIABLES": those set for each task or step
    names=Names(
        task=("SLURM_PROCID", "SLURM_LOCALID", "SLURM_GTIDS", "SLURM_TASK_PID"),
        step=(
            *("SLURMD_NODENAME", "SLURM_CPUS_ON_NODE", "SLURM_NODEID", "SLURM_STEPID"),
            *("SLURM_STEP_GPUS", "SLURM_STEP_ID", "SLURM_STEP_NODELIST"),
            *("SLURM_STEP_NUM_NODES", "SLURM_STEP_NUM_TASKS"),
            *("SLURM_STEP_TASKS_PER_NODE", "SLURM_TOPOLOGY_ADDR"),
        ),
        job=("SLURM_JOB_ID",),
        gpus=("SLURM_GPUS_PER_NODE", "SLURM_GPUS_ON_NODE"),
        choice=("SLURM_CPU_BIND",),
        prefix="SLURM_",
        node="SLURMD_NODENAME",
    ),
    looking=NodeTasks(
        hosts=("scontrol", "show", "hostnames"),
        shares=(
            *("SLURM_GPUS_PER_TASK", "SLURM_TRES_PER_TASK", "SLURM_NTASKS_PER_GPU"),
            *("SLURM_GPU_BIND", "SLURM_TRES_BIND"),
        ),
        apart=("--kill-on-bad-exit=0", "--wait=0"),
        ended=r"srun: error: (?P<host>[\w.-]+): tasks? [\d,-]+: (?P<how>.*)",
    ),
    bundled=("srun", "network"),
    own="srun",
    pin=("--cpu-bind=mask_cpu:{masks}",),
    unbuffered=("--unbuffered",),
    pmi="--mpi=",
    # srun(1), heterogeneous steps; srun 22.05 also reads these options in the program.
    component_options=("--het-group", "--pack-group"),
    ends_at_colon=True,
    # srun(1), --gpu-bind: each of these options binds the tasks to GPUs by itself
    adds=('--cpus-per-task="$SLURM_CPUS_PER_TASK"', "--error=/dev/fd/N"),
    implies=dict.fromkeys(
        ("--gpus-per-task", "--ntasks-per-gpu", "--tres-per-task"), "--gpu-bind"
    ),
)
