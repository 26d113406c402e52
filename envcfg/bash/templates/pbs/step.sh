# shellcheck shell=bash

envcfg_mpiexec() { # TASKS COMMAND...: the step itself, with so many tasks on each node
  local envcfg_number=${PBS_JOBID%%[!0-9]*} envcfg_behind=0
  local -a envcfg_task=()
  # The port is the job's and the step's own, below the ephemeral range.
  ENVCFG_ARGS+=("ENVCFG_DIALECT=$ENVCFG_DIALECT" "ENVCFG_TASKS=$1" "ENVCFG_STEP_NODES=$ENVCFG_NODES"
    "ENVCFG_STEP=${PBS_JOBID%%.*}.$BASHPID" "ENVCFG_MASTER_ADDR=$ENVCFG_MASTER_ADDR"
    "ENVCFG_MASTER_PORT=$((10000 + (10#${envcfg_number:-0} * 101 + BASHPID) % 20000))")
  shift
  # envcfg:begin colons
  envcfg_colons "$@"
  set -- "${ENVCFG_WORDS[@]}"
  # envcfg:end colons
  if envcfg_is_clean; then
    envcfg_behind=$((${#ENVCFG_ENTER[@]} + 4)) # the rank part's name
  fi
  if ((envcfg_behind > 0)) || [[ $ENVCFG_DIALECT == hydra ]]; then
    envcfg_task=(bash -c "$ENVCFG_TASK" envcfg-task "$envcfg_behind")
  fi
  envcfg_spawn exec mpiexec "${ENVCFG_SIZED[@]}" "${ENVCFG_MPIEXEC[@]}" "${envcfg_task[@]}" \
    "${ENVCFG_ENTER[@]}" "$ENVCFG_SHELL" -c "$ENVCFG_RANK" envcfg-rank "${ENVCFG_ARGS[@]}" -- "$@"
  envcfg_wait "${ENVCFG_PIDS[@]}"
}

envcfg_is_bound() { # whether the user has chosen a binding
  [[ -n ${PALS_CPU_BIND-} || " ${ENVCFG_MPIEXEC[*]-}" == *' -'*bind* ]]
}

envcfg_unbind() { # a task has all cores of the job; some mpiexec would give it one
  if envcfg_is_bound; then return; fi
  case $ENVCFG_DIALECT in
    pals) ENVCFG_SIZED+=(--cpu-bind none) ;;
    openmpi) ENVCFG_SIZED+=(--bind-to none) ;;
  esac
}
