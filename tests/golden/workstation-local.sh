#!/usr/bin/env bash
# envcfg:script f40aeaa2d47ec4308529d4a86bfa7d7cf7ed9efd32337391376d64896f797408
# shellcheck disable=SC1003,SC2016 # quoted texts are meant as they stand
# envcfg 0.1.0, profile workstation (sha256 bc86bcb8c6728fc2)
# made by: envcfg wrap --profile workstation --container none --ranks 2 -- python3 dump.py out 'a b'
# Source it in a batch script, evaluate it, run it, submit it: all the same.
# It needs bash 4.4 and, on the compute nodes, neither envcfg nor Python.

# --- What this job needs -----------------------------------------------------------

ENVCFG_NODES_STATED=''
ENVCFG_RANKS='2'

envcfg_settings() {
  :
}

# --- What each rank does first, inside the container -------------------------------

IFS= read -r -d '' ENVCFG_RANK <<'ENVCFG_TEXT' || : # read ends at the end of text
# A POSIX shell's own commands only: no process is started but the program's, except to
# make the caches once on each node.

while [ "$#" -gt 0 ]; do # NAME=VALUE | -u NAME, then -- COMMAND
  case $1 in
    --)
      shift
      break
      ;;
    -u)
      unset -v "$2"
      shift
      ;;
    *) export "${1?}" ;;
  esac
  shift
done

unset -v ENVCFG_PRESET ENVCFG_NODES ENVCFG_CACHE_BASE ENVCFG_LOCAL_RANKS \
  ENVCFG_MASTER_NODE ENVCFG_MASTER_ADDR
exec "$@"
ENVCFG_TEXT

# --- How a step is started ---------------------------------------------------------

envcfg_error() { # MESSAGE [HINT]
  printf 'envcfg: error: %s\n' "$1" >&2
  if [[ -n ${2-} ]]; then printf '  hint: %s\n' "$2" >&2; fi
}

envcfg_fault() { # MESSAGE [HINT]: an error; the step will not start, but the checks go on
  envcfg_error "$@"
  ENVCFG_FAULTS=$((ENVCFG_FAULTS + 1))
}

envcfg_spawn() { # COMMAND...: start it with this shell's input, interrupts at default
  (
    trap - INT QUIT
    exec "$@"
  ) <&0 &
  ENVCFG_PIDS+=("$!")
}

envcfg_kill() { # SIGNAL: send it to all that was spawned and still runs
  local pid
  for pid in "${ENVCFG_PIDS[@]}"; do
    kill -s "$1" "$pid" 2>/dev/null || :
  done
}

envcfg_relay() { # SIGNAL: pass it on; a terminal has sent its own to everybody already
  ENVCFG_SIGNAL=$1
  if [[ $1 != INT && $1 != QUIT || ! -t 0 ]]; then envcfg_kill "$1"; fi
}

envcfg_listen() { # pass on the signals that this shell gets
  local signal
  for signal in HUP INT QUIT TERM USR1 USR2; do
    # shellcheck disable=SC2064 # the name is meant to be written in now
    trap "envcfg_relay $signal" "$signal"
  done
}

envcfg_wait() { # PID: return its exit code, however often signals cut the wait short
  local code=0 later
  while :; do
    ENVCFG_SIGNAL=''
    later=0
    wait "$1" || later=$?
    if [[ $later != 127 || $code == 0 ]]; then code=$later; fi # 127: had it already
    if [[ -z $ENVCFG_SIGNAL ]]; then return "$code"; fi
  done
}

envcfg_step() { # COMMAND...: one step of the job, from the checks to the exit code
  local IFS=$' \t\n'
  if (($# == 0)); then
    envcfg_error 'no command' 'give it, as in envcfg_run python train.py'
    return 2
  elif ((BASH_VERSINFO[0] * 100 + BASH_VERSINFO[1] < 404)); then
    envcfg_error "bash $BASH_VERSION is too old" 'use bash 4.4 or newer'
    return 4
  fi
  ENVCFG_ARGS=()
  ENVCFG_PIDS=()
  ENVCFG_PRESET=' '
  ENVCFG_FAULTS=0
  envcfg_survey
  envcfg_enter
  if ((ENVCFG_FAULTS == 0)); then envcfg_settings; fi
  if ((ENVCFG_FAULTS > 0)); then return 4; fi
  ENVCFG_ARGS+=("ENVCFG_PRESET=$ENVCFG_PRESET")
  ENVCFG_CODE=0
  envcfg_launch "$@" || ENVCFG_CODE=$?
  trap - HUP INT QUIT TERM USR1 USR2
  return "$ENVCFG_CODE"
}

envcfg_run() { # COMMAND...: run one step; its exit code is the program's
  if [[ $BASHPID == "$$" ]]; then
    (envcfg_step "$@") # in a shell of its own, so that nothing of it stays in the job's
  else
    envcfg_step "$@" # this is such a shell: signals sent to it reach the program
  fi
}

envcfg_is_script() { # whether this text is being run as a file, not sourced or evaluated
  local line
  [[ -f $0 && -r $0 ]] || return 1
  while IFS= read -r line && [[ $line == '#'* ]]; do
    if [[ $line == '# envcfg:script '* ]]; then return 0; fi
  done <"$0"
  return 1
}

envcfg_main() { # COMMAND...: what this text is for; run as a file, its shell is the step's
  local envcfg_code=0
  if envcfg_is_script; then
    envcfg_step "$@" || envcfg_code=$?
  else
    envcfg_run "$@" || envcfg_code=$?
  fi
  return "$envcfg_code"
}

envcfg_enter() { # no container: nothing to enter
  ENVCFG_ENTER=()
}

envcfg_survey() { # this machine is the job
  ENVCFG_NODES=1
  if [[ -n $ENVCFG_NODES_STATED && $ENVCFG_NODES_STATED != "$ENVCFG_NODES" ]]; then
    envcfg_fault "made for $ENVCFG_NODES_STATED nodes, but --launcher local has one" \
      'leave out --fact nodes=...'
  fi
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

# --- Now do it ---------------------------------------------------------------------

envcfg_main python3 dump.py out 'a b'
