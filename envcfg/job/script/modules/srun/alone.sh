# shellcheck shell=bash # srun/alone 2: Slurm: one task per node, with all GPUs and cores of the node
envcfg_alone() {
  local envcfg_tasks
  ENVCFG_SRUN+=(--ntasks="$ENVCFG_NODES" --ntasks-per-node=1)
  envcfg_whole
  if [[ -n ${SLURM_CPUS_PER_TASK-} ]]; then
    envcfg_tasks=$(envcfg_tasks)
    ENVCFG_SRUN+=(--cpus-per-task=$((SLURM_CPUS_PER_TASK * ${envcfg_tasks:-1})))
  fi
}
