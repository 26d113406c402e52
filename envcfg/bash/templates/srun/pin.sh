# shellcheck shell=bash

envcfg_pin() { # bind each rank to the cores next to its GPU, if the node is all ours
  # The user's own choice srun reads by itself.
  if [[ -n ${SLURM_CPU_BIND-} ]]; then return; fi
  if envcfg_owns_masks; then
    ENVCFG_SRUN+=("--cpu-bind=mask_cpu:$ENVCFG_MASKS")
    return
  fi
  envcfg_note 'ranks are not bound to the cores next to their GPUs: this job does not own a whole node'
  if [[ -n ${SLURM_CPUS_PER_TASK-} ]]; then
    ENVCFG_SRUN+=(--cpus-per-task="$SLURM_CPUS_PER_TASK")
  fi
}
