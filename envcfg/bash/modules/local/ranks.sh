# shellcheck shell=bash
# envcfg module local/ranks 1
# One process for each rank.

envcfg_rank() { # COMMAND...: start one of the ranks
  envcfg_spawn exec "${ENVCFG_ENTER[@]}" "$ENVCFG_SHELL" -c "$ENVCFG_RANK" envcfg-rank \
    "MASTER_ADDR=$MASTER_ADDR" "MASTER_PORT=$MASTER_PORT" "${ENVCFG_ARGS[@]}" \
    "RANK=$envcfg_rank" "LOCAL_RANK=$envcfg_rank" "WORLD_SIZE=$envcfg_ranks" "LOCAL_WORLD_SIZE=$envcfg_ranks" \
    NODE_RANK=0 -- "$@"
}

envcfg_launch() { # COMMAND...: the ranks are processes of this machine
  local envcfg_rank envcfg_ranks=${ENVCFG_RANKS:-1} MASTER_ADDR=${MASTER_ADDR:-127.0.0.1}
  local MASTER_PORT=${MASTER_PORT-}
  if [[ -z $MASTER_PORT ]]; then envcfg_port; fi
  envcfg_hand_on
  for ((envcfg_rank = 0; envcfg_rank < envcfg_ranks; envcfg_rank++)); do
    if ((envcfg_rank == 0)); then
      envcfg_rank "$@" # what is typed goes to rank 0
    else
      envcfg_rank "$@" </dev/null
    fi
  done
  envcfg_watch
}

# Looks at the ranks in growing intervals, as wait -n forgets children that end early.
envcfg_watch() { # wait for all ranks; the first that fails ends the others
  local envcfg_pid envcfg_code envcfg_pause envcfg_wait_ms=10 envcfg_grace_ms=10000 envcfg_status=0
  local -a envcfg_running envcfg_all
  if ((${#ENVCFG_PIDS[@]} < envcfg_ranks)); then # a signal came before the others
    envcfg_wait || envcfg_status=$?
    envcfg_kill TERM
  fi
  while :; do
    ENVCFG_HOLDS=watch
    jobs -pr >&"$ENVCFG_PIPE" # by bash's own book: a pid that is free again can be another's
    printf 'end\n' >&"$ENVCFG_PIPE"
    envcfg_running=() envcfg_pid='' envcfg_all=("${ENVCFG_PIDS[@]}")
    while [[ $envcfg_pid != end ]]; do
      read -r -u "$ENVCFG_PIPE" envcfg_pid
      if [[ $envcfg_pid == [0-9]* ]]; then envcfg_running+=("$envcfg_pid"); fi
    done
    ENVCFG_PIDS=("${envcfg_running[@]}")
    envcfg_release
    for envcfg_pid in "${envcfg_all[@]}"; do
      if [[ " ${envcfg_running[*]} " == *" $envcfg_pid "* ]]; then continue; fi
      envcfg_code=0
      envcfg_wait "$envcfg_pid" || envcfg_code=$?
      if ((envcfg_code != 0 && envcfg_status == 0)); then
        envcfg_status=$envcfg_code
        envcfg_kill TERM
      fi
    done
    if ((${#ENVCFG_PIDS[@]} == 0)); then return "$envcfg_status"; fi
    printf -v envcfg_pause '0.%03d' "$envcfg_wait_ms"
    ENVCFG_HOLDS=watch
    read -r -t "$envcfg_pause" -u "$ENVCFG_PIPE" || : # only signals say something: to wait, by no process
    envcfg_release
    if ((envcfg_status == 0)) && ! kill -0 "$$" 2>/dev/null; then
      envcfg_status=143 # the shell that wanted this is gone
      envcfg_kill TERM
    fi
    if ((envcfg_status != 0 && (envcfg_grace_ms -= envcfg_wait_ms) <= 0)); then envcfg_kill KILL; fi
    if ((envcfg_wait_ms < 300)); then envcfg_wait_ms=$((envcfg_wait_ms * 2)); fi
  done
}

ENVCFG_RANK+=$'envcfg_inside\n'
