# shellcheck shell=bash

envcfg_launch() { # COMMAND...: one task per rank
  local ranks=$ENVCFG_RANKS
  ENVCFG_SRUN=()
  if [[ -z $ranks && -z ${SLURM_NTASKS-}${SLURM_NPROCS-}${SLURM_NTASKS_PER_NODE-} ]]; then
    ranks=$(envcfg_gpus) # nobody said how many: one per GPU
  fi
  if [[ -n $ranks ]]; then
    ENVCFG_SRUN+=(--ntasks=$((ranks * ENVCFG_NODES)) --ntasks-per-node="$ranks")
  fi
  envcfg_pin
  envcfg_srun "$@"
}
