"""Slurm's srun."""

from __future__ import annotations

from envcfg.starters.model import Starter

STARTER = Starter(
    name="srun",
    # srun(1), "OUTPUT ENVIRONMENT VARIABLES": those set for each task or step
    task_names=("SLURM_PROCID", "SLURM_LOCALID", "SLURM_GTIDS", "SLURM_TASK_PID"),
    step_names=(
        *("SLURMD_NODENAME", "SLURM_CPUS_ON_NODE", "SLURM_NODEID", "SLURM_STEPID"),
        *("SLURM_STEP_GPUS", "SLURM_STEP_ID", "SLURM_STEP_NODELIST"),
        *("SLURM_STEP_NUM_NODES", "SLURM_STEP_NUM_TASKS", "SLURM_STEP_TASKS_PER_NODE"),
        "SLURM_TOPOLOGY_ADDR",
    ),
    job_names=("SLURM_JOB_ID",),
    gpu_names=("SLURM_GPUS_PER_NODE", "SLURM_GPUS_ON_NODE"),
    choice_names=("SLURM_CPU_BIND",),
    prefix="SLURM_",
    node_name="SLURMD_NODENAME",
    sections=("bundles", "srun", "cpu_masks"),
    bundled=("srun", "network"),
    # of srun(1), heterogeneous steps; 22.05 looks at the words of the program, too
    ends_at_colon=True,
    component_options=("--het-group", "--pack-group"),
    own="srun",
    pin=("--cpu-bind=mask_cpu:{masks}",),
    unbuffered=("--unbuffered",),
    pmi="--mpi=",
    starts_agents=True,
    node_names=("scontrol", "show", "hostnames"),
    share_names=(
        *("SLURM_GPUS_PER_TASK", "SLURM_TRES_PER_TASK", "SLURM_NTASKS_PER_GPU"),
        *("SLURM_GPU_BIND", "SLURM_TRES_BIND"),
    ),
    apart=("--kill-on-bad-exit=0", "--wait=0"),
    ended=r"srun: error: (?P<host>[\w.-]+): tasks? [\d,-]+: (?P<how>.*)",
)
