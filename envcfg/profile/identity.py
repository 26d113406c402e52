"""Which variables are known in a task only, and which of them nobody can set; pure data."""

from __future__ import annotations

# What envcfg tells each rank of itself.
RANK = frozenset("RANK LOCAL_RANK WORLD_SIZE LOCAL_WORLD_SIZE".split())
# What it tells all of a node; where to meet, the job may choose.
NODE = frozenset("NODE_RANK MASTER_ADDR MASTER_PORT ENVCFG_CACHE".split())
# The launcher's identity of a task: of a rank, unless that task starts several.
TASK = frozenset(
    "SLURM_PROCID SLURM_LOCALID SLURM_GTIDS SLURM_TASK_PID "
    "FLUX_TASK_RANK FLUX_TASK_LOCAL_ID".split()
)
# What the launcher says of the step and of the task's node.
STEP = frozenset(
    # srun(1), "OUTPUT ENVIRONMENT VARIABLES": those set for each task or step
    "SLURMD_NODENAME SLURM_CPUS_ON_NODE SLURM_NODEID SLURM_STEPID SLURM_STEP_GPUS "
    "SLURM_STEP_ID SLURM_STEP_NODELIST SLURM_STEP_NUM_NODES SLURM_STEP_NUM_TASKS "
    "SLURM_STEP_TASKS_PER_NODE SLURM_TOPOLOGY_ADDR "
    # flux-environment(7), "JOB ENVIRONMENT"
    "FLUX_JOB_ID FLUX_JOB_SIZE FLUX_JOB_NNODES FLUX_JOB_TMPDIR".split()
)
# What the scheduler sets in a task by its cores and GPUs; a job may choose.
CHOICE = frozenset(
    "SLURM_CPU_BIND CUDA_VISIBLE_DEVICES GPU_DEVICE_ORDINAL HIP_VISIBLE_DEVICES "
    "ROCR_VISIBLE_DEVICES ZE_AFFINITY_MASK".split()
)
# Nobody can set these: the rank part follows them, and the number of the job.
FIXED = RANK | TASK | STEP | {"NODE_RANK", "SLURM_JOB_ID"}
INSIDE = RANK | NODE | TASK | STEP | CHOICE
