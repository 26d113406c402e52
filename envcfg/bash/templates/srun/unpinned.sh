# shellcheck shell=bash

envcfg_pin() { # the profile has no CPU masks: srun's own binding, with the job's cores
  if [[ -n ${SLURM_CPUS_PER_TASK-} ]]; then
    ENVCFG_SRUN+=(--cpus-per-task="$SLURM_CPUS_PER_TASK") # some versions do not inherit it
  fi
}
