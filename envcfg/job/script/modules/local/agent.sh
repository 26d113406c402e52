# shellcheck shell=bash # local/agent 2: this machine: one process, in which an agent starts the ranks
# reads: ENVCFG_RANKS ENVCFG_RANK_SHELL
# launch: ENTER SHELL -c "$ENVCFG_RANK" envcfg-rank "MASTER_ADDR=$MASTER_ADDR" "MASTER_PORT=$MASTER_PORT" "${ENVCFG_ARGS[@]}" NODE_RANK=0 -- COMMAND
envcfg_launch() { # COMMAND...: one task on this machine, in which an agent starts the ranks
  local MASTER_ADDR=${MASTER_ADDR:-127.0.0.1} MASTER_PORT=${MASTER_PORT-}
  if [[ -z $MASTER_PORT ]]; then envcfg_port; fi
  envcfg_hand_on
  ENVCFG_ARGS+=("ENVCFG_LOCAL_RANKS=${ENVCFG_RANKS:-1}" "ENVCFG_WORKER=$ENVCFG_WORKER")
  ENVCFG_TELL=envcfg_reach
  envcfg_spawn exec "${ENVCFG_ENTER[@]}" "$ENVCFG_RANK_SHELL" -c "$ENVCFG_RANK" envcfg-rank \
    "MASTER_ADDR=$MASTER_ADDR" "MASTER_PORT=$MASTER_PORT" "${ENVCFG_ARGS[@]}" NODE_RANK=0 -- "$@"
  envcfg_watch 1
}
