# shellcheck shell=bash # srun/ranks 5: Slurm: start one task for each rank
# reads: ENVCFG_AS_SAID ENVCFG_CPU_MASKS ENVCFG_RANKS ENVCFG_UNBOUND
envcfg_launch() { # COMMAND...
  local envcfg_ranks=$ENVCFG_RANKS envcfg_gpus envcfg_tasks='' envcfg_masks=${ENVCFG_CPU_MASKS//[!,]/}
  envcfg_masks=$((${#envcfg_masks} + 1))
  envcfg_gpus=$(envcfg_gpus)
  if [[ " ${ENVCFG_SRUN[*]}" != *' --ntasks'* && " ${ENVCFG_SRUN[*]}" != *' -n'* ]]; then # not the user's options
    envcfg_tasks=$(envcfg_tasks)
    if [[ -n $ENVCFG_AS_SAID ]]; then
      : # srun reads the rest of what was said itself
    elif [[ -z $envcfg_ranks && -z ${SLURM_NTASKS:-${SLURM_NPROCS-}} ]]; then
      # By tasks per node alone srun may start one. Where nobody said: one per GPU.
      envcfg_ranks=${envcfg_tasks:-${envcfg_gpus#0}}
    elif [[ -n $ENVCFG_NODES_WANTED ]]; then # as many per node as in the whole job
      envcfg_ranks=${envcfg_ranks:-$envcfg_tasks}
    fi
  fi
  if [[ -n $envcfg_ranks ]]; then
    ENVCFG_SRUN+=(--ntasks=$((envcfg_ranks * ENVCFG_NODES)) --ntasks-per-node="$envcfg_ranks")
    envcfg_tasks=$envcfg_ranks
  fi
  if [[ -n $ENVCFG_AS_SAID ]] || ((${envcfg_tasks:-0} == 0 || ${envcfg_gpus:-0} == 0 || envcfg_tasks == envcfg_gpus)); then
    : # as many ranks as GPUs, or not known here
  elif ((envcfg_tasks < envcfg_gpus)); then
    envcfg_note "$envcfg_tasks ranks per node, but $envcfg_gpus GPUs: the others idle, unless a rank takes several"
  elif [[ -z $ENVCFG_RANKS ]]; then
    envcfg_error "$envcfg_tasks tasks per node, but $envcfg_gpus GPUs: no two ranks can share one in NCCL or RCCL" \
      "ask for --ntasks-per-node=$envcfg_gpus, or give --ranks $envcfg_tasks if that is meant"
    return 2
  fi
  if [[ -n $ENVCFG_CPU_MASKS$ENVCFG_UNBOUND && (-n ${SLURM_CPU_BIND-} || " ${ENVCFG_SRUN[*]}" == *' --cpu-bind'*) ]]; then
    : # the user's own binding
  elif [[ -n $ENVCFG_CPU_MASKS$ENVCFG_UNBOUND && (-z $ENVCFG_AS_SAID || $envcfg_tasks == "$envcfg_masks") ]] && envcfg_may_pin "$envcfg_tasks"; then
    ENVCFG_SRUN+=("--cpu-bind=mask_cpu:$ENVCFG_CPU_MASKS")
    envcfg_set_threads
  elif [[ " ${ENVCFG_SRUN[*]}" == *' --cpus-per-task'* || " ${ENVCFG_SRUN[*]}" == *' -c'* ]]; then
    : # the user's own number of cores
  elif [[ -n ${SLURM_CPUS_PER_TASK-} ]]; then
    ENVCFG_SRUN+=(--cpus-per-task="$SLURM_CPUS_PER_TASK") # some versions do not inherit it
  fi
  envcfg_srun "$@"
}

ENVCFG_RANK+=$(\builtin declare -f envcfg_rank_settings)$'\nenvcfg_rank_settings\n'
