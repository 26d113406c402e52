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
  local port=$((10000 + BASHPID % 20000))
  while (: </dev/tcp/127.0.0.1/"$port") 2>/dev/null; do port=$((port + 1)); done
  MASTER_PORT=$port
}

envcfg_rank() { # COMMAND...: start one of the ranks
  envcfg_spawn "${ENVCFG_ENTER[@]}" /bin/sh -c "$ENVCFG_RANK" envcfg-rank \
    "MASTER_ADDR=$MASTER_ADDR" "MASTER_PORT=$MASTER_PORT" "${ENVCFG_ARGS[@]}" \
    "RANK=$rank" "LOCAL_RANK=$rank" "WORLD_SIZE=$ranks" "LOCAL_WORLD_SIZE=$ranks" \
    NODE_RANK=0 -- "$@"
}

envcfg_launch() { # COMMAND...: the ranks are processes of this machine
  local rank ranks=${ENVCFG_RANKS:-1} MASTER_ADDR=${MASTER_ADDR:-127.0.0.1}
  local MASTER_PORT=${MASTER_PORT-}
  if [[ -z $MASTER_PORT ]]; then envcfg_port; fi
  for ((rank = 0; rank < ranks; rank++)); do
    if ((rank == 0)); then
      envcfg_rank "$@" # what is typed goes to rank 0
    else
      envcfg_rank "$@" </dev/null
    fi
  done
  envcfg_listen
  envcfg_watch
}

# Looks at the ranks in growing intervals, as wait -n forgets children that end early.
envcfg_watch() { # wait for all ranks; the first that fails ends the others
  local pid code clock pause wait_ms=10 grace_ms=10000 status=0
  local -a running left=("${ENVCFG_PIDS[@]}")
  exec {clock}<> <(:) # nothing ever comes: to read it with a timeout waits, by no process
  while :; do
    running=()
    for pid in "${left[@]}"; do
      if kill -0 "$pid" 2>/dev/null; then
        running+=("$pid")
        continue
      fi
      code=0
      envcfg_wait "$pid" || code=$?
      if ((code != 0 && status == 0)); then
        status=$code
        envcfg_kill TERM
      fi
    done
    left=("${running[@]}")
    if ((${#left[@]} == 0)); then break; fi
    printf -v pause '0.%03d' "$wait_ms"
    read -r -t "$pause" -u "$clock" || :
    if ! kill -0 "$$" 2>/dev/null; then # the shell that wanted this is gone
      status=${status/#0/143}
      envcfg_kill TERM
    fi
    if ((status != 0 && (grace_ms -= wait_ms) <= 0)); then envcfg_kill KILL; fi
    if ((wait_ms < 300)); then wait_ms=$((wait_ms * 2)); fi
  done
  exec {clock}>&-
  return "$status"
}
