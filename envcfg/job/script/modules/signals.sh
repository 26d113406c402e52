# shellcheck shell=bash # signals 6: pass signals to the processes of a step, and wait for their end
# A forked shell has its parent's traps for a moment, and loses what comes then: so each says
# when it has none any more, and until then signals are held. They are, too, where "read"
# waits with a time limit, which cuts short a trap that waits for something.
# "builtin": these run in the job's own shell, too, which may have functions of such names.

envcfg_listen() { # [SIGNALS]: from now on, pass on to what is spawned all but these
  builtin local envcfg_signal
  ENVCFG_PIDS=() ENVCFG_LED=() ENVCFG_HEARD=() ENVCFG_CAUGHT='' ENVCFG_HELD=() ENVCFG_HOLDS=''
  ENVCFG_TELL=envcfg_kill                 # what passes a signal on
  builtin : {ENVCFG_PIPE}<> <(\builtin :) # by which children and traps speak; empty, it makes "read" a clock
  for envcfg_signal in HUP INT QUIT TERM USR1 USR2; do
    if [[ "$ENVCFG_IGNORED${1-}" == *" $envcfg_signal "* ]]; then builtin continue; fi
    ENVCFG_HEARD+=("$envcfg_signal")
    # shellcheck disable=SC2064 # the name is meant to be written in now
    builtin trap "envcfg_relay $envcfg_signal" "$envcfg_signal"
  done
}

envcfg_relay() { # SIGNAL: pass it on; a terminal has sent its own to everybody already
  ENVCFG_CAUGHT+="$1 "
  if [[ ($1 == INT || $1 == QUIT) && -t 0 && $ENVCFG_HOLDS != spawn ]]; then
    builtin return
  elif [[ -n $ENVCFG_HOLDS ]]; then
    ENVCFG_HELD+=("$1")
    builtin printf '\n' >&"$ENVCFG_PIPE" # let "read" look up
  else
    "$ENVCFG_TELL" "$1"
  fi
}

envcfg_release() { # pass on what has been held
  builtin local envcfg_signal
  ENVCFG_HOLDS=''
  for envcfg_signal in "${ENVCFG_HELD[@]}"; do "$ENVCFG_TELL" "$envcfg_signal"; done
  ENVCFG_HELD=()
}

envcfg_kill() { # SIGNAL: send it to all that was spawned and runs, by bash's own book: a pid can be another's by now
  builtin local envcfg_pid envcfg_running
  envcfg_running=$'\n'$(\builtin jobs -pr)$'\n'
  for envcfg_pid in "${ENVCFG_PIDS[@]}"; do
    if [[ $envcfg_running == *$'\n'"$envcfg_pid"$'\n'* ]]; then builtin kill -s "$1" "$envcfg_pid" 2>/dev/null || builtin :; fi
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
  while [[ ${envcfg_line-} != ready ]] && builtin kill -0 "${ENVCFG_PIDS[-1]}" 2>/dev/null; do
    builtin read -r -t 1 -u "$ENVCFG_PIPE" envcfg_line || builtin :
  done
  envcfg_release
}

envcfg_wait() { # [PID]: return its exit code, however often signals cut the wait short
  builtin local envcfg_code envcfg_later envcfg_ended
  envcfg_code='' envcfg_ended=''
  if (($# == 0)); then builtin return $((128 + $(\builtin kill -l "${ENVCFG_CAUGHT%% *}"))); fi # a signal came before it
  # In bash 4.4 "builtin wait" runs no trap before the process has ended by itself; and what
  # "builtin command" runs ends a shell with -e, even before "||".
  builtin local -
  builtin set +eE
  for (( ; ; )); do
    builtin command wait "$1"
    envcfg_later=$?
    if [[ $envcfg_later != 127 || -z $envcfg_code ]]; then envcfg_code=$envcfg_later; fi # 127: had it already
    if ((envcfg_later <= 128)) || [[ -n $envcfg_ended ]]; then builtin return "$envcfg_code"; fi
    # Its own code, or a signal to this shell? If it has ended by now, the next wait tells.
    if [[ $'\n'$(\builtin jobs -pr)$'\n' != *$'\n'"$1"$'\n'* ]]; then envcfg_ended=yes; fi
  done
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
