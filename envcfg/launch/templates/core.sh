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

envcfg_pass() { # NAME...: hand on what the rank part refers to
  local name
  for name; do
    if [[ -n ${!name+set} ]]; then ENVCFG_ARGS+=("$name=${!name}"); fi
  done
}

envcfg_preset() { # NAME...: what the job has set already wins over the rank part
  local name
  for name; do
    if [[ -n ${!name+set} ]]; then
      ENVCFG_ARGS+=("$name=${!name}")
      ENVCFG_PRESET+="$name "
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
  local pid
  for pid in "${ENVCFG_PIDS[@]}"; do
    kill -s "$1" "$pid" 2>/dev/null || :
  done
}

envcfg_relay() { # SIGNAL: pass it on; a terminal has sent its own to everybody already
  ENVCFG_SIGNAL=$1
  if [[ $1 != INT && $1 != QUIT || ! -t 0 ]]; then envcfg_kill "$1"; fi
}

envcfg_wait() { # wait for what was spawned; the first that fails ends the others
  local signal code interrupted='' status=0 timer='' left=${#ENVCFG_PIDS[@]}
  for signal in HUP INT QUIT TERM USR1 USR2; do
    # shellcheck disable=SC2064 # the name is meant to be written in now
    trap "envcfg_relay $signal" "$signal"
  done
  while ((left > 0)); do
    ENVCFG_SIGNAL=''
    code=0
    wait -n || code=$?
    if [[ -n $ENVCFG_SIGNAL && $code -gt 128 ]]; then
      interrupted=$code # the wait was cut short, or a child ended at that moment
      continue
    fi
    left=$((left - 1))
    if [[ $code -eq 127 && -n $interrupted ]]; then code=$interrupted; fi
    if ((code != 0 && status == 0)); then
      status=$code
      if ((left > 0)); then
        envcfg_kill TERM
        (
          trap - HUP INT QUIT TERM USR1 USR2
          read -r -t 10 <> <(:) || envcfg_kill KILL # ten seconds, with no process
        ) &
        timer=$!
        disown "$timer"
      fi
    fi
  done
  trap - HUP INT QUIT TERM USR1 USR2
  if [[ -n $timer ]]; then kill "$timer" 2>/dev/null || :; fi
  return "$status"
}

envcfg_step() { # COMMAND...: one step of the job, from the checks to the exit code
  local IFS=$' \t\n'
  if ((BASH_VERSINFO[0] * 100 + BASH_VERSINFO[1] < 404)); then
    envcfg_error "bash $BASH_VERSION is too old" 'use bash 4.4 or newer'
    return 4
  fi
  ENVCFG_ARGS=()
  ENVCFG_PIDS=()
  ENVCFG_PRESET=' '
  ENVCFG_FAULTS=0
  envcfg_survey
  envcfg_enter
  if ((ENVCFG_FAULTS > 0)); then return 4; fi
  envcfg_settings
  ENVCFG_ARGS+=("ENVCFG_PRESET=$ENVCFG_PRESET")
  envcfg_launch "$@"
}

envcfg_run() { # COMMAND...: run one step; its exit code is the program's
  if (($# == 0)); then
    envcfg_error 'envcfg_run: no command' 'envcfg_run python train.py'
    return 2
  elif [[ $BASHPID == "$$" ]]; then
    (envcfg_step "$@") # in a shell of its own, so that nothing of it stays in the job's
  else
    envcfg_step "$@" # this is such a shell: signals sent to it reach the program
  fi
}

envcfg_is_script() { # whether this text is being run as a file, not sourced or evaluated
  local line=''
  [[ -f $0 && -r $0 ]] || return 1
  { read -r line && read -r line; } <"$0" || :
  [[ $line == '# envcfg:script '* ]]
}

envcfg_main() { # COMMAND...: what this text is for; run as a file, its shell is the step's
  local status=0
  if envcfg_is_script; then envcfg_step "$@" || status=$?; else envcfg_run "$@" || status=$?; fi
  # envcfg:begin end
  envcfg_end
  # envcfg:end end
  return "$status"
}
