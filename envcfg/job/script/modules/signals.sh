# shellcheck shell=bash # signals 10: pass signals to the processes of a step, and wait for their end
# A forked shell has its parent's traps for a moment, and loses what comes then: so each says
# when it has none any more. Traps only hold signals, and what waits passes them on.
# "builtin": these run in the job's own shell, too, which may have functions of such names.

envcfg_listen() { # [SIGNALS]: from now on, pass on to what is spawned all but these
  builtin local envcfg_signal
  ENVCFG_PIDS=() ENVCFG_LED=() ENVCFG_HEARD=() ENVCFG_CAUGHT='' ENVCFG_HELD=() ENVCFG_HOLDS=watch
  ENVCFG_TELL=envcfg_kill                 # what passes a signal on
  builtin : {ENVCFG_PIPE}<> <(\builtin :) # by which children and traps speak; empty, it makes "read" a clock
  for envcfg_signal in HUP INT QUIT TERM USR1 USR2; do
    if [[ "$ENVCFG_IGNORED${1-}" == *" $envcfg_signal "* ]]; then builtin continue; fi
    ENVCFG_HEARD+=("$envcfg_signal")
    # shellcheck disable=SC2064 # the name is meant to be written in now
    builtin trap "envcfg_relay $envcfg_signal" "$envcfg_signal"
  done
}

envcfg_relay() { # SIGNAL: hold it until the next tick of the clock; a terminal has sent its own to everybody already
  # A trap only does this: a signal while bash 5.2 parses "$(...)" in it breaks both.
  ENVCFG_CAUGHT+="$1 "
  if [[ ($1 == INT || $1 == QUIT) && -t 0 && $ENVCFG_HOLDS != spawn ]]; then
    builtin return
  fi
  ENVCFG_HELD+=("$1")
  builtin printf '\n' >&"$ENVCFG_PIPE" # let "read" look up
}

envcfg_release() { # pass on what has been held
  builtin local envcfg_held
  ENVCFG_HOLDS=watch
  while ((${#ENVCFG_HELD[@]} > 0)); do
    envcfg_held=${ENVCFG_HELD[0]}
    ENVCFG_HELD=("${ENVCFG_HELD[@]:1}") # at once: a signal may come between two commands
    "$ENVCFG_TELL" "$envcfg_held"
  done
}

envcfg_kill() { # SIGNAL: send it to all that was spawned and runs
  builtin local envcfg_pid
  for envcfg_pid in "${ENVCFG_PIDS[@]}"; do
    if envcfg_is_child "$envcfg_pid"; then builtin kill -s "$1" "$envcfg_pid" 2>/dev/null || builtin :; fi
  done
}

envcfg_spawn() { # WORD...: start it with this shell's input; not after a signal, which ends the step
  builtin local envcfg_line
  if [[ -n $ENVCFG_CAUGHT ]]; then builtin return; fi
  ENVCFG_HOLDS=spawn
  if [[ -n $ENVCFG_APART ]]; then builtin set -m; fi # its own process group
  (
    # INT and QUIT, too: in the background they are ignored.
    for envcfg_line in "${ENVCFG_HEARD[@]}"; do builtin trap - "$envcfg_line"; done
    builtin printf 'ready\n' >&"$ENVCFG_PIPE"
    envcfg_close "$ENVCFG_PIPE"
    if [[ $1 == exec ]]; then envcfg_close "$ENVCFG_LIFE"; fi
    "$@"
  ) <&0 &
  if [[ -n $ENVCFG_APART ]]; then
    builtin set +m
    ENVCFG_LED+=("$!")
  fi
  ENVCFG_PIDS+=("$!")
  envcfg_line=''
  while [[ ${envcfg_line-} != ready ]] && envcfg_is_child "${ENVCFG_PIDS[-1]}"; do
    builtin read -r -t 1 -u "$ENVCFG_PIPE" envcfg_line || builtin :
  done
  envcfg_release
}

envcfg_is_child() { # PID: whether it is a child whose end this shell still has to read; otherwise the pid can be another's
  builtin local envcfg_stat
  envcfg_stat=''
  { IFS= builtin read -r -d '' envcfg_stat <"/proc/$1/stat"; } 2>/dev/null || builtin :
  envcfg_stat=${envcfg_stat##*) } # behind the name: state, parent
  # Bash 5.2 may miss an end, and not look again: the end of another child makes it read all of them.
  if [[ $envcfg_stat == "Z $BASHPID "* ]]; then (\builtin :) || builtin :; fi
  [[ ${envcfg_stat#* } == "$BASHPID "* ]]
}

# A signal that cuts "wait" short just when the process ends makes bash lose its end: the next
# "wait" never returns, or returns 255. So a clock waits until bash has read the end, and
# signals are passed on between its ticks.
envcfg_wait() { # [PID]: return its exit code, whatever signals come
  builtin local envcfg_code envcfg_later envcfg_pause envcfg_wait_ms
  envcfg_wait_ms=5 envcfg_later='' envcfg_pause=''
  if (($# == 0)); then builtin return $((128 + $(\builtin kill -l "${ENVCFG_CAUGHT%% *}"))); fi # a signal came before it
  # What "builtin command" runs ends a shell with -e, even before "||".
  builtin local -
  builtin set +eE
  while envcfg_is_child "$1"; do
    builtin printf -v envcfg_pause '0.%03d' "$envcfg_wait_ms"
    builtin read -r -t "$envcfg_pause" -u "$ENVCFG_PIPE" envcfg_later || builtin : # else it sets REPLY
    envcfg_release
    if ((envcfg_wait_ms < 200)); then envcfg_wait_ms=$((envcfg_wait_ms * 2)); fi
  done
  builtin command wait "$1"
  envcfg_code=$?
  if ((envcfg_code > 128)); then # its own code, or a signal to this shell? The next wait tells
    builtin command wait "$1"
    envcfg_later=$?
    if [[ $envcfg_later != @(127|255) ]]; then envcfg_code=$envcfg_later; fi # 127: had it already
  fi
  builtin return "$envcfg_code"
}

# Two ends of a pipe: who holds the first lives as long as the second gives no end of file.
envcfg_tie() { # open ENVCFG_TIE, for this shell alone, and ENVCFG_LIFE, for what it starts
  builtin local envcfg_pipe
  builtin : {envcfg_pipe}<> <(\builtin :) # such files stay open
  builtin : {ENVCFG_TIE}>/dev/fd/"$envcfg_pipe" {ENVCFG_LIFE}</dev/fd/"$envcfg_pipe"
  envcfg_close "$envcfg_pipe"
}

envcfg_close() { # FILE...
  envcfg_shut "$@"
  # POSIX mode is over, and bash has forgotten this.
  if [[ :$BASHOPTS: == *:expand_aliases:* ]]; then builtin shopt -s expand_aliases; fi
}

envcfg_shut() { # FILE...: in POSIX mode "exec" is bash's own, whatever function has its name
  builtin local - envcfg_file
  builtin set -o posix
  for envcfg_file; do exec {envcfg_file}>&-; done
}

envcfg_is_alone() { # whether the shell that wanted this is gone
  builtin read -r -t 0 -u "$ENVCFG_LIFE" || ! builtin kill -0 "$$" 2>/dev/null
}
