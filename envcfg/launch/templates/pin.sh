# shellcheck shell=bash

envcfg_pin() { # bind each rank to the cores next to its GPU, if the node is all ours
  local key value allowed=''
  if [[ -n ${SLURM_CPU_BIND-} ]]; then return; fi # srun reads the user's own choice
  while IFS=$': \t' read -r key value; do
    if [[ $key == Cpus_allowed ]]; then allowed=$value; fi
  done </proc/self/status
  if envcfg_covers "$allowed"; then
    ENVCFG_SRUN+=("--cpu-bind=mask_cpu:$ENVCFG_MASKS")
    return
  fi
  envcfg_note 'ranks are not bound to the cores next to their GPUs: this job does not own a whole node'
  if [[ -n ${SLURM_CPUS_PER_TASK-} ]]; then
    ENVCFG_SRUN+=(--cpus-per-task="$SLURM_CPUS_PER_TASK")
  fi
}

envcfg_covers() { # ALLOWED: whether these CPUs hold all masks; groups of 32 bits, in hex
  local -a need allowed
  local i group
  IFS=, read -r -a need <<<"$ENVCFG_MASKS_UNION"
  IFS=, read -r -a allowed <<<"$1"
  for ((i = 1; i <= ${#need[@]}; i++)); do
    group=0
    if ((i <= ${#allowed[@]})); then group=${allowed[-i]}; fi
    if (((16#$group & 16#${need[-i]}) != 16#${need[-i]})); then return 1; fi
  done
}
