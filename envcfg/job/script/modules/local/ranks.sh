# shellcheck shell=bash # local/ranks 2: this machine: one process for each rank
# reads: ENVCFG_RANKS ENVCFG_RANK_SHELL
# launch: ENTER SHELL -c "$ENVCFG_RANK" envcfg-rank "MASTER_ADDR=$MASTER_ADDR" "MASTER_PORT=$MASTER_PORT" "${ENVCFG_ARGS[@]}" "RANK=$envcfg_rank" "LOCAL_RANK=$envcfg_rank" "WORLD_SIZE=$envcfg_ranks" "LOCAL_WORLD_SIZE=$envcfg_ranks" NODE_RANK=0 -- COMMAND
envcfg_rank() { # COMMAND...: start one of the ranks
  envcfg_spawn exec "${ENVCFG_ENTER[@]}" "$ENVCFG_RANK_SHELL" -c "$ENVCFG_RANK" envcfg-rank \
    "MASTER_ADDR=$MASTER_ADDR" "MASTER_PORT=$MASTER_PORT" "${ENVCFG_ARGS[@]}" \
    "RANK=$envcfg_rank" "LOCAL_RANK=$envcfg_rank" "WORLD_SIZE=$envcfg_ranks" "LOCAL_WORLD_SIZE=$envcfg_ranks" \
    NODE_RANK=0 -- "$@"
}

envcfg_launch() { # COMMAND...: the ranks are processes of this machine
  local envcfg_rank envcfg_ranks=${ENVCFG_RANKS:-1} MASTER_ADDR=${MASTER_ADDR:-127.0.0.1}
  local MASTER_PORT=${MASTER_PORT-}
  if [[ -z $MASTER_PORT ]]; then envcfg_port; fi
  envcfg_hand_on
  ENVCFG_TELL=envcfg_reach
  for ((envcfg_rank = 0; envcfg_rank < envcfg_ranks; envcfg_rank++)); do
    if envcfg_is_alone; then ENVCFG_CAUGHT+='TERM '; fi # then nothing is started any more
    if ((envcfg_rank == 0)); then
      envcfg_rank "$@" # what is typed goes to rank 0
    else
      envcfg_rank "$@" </dev/null
    fi
  done
  envcfg_watch "$envcfg_ranks"
}

ENVCFG_RANK+=$(\builtin declare -f envcfg_rank_settings)$'\nenvcfg_rank_settings\n'
