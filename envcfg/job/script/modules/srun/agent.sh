# shellcheck shell=bash # srun/agent 2: Slurm: one task per node, in which an agent starts the ranks
# needs: srun/alone; reads: ENVCFG_GPUS ENVCFG_RANKS
envcfg_launch() { # COMMAND...
  local envcfg_ranks=$ENVCFG_RANKS
  if [[ -z $envcfg_ranks ]]; then envcfg_ranks=$(envcfg_gpus); fi
  envcfg_ranks=${envcfg_ranks:-$ENVCFG_GPUS}
  if [[ -z $envcfg_ranks || $envcfg_ranks == 0 ]]; then
    envcfg_error 'how many ranks per node? neither the job nor the profile has GPUs' 'give --ranks N'
    return 2
  fi
  envcfg_alone
  ENVCFG_ARGS+=("ENVCFG_LOCAL_RANKS=$envcfg_ranks" "ENVCFG_WORKER=$ENVCFG_WORKER")
  envcfg_srun "$@"
}
