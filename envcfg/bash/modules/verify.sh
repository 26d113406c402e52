# shellcheck shell=bash
# envcfg module verify 2
# One process of envcfg next to the step: it says which network NCCL uses, who is silent, what ended the step.
# It reads the exit code of the step, and ends where that pipe does, so also when this shell is killed.

ENVCFG_READY+=' envcfg_verify'
ENVCFG_AFTER+=' envcfg_verify_end'

envcfg_verify_log() { # make the folder of this step, into which each process writes NCCL's log
  if ! envcfg_keep "$ENVCFG_LOG" "nccl-$ENVCFG_JOB.$BASHPID"; then
    envcfg_note "cannot make the folder $ENVCFG_LOG/nccl-$ENVCFG_JOB.$BASHPID: NCCL writes into the job's output"
  fi
}

envcfg_verify() { # start what watches; without it the step runs alike
  local envcfg_file
  local -a envcfg_words=() envcfg_files=()
  if ! type -P "${ENVCFG_WATCHER[0]}" >/dev/null; then
    envcfg_note "nothing is verified: ${ENVCFG_WATCHER[0]} is not on PATH on ${HOSTNAME:-this host}"
    return
  fi
  if [[ -n $ENVCFG_RANKS ]]; then envcfg_words=("--expect-ranks=$((ENVCFG_RANKS * ENVCFG_NODES))"); fi
  for envcfg_file in "/proc/$BASHPID/fd/1" "/proc/$BASHPID/fd/2"; do # of the job's output, what this step adds
    if [[ -f $envcfg_file ]]; then
      envcfg_words+=("--since=$(stat -L -c %s -- "$envcfg_file")")
      envcfg_files+=("$envcfg_file")
    fi
  done
  if [[ -n $ENVCFG_LOG ]]; then envcfg_files+=("$ENVCFG_LOG/nccl-$ENVCFG_JOB.$BASHPID"); fi
  # Bash keeps the pipes of a coproc from all else that it starts; zsh reads no braces here.
  coproc ENVCFG_WATCH (
    trap '' HUP INT QUIT TERM USR1 USR2
    envcfg_close "$ENVCFG_PIPE" "$ENVCFG_LIFE"
    exec "${ENVCFG_WATCHER[@]}" "${envcfg_words[@]}" "${envcfg_files[@]}"
  )
  ENVCFG_WATCHES=yes
}

envcfg_verify_end() { # tell how the step has ended, and let the last words be said
  local envcfg_said=''
  if [[ -z ${ENVCFG_WATCHES-} ]]; then return; fi
  trap '' PIPE
  if [[ -z ${ENVCFG_WATCH_PID-} ]] || ! { printf '%d\n' "$ENVCFG_CODE" >&"${ENVCFG_WATCH[1]}"; } 2>/dev/null \
    || ! read -r -t 30 -u "${ENVCFG_WATCH[0]}" envcfg_said; then
    envcfg_note 'what watched this step does not answer, and says nothing more'
    if [[ -n ${ENVCFG_WATCH_PID-} ]]; then kill -s KILL "$ENVCFG_WATCH_PID" 2>/dev/null || :; fi
  fi
  trap - PIPE
  if [[ $envcfg_said == stopped ]]; then ENVCFG_CODE=1; fi
  if [[ $ENVCFG_CODE != 0 || -z $ENVCFG_LOG || -n $ENVCFG_LOG_STAYS ]]; then
    return
  elif [[ $envcfg_said == verified ]]; then
    rm -rf -- "$ENVCFG_LOG/nccl-$ENVCFG_JOB.$BASHPID"
  else
    rmdir -- "$ENVCFG_LOG/nccl-$ENVCFG_JOB.$BASHPID" 2>/dev/null || : # of a program without NCCL
  fi
}
