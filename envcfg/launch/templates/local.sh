# shellcheck shell=bash

envcfg_survey() { # this machine is the job
  ENVCFG_NODES=1
  if [[ -n $ENVCFG_NODES_STATED && $ENVCFG_NODES_STATED != "$ENVCFG_NODES" ]]; then
    envcfg_fault "made for $ENVCFG_NODES_STATED nodes, but --launcher local has one" \
      'leave out --fact nodes=...'
  fi
}

envcfg_host() { # COMMAND...: run it on this machine
  "$@"
}

envcfg_port() { # set MASTER_PORT to a free port below the ephemeral range
  local port=$((10000 + $$ % 20000))
  while (: </dev/tcp/127.0.0.1/"$port") 2>/dev/null; do port=$((port + 1)); done
  MASTER_PORT=$port
}

envcfg_launch() { # COMMAND...: the ranks are processes of this machine
  local rank ranks=${ENVCFG_RANKS:-1} MASTER_ADDR=${MASTER_ADDR:-127.0.0.1}
  local MASTER_PORT=${MASTER_PORT-}
  if [[ -z $MASTER_PORT ]]; then envcfg_port; fi
  for ((rank = 0; rank < ranks; rank++)); do
    if ((rank > 0)); then exec </dev/null; fi # what is typed goes to rank 0
    envcfg_spawn "${ENVCFG_ENTER[@]}" /bin/sh -c "$ENVCFG_RANK" envcfg-rank \
      "${ENVCFG_ARGS[@]}" "RANK=$rank" "LOCAL_RANK=$rank" "WORLD_SIZE=$ranks" \
      "LOCAL_WORLD_SIZE=$ranks" NODE_RANK=0 "MASTER_ADDR=$MASTER_ADDR" \
      "MASTER_PORT=$MASTER_PORT" -- "$@"
  done
  envcfg_wait
}
