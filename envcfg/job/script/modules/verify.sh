# shellcheck shell=bash # verify 5: start check-log next to the step: network in use, silent ranks, reason of the end
# needs: place; adds: READY=envcfg_verify AFTER=envcfg_verify_end; reads: ENVCFG_LOG ENVCFG_LOG_STAYS ENVCFG_RANKS
# It reads the exit code of the step, and ends where that pipe does, so also when this shell is killed.
envcfg_verify() { # start what watches; without it the step runs alike
  local envcfg_file envcfg_size
  local -a envcfg_words=() envcfg_files=()
  if [[ -n $ENVCFG_LOG && -z $ENVCFG_LOG_STAYS ]] && ! envcfg_keep "$ENVCFG_LOG" "nccl-$ENVCFG_JOB.$BASHPID"; then
    envcfg_note "cannot make the folder $ENVCFG_LOG/nccl-$ENVCFG_JOB.$BASHPID: NCCL writes into the job's output"
  fi
  if ! type -P envcfg >/dev/null; then
    envcfg_note "nothing is verified: envcfg is not on PATH on ${HOSTNAME:-this host}"
    return
  fi
  if [[ -n $ENVCFG_RANKS ]]; then envcfg_words=("--expect-ranks=$((ENVCFG_RANKS * ENVCFG_NODES))"); fi
  for envcfg_file in "/proc/$BASHPID/fd/1" "/proc/$BASHPID/fd/2"; do # of the job's output, what this step adds
    if [[ ! -f $envcfg_file ]]; then
      continue
    elif envcfg_size=$(stat -L -c %s -- "$envcfg_file" 2>/dev/null); then
      envcfg_words+=("--since=$envcfg_size")
      envcfg_files+=("$envcfg_file")
    else
      envcfg_note "the output of this step is not read, only NCCL's own files: there is no stat on PATH"
      break
    fi
  done
  if [[ -n $ENVCFG_LOG ]]; then envcfg_files+=("$ENVCFG_LOG/nccl-$ENVCFG_JOB.$BASHPID"); fi
  # Bash keeps the pipes of a coproc from all else that it starts; zsh reads no braces here.
  coproc ENVCFG_WATCH (
    trap '' HUP INT QUIT TERM USR1 USR2
    envcfg_close "$ENVCFG_PIPE" "$ENVCFG_LIFE"
    envcfg_run_watcher "${envcfg_words[@]}" "${envcfg_files[@]}"
  )
  ENVCFG_WATCHES=yes
}

envcfg_verify_end() { # tell how the step has ended, and let the last words be said
  local envcfg_word='' envcfg_says=''
  if [[ -n ${ENVCFG_WATCHES-} ]]; then
    trap '' PIPE
    # Bash forgets the pipes of a coproc that has ended, so what it says last is read from a copy.
    if [[ -z ${ENVCFG_WATCH_PID-} ]] || ! { : {envcfg_says}<&"${ENVCFG_WATCH[0]}"; } 2>/dev/null \
      || ! { printf '%d\n' "$ENVCFG_CODE" >&"${ENVCFG_WATCH[1]}"; } 2>/dev/null || ! envcfg_verify_word; then
      envcfg_note 'what watched this step does not answer, and says nothing more'
      if [[ -n ${ENVCFG_WATCH_PID-} ]]; then kill -s KILL "$ENVCFG_WATCH_PID" 2>/dev/null || :; fi
    fi
    if [[ -n $envcfg_says ]]; then envcfg_close "$envcfg_says"; fi
    trap - PIPE
    if [[ $envcfg_word == stopped ]]; then ENVCFG_CODE=1; fi
  fi
  if [[ -z $ENVCFG_LOG || -n $ENVCFG_LOG_STAYS ]]; then
    return
  elif [[ $ENVCFG_CODE == 0 && $envcfg_word == verified ]]; then
    rm -rf -- "$ENVCFG_LOG/nccl-$ENVCFG_JOB.$BASHPID"
  else
    rmdir -- "$ENVCFG_LOG/nccl-$ENVCFG_JOB.$BASHPID" 2>/dev/null || : # no process of the step has used NCCL
  fi
}

envcfg_verify_word() { # set envcfg_word to what the watcher says last; it has 30 s, unless it is stopped
  local envcfg_left envcfg_state envcfg_code
  for ((envcfg_left = 30; envcfg_left > 0; envcfg_left--)); do
    envcfg_code=0 envcfg_state=''
    read -r -t 1 -u "$envcfg_says" envcfg_word || envcfg_code=$?
    if ((envcfg_code <= 128)); then return "$envcfg_code"; fi
    { IFS= read -r -d '' envcfg_state <"/proc/$ENVCFG_WATCH_PID/stat"; } 2>/dev/null || :
    if [[ ${envcfg_state##*) } == T* ]]; then return 1; fi
  done
  return 1
}
