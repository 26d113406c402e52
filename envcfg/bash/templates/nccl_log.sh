# shellcheck shell=bash

envcfg_log() { # make the folder into which each process writes NCCL's log
  mkdir -p -- "$ENVCFG_LOG" || envcfg_fault "cannot make the folder $ENVCFG_LOG for NCCL's log" \
    'name one that you may write to, and that the nodes see'
}

envcfg_log_end() { # the step has succeeded: its logs have nothing to tell any more
  rm -f -- "$ENVCFG_LOG/nccl-$ENVCFG_JOB.$BASHPID-"*.log
}
