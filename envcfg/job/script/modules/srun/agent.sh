# shellcheck shell=bash # srun/agent 5: Slurm: one task per node, in which an agent starts the ranks
# needs: srun/alone; reads: ENVCFG_CPU_MASKS ENVCFG_GPUS ENVCFG_RANKS ENVCFG_UNBOUND
envcfg_launch() { # COMMAND...
  local envcfg_ranks=$ENVCFG_RANKS
  if [[ -z $envcfg_ranks ]]; then envcfg_ranks=$(envcfg_gpus); fi
  envcfg_ranks=${envcfg_ranks:-$ENVCFG_GPUS}
  if [[ -z $envcfg_ranks || $envcfg_ranks == 0 ]]; then
    envcfg_error 'how many ranks per node? neither the job nor the profile has GPUs' 'give --ranks N'
    return 2
  fi
  envcfg_alone
  unset -v ENVCFG_CORES # of an outer step
  if [[ -n ${SLURM_CPU_BIND-} || " ${ENVCFG_SRUN[*]}" == *' --cpu-bind'* ]]; then
    :                                # the user's own binding
  elif [[ -z $ENVCFG_WORKER ]]; then # a program that starts its own ranks
    if [[ -n $ENVCFG_CPU_MASKS ]]; then envcfg_tell_cores; fi
  elif [[ -n $ENVCFG_CPU_MASKS$ENVCFG_UNBOUND ]] && envcfg_may_pin "$envcfg_ranks"; then
    ENVCFG_ARGS+=("ENVCFG_CORES=$ENVCFG_CPU_MASKS")
    envcfg_set_threads
  fi
  ENVCFG_ARGS+=("ENVCFG_LOCAL_RANKS=$envcfg_ranks" "ENVCFG_WORKER=$ENVCFG_WORKER")
  envcfg_srun "$@"
}
