# shellcheck shell=bash

envcfg_launch() { # COMMAND...: one task per rank
  local envcfg_ranks=$ENVCFG_RANKS
  if [[ -z $envcfg_ranks && -z ${SLURM_NTASKS-}${SLURM_NPROCS-}${SLURM_NTASKS_PER_NODE-} ]]; then
    envcfg_ranks=$(envcfg_gpus) # nobody said how many: one per GPU
  fi
  if [[ -n $envcfg_ranks ]]; then
    ENVCFG_SRUN+=(--ntasks=$((envcfg_ranks * ENVCFG_NODES)) --ntasks-per-node="$envcfg_ranks")
  fi
  envcfg_pin
  envcfg_srun "$@"
}
