# shellcheck shell=bash

envcfg_pin() { # bind each rank to the cores next to its GPU, if the node is all ours
  local envcfg_key envcfg_value envcfg_allowed=''
  if [[ -n ${SLURM_CPU_BIND-} ]]; then return; fi # srun reads the user's own choice
  while IFS=$': \t' read -r envcfg_key envcfg_value; do
    if [[ $envcfg_key == Cpus_allowed ]]; then envcfg_allowed=$envcfg_value; fi
  done </proc/self/status
  if envcfg_covers "$envcfg_allowed"; then
    ENVCFG_SRUN+=("--cpu-bind=mask_cpu:$ENVCFG_MASKS")
    return
  fi
  envcfg_note 'ranks are not bound to the cores next to their GPUs: this job does not own a whole node'
  if [[ -n ${SLURM_CPUS_PER_TASK-} ]]; then
    ENVCFG_SRUN+=(--cpus-per-task="$SLURM_CPUS_PER_TASK")
  fi
}
