#!/usr/bin/env bash
# envcfg:script 5ed8e3865582bff30431aa2ec5b2a27f0fbe9d36d80bcc89e78956fb4c0f7492
# shellcheck disable=SC1003,SC2016 # quoted texts are meant as they stand
# envcfg 0.1.0, profile workstation (sha256 026d5474f27c3eb6)
# made by: envcfg wrap --profile workstation --container none
# Source it in a batch script, evaluate it, run it, submit it: all the same.
# It needs bash 4.4 and, on the compute nodes, neither envcfg nor Python.

# --- What this job needs -----------------------------------------------------------

ENVCFG_NODES_STATED=''
ENVCFG_RANKS=''
ENVCFG_SHELL='/bin/sh'

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
  local envcfg_pid
  for envcfg_pid in "${ENVCFG_PIDS[@]}"; do
    kill -s "$1" "$envcfg_pid" 2>/dev/null || :
  done
}

envcfg_relay() { # SIGNAL: pass it on; a terminal has sent its own to everybody already
  ENVCFG_SIGNAL=$1
  if [[ $1 != INT && $1 != QUIT || ! -t 0 ]]; then envcfg_kill "$1"; fi
}

envcfg_listen() { # pass on the signals that this shell gets
  local envcfg_signal
  for envcfg_signal in HUP INT QUIT TERM USR1 USR2; do
    # shellcheck disable=SC2064 # the name is meant to be written in now
    trap "envcfg_relay $envcfg_signal" "$envcfg_signal"
  done
}

envcfg_wait() { # PID: return its exit code, however often signals cut the wait short
  local envcfg_code='' envcfg_later
  while :; do
    ENVCFG_SIGNAL=''
    envcfg_later=0
    wait "$1" || envcfg_later=$?
    if [[ $envcfg_later != 127 || -z $envcfg_code ]]; then envcfg_code=$envcfg_later; fi # 127: had it already
    if [[ -z $ENVCFG_SIGNAL ]]; then return "$envcfg_code"; fi
  done
}

