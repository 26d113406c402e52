# shellcheck shell=bash

# --- How a step is started ---------------------------------------------------------

envcfg_error() { # MESSAGE [HINT]
  printf 'envcfg: error: %s\n' "$1" >&2
  if [[ -n ${2-} ]]; then printf '  hint: %s\n' "$2" >&2; fi
}

envcfg_fault() { # MESSAGE [HINT]: an error; the step will not start, but the checks go on
  envcfg_error "$@"
  ENVCFG_FAULTS=$((ENVCFG_FAULTS + 1))
}

envcfg_note() { # MESSAGE
  printf 'envcfg: note: %s\n' "$1" >&2
}

# The settings become arguments of the rank part, NAME=VALUE or -u NAME. Nothing is set
# here, in the shell from which srun and the runtime start.
envcfg_force() { # NAME VALUE
  ENVCFG_ARGS+=("$1=$2")
}

envcfg_set() { # NAME VALUE: what the job has set already wins
  ENVCFG_ARGS+=("$1=${!1-$2}")
}

envcfg_force_unset() { # NAME
  ENVCFG_ARGS+=(-u "$1")
}

envcfg_unset() { # NAME: what the job has set already wins
  if [[ -n ${!1+set} ]]; then ENVCFG_ARGS+=("$1=${!1}"); else ENVCFG_ARGS+=(-u "$1"); fi
}

envcfg_pass() { # NAME...: hand on what the rank part refers to, under a name of its own
  local envcfg_name
  for envcfg_name; do
    if [[ -n ${!envcfg_name+set} ]]; then
      ENVCFG_ARGS+=("ENVCFG_REF_$envcfg_name=${!envcfg_name}")
    fi
  done
}

envcfg_preset() { # NAME...: what the job has set already wins over the rank part
  local envcfg_name
  for envcfg_name; do
    if [[ -n ${!envcfg_name+set} ]]; then
      ENVCFG_ARGS+=("$envcfg_name=${!envcfg_name}")
      ENVCFG_PRESET+="$envcfg_name "
    fi
  done
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
  # envcfg:begin size
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
  # envcfg:end size
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
  # envcfg:begin shrink
  envcfg_shrink
  # envcfg:end shrink
  envcfg_enter
  if ((ENVCFG_FAULTS == 0)); then envcfg_settings; fi
  if ((ENVCFG_FAULTS > 0)); then return 4; fi
  ENVCFG_ARGS+=("ENVCFG_PRESET=$ENVCFG_PRESET")
  # envcfg:begin smoke
  envcfg_smoke || return
  # envcfg:end smoke
  ENVCFG_CODE=0
  envcfg_launch "$@" || ENVCFG_CODE=$?
  trap - HUP INT QUIT TERM USR1 USR2
  # envcfg:begin log
  if ((ENVCFG_CODE == 0)); then envcfg_log_end; fi
  # envcfg:end log
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
  # envcfg:begin end
  envcfg_end "$ENVCFG_CACHE_BASE"
  # envcfg:end end
  return "$envcfg_code"
}
