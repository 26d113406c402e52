# shellcheck shell=bash

envcfg_fits() { # RANKS GPUS, per node: what is sure to fail ends here, what is idle is said
  if [[ -z $1 || -z $2 || $2 == 0 || $1 == "$2" ]]; then
    return 0
  elif (($1 < $2)); then
    envcfg_note "$1 ranks per node, but $2 GPUs: the others idle, unless a rank takes several"
  elif [[ -z $ENVCFG_RANKS ]]; then
    envcfg_error "$1 tasks per node, but $2 GPUs: no two ranks can share one in NCCL or RCCL" \
      "ask for --ntasks-per-node=$2, or give --ranks $1 if that is meant"
    return 2
  fi
}

envcfg_is_sized() { # whether options of the user say how many tasks there are
  [[ " ${ENVCFG_SRUN[*]}" == *' --ntasks'* || " ${ENVCFG_SRUN[*]}" == *' -n'* ]]
}

envcfg_launch() { # COMMAND...: one task per rank
  local envcfg_ranks=$ENVCFG_RANKS envcfg_gpus envcfg_tasks=''
  envcfg_gpus=$(envcfg_gpus)
  if ! envcfg_is_sized; then
    envcfg_tasks=$(envcfg_tasks)
    if [[ -z $envcfg_ranks && -z ${SLURM_NTASKS:-${SLURM_NPROCS-}} ]]; then
      # By tasks per node alone srun may start one. Where nobody said: one per GPU.
      envcfg_ranks=${envcfg_tasks:-${envcfg_gpus#0}}
    fi
  fi
  # envcfg:begin size
  if [[ -n $ENVCFG_NODES_WANTED ]]; then # as many per node as in the whole job
    envcfg_ranks=${envcfg_ranks:-$envcfg_tasks}
  fi
  # envcfg:end size
  if [[ -n $envcfg_ranks ]]; then
    ENVCFG_SRUN+=(--ntasks=$((envcfg_ranks * ENVCFG_NODES)) --ntasks-per-node="$envcfg_ranks")
  fi
  envcfg_fits "${envcfg_ranks:-$envcfg_tasks}" "$envcfg_gpus" || return
  envcfg_pin
  envcfg_srun "$@"
}