envcfg_size() { # OPTION: of a step that is smaller than the job
  if [[ ${1#*=} == *[!0-9]* || ${1#*=} == '' || ${1#*=} == 0* ]]; then
    envcfg_fault "$1 is no number of ${1%%=*}" 'as in envcfg_run --nodes=1 --ranks=1 -- COMMAND'
  elif [[ $1 == --nodes=* ]]; then
    ENVCFG_NODES_WANTED=${1#*=}
  else
    ENVCFG_RANKS=${1#*=}
  fi
}

envcfg_shrink() { # to the nodes of this step, if it was given a number
  if [[ -z $ENVCFG_NODES_WANTED || $ENVCFG_NODES_WANTED == "$ENVCFG_NODES" ]]; then
    return
  elif ((ENVCFG_NODES_WANTED > ENVCFG_NODES)); then
    envcfg_fault "a step of $ENVCFG_NODES_WANTED nodes, but the job has $ENVCFG_NODES" 'give fewer: --nodes=N'
  elif [[ -n $ENVCFG_NODES_STATED ]]; then
    envcfg_fault "a step of $ENVCFG_NODES_WANTED nodes, but this was made for $ENVCFG_NODES_STATED" \
      'leave out --fact nodes=..., then each step decides'
  fi
  ENVCFG_NODES=$ENVCFG_NODES_WANTED
}

envcfg_step() { # COMMAND...: one step of the job, from the checks to the exit code
  local IFS=$' \t\n'
  ENVCFG_FAULTS=0
  local ENVCFG_RANKS=$ENVCFG_RANKS ENVCFG_NODES_WANTED=''
  while [[ ${1-} == --nodes=* || ${1-} == --ranks=* ]]; do
    envcfg_size "$1"
    shift
  done
  if [[ ${1-} == -- ]]; then
    shift
  elif [[ ${1-} == -* ]]; then
    envcfg_error "unknown option $1" 'as in envcfg_run --nodes=1 --ranks=1 -- COMMAND'
    return 2
  fi
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
  envcfg_survey
  envcfg_shrink
  envcfg_enter
  if ((ENVCFG_FAULTS == 0)); then envcfg_settings; fi
  if ((ENVCFG_FAULTS > 0)); then return 4; fi
  ENVCFG_ARGS+=("ENVCFG_PRESET=$ENVCFG_PRESET")
  ENVCFG_CODE=0
  envcfg_launch "$@" || ENVCFG_CODE=$?
  trap - HUP INT QUIT TERM USR1 USR2
  return "$ENVCFG_CODE"
}

envcfg_run() { # [--nodes=N] [--ranks=N] [--] COMMAND...: run one step; its exit code is the program's
  if [[ $BASHPID == "$$" ]]; then
    (envcfg_step "$@") # in a shell of its own, so that nothing of it stays in the job's
  else
    envcfg_step "$@" # this is such a shell: signals sent to it reach the program
  fi
}

envcfg_is_script() { # whether this text is being run as a file, not sourced or evaluated
  local envcfg_line
  [[ -f $0 && -r $0 ]] || return 1
  while IFS= read -r envcfg_line && [[ $envcfg_line == '#'* ]]; do
    if [[ $envcfg_line == '# envcfg:script '* ]]; then return 0; fi
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
  local envcfg_port=$((10000 + BASHPID % 20000))
  while (: </dev/tcp/127.0.0.1/"$envcfg_port") 2>/dev/null; do envcfg_port=$((envcfg_port + 1)); done
  MASTER_PORT=$envcfg_port
}

envcfg_rank() { # COMMAND...: start one of the ranks
  envcfg_spawn "${ENVCFG_ENTER[@]}" "$ENVCFG_SHELL" -c "$ENVCFG_RANK" envcfg-rank \
    "MASTER_ADDR=$MASTER_ADDR" "MASTER_PORT=$MASTER_PORT" "${ENVCFG_ARGS[@]}" \
    "RANK=$envcfg_rank" "LOCAL_RANK=$envcfg_rank" "WORLD_SIZE=$envcfg_ranks" "LOCAL_WORLD_SIZE=$envcfg_ranks" \
    NODE_RANK=0 -- "$@"
}

envcfg_launch() { # COMMAND...: the ranks are processes of this machine
  local envcfg_rank envcfg_ranks=${ENVCFG_RANKS:-1} MASTER_ADDR=${MASTER_ADDR:-127.0.0.1}
  local MASTER_PORT=${MASTER_PORT-}
  if [[ -z $MASTER_PORT ]]; then envcfg_port; fi
  for ((envcfg_rank = 0; envcfg_rank < envcfg_ranks; envcfg_rank++)); do
    if ((envcfg_rank == 0)); then
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
  local envcfg_pid envcfg_code envcfg_clock envcfg_pause envcfg_wait_ms=10 envcfg_grace_ms=10000 envcfg_status=0
  local -a envcfg_running envcfg_left=("${ENVCFG_PIDS[@]}")
  exec {envcfg_clock}<> <(:) # nothing ever comes: to read it with a timeout waits, by no process
  while :; do
    envcfg_running=()
    for envcfg_pid in "${envcfg_left[@]}"; do
      if kill -0 "$envcfg_pid" 2>/dev/null; then
        envcfg_running+=("$envcfg_pid")
        continue
      fi
      envcfg_code=0
      envcfg_wait "$envcfg_pid" || envcfg_code=$?
      if ((envcfg_code != 0 && envcfg_status == 0)); then
        envcfg_status=$envcfg_code
        envcfg_kill TERM
      fi
    done
    envcfg_left=("${envcfg_running[@]}")
    if ((${#envcfg_left[@]} == 0)); then break; fi
    printf -v envcfg_pause '0.%03d' "$envcfg_wait_ms"
    read -r -t "$envcfg_pause" -u "$envcfg_clock" || :
    if ! kill -0 "$$" 2>/dev/null; then # the shell that wanted this is gone
      envcfg_status=${envcfg_status/#0/143}
      envcfg_kill TERM
    fi
    if ((envcfg_status != 0 && (envcfg_grace_ms -= envcfg_wait_ms) <= 0)); then envcfg_kill KILL; fi
    if ((envcfg_wait_ms < 300)); then envcfg_wait_ms=$((envcfg_wait_ms * 2)); fi
  done
  exec {envcfg_clock}>&-
  return "$envcfg_status"
}

# --- Now do it ---------------------------------------------------------------------

if envcfg_is_script; then envcfg_main "$@"; fi # run as a file: its arguments are the command
