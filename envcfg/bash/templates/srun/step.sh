# shellcheck shell=bash

envcfg_srun() { # COMMAND...: the step itself
  local -a envcfg_task=()
  if envcfg_is_clean; then
    # The words up to the rank part's name, then what srun told this task, then the rest.
    envcfg_task=(bash -c "$ENVCFG_TASK" envcfg-task $((${#ENVCFG_ENTER[@]} + 4)))
  fi
  # envcfg:begin size
  if [[ -n $ENVCFG_NODES_WANTED ]]; then
    ENVCFG_SRUN+=(--nodes="$ENVCFG_NODES")
    unset -v SLURM_GPUS # how many the job has on all its nodes
  fi
  # envcfg:end size
  # envcfg:begin colons
  envcfg_colons "$@"
  set -- "${ENVCFG_WORDS[@]}"
  # envcfg:end colons
  envcfg_spawn exec srun --kill-on-bad-exit=1 --export=ALL "${ENVCFG_SRUN[@]}" "${envcfg_task[@]}" \
    "${ENVCFG_ENTER[@]}" "$ENVCFG_SHELL" -c "$ENVCFG_RANK" envcfg-rank "${ENVCFG_ARGS[@]}" -- "$@"
  envcfg_wait "${ENVCFG_PIDS[@]}"
}
