# shellcheck shell=bash

envcfg_launch() { # COMMAND...: one task per node, in which torchrun starts the ranks
  local tasks ranks=$ENVCFG_RANKS
  if [[ -z $ranks ]]; then ranks=$(envcfg_gpus); fi
  ranks=${ranks:-$ENVCFG_GPUS}
  if [[ -z $ranks ]]; then
    envcfg_error 'how many ranks per node? neither the job nor the profile has GPUs' \
      'give --ranks N'
    return 2
  fi
  ENVCFG_SRUN=(--ntasks="$ENVCFG_NODES" --ntasks-per-node=1)
  if [[ -n ${SLURM_CPUS_PER_TASK-} ]]; then # one task gets the cores of all
    tasks=${SLURM_NTASKS_PER_NODE:-$((${SLURM_NTASKS:-$ENVCFG_NODES} / ENVCFG_NODES))}
    ENVCFG_SRUN+=(--cpus-per-task=$((SLURM_CPUS_PER_TASK * tasks)))
  fi
  ENVCFG_ARGS+=("ENVCFG_LOCAL_RANKS=$ranks" "ENVCFG_WORKER=$ENVCFG_WORKER")
  envcfg_srun "$@"
}
