# shellcheck shell=bash
# envcfg module srun/alone 1
# One task of srun for each node, which has all of it.

envcfg_alone() { # one task per node, which gets the GPUs and the cores of all
  local envcfg_tasks
  ENVCFG_SRUN+=(--ntasks="$ENVCFG_NODES" --ntasks-per-node=1)
  envcfg_whole
  if [[ -n ${SLURM_CPUS_PER_TASK-} ]]; then
    envcfg_tasks=$(envcfg_tasks)
    ENVCFG_SRUN+=(--cpus-per-task=$((SLURM_CPUS_PER_TASK * ${envcfg_tasks:-1})))
  fi
}
