# shellcheck shell=bash
# envcfg module nccl_log 1
# NCCL's log, a file per process.

envcfg_log() { # make the folder into which each process writes NCCL's log
  mkdir -p -- "$ENVCFG_LOG" || envcfg_fault "cannot make the folder $ENVCFG_LOG for NCCL's log" \
    'name one that you may write to, and that the nodes see'
}

if [[ -n $ENVCFG_LOG_ENDS ]]; then ENVCFG_AFTER+=(envcfg_log_end); fi

envcfg_log_end() { # of a step that has succeeded they have nothing to tell any more
  if ((ENVCFG_CODE == 0)); then rm -f -- "$ENVCFG_LOG/nccl-$ENVCFG_JOB.$BASHPID-"*.log; fi
}
