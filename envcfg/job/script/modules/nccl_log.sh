# shellcheck shell=bash # nccl_log 2: write NCCL's log to one file per process
# needs: place; adds: SET=envcfg_log AFTER=envcfg_log_end; reads: ENVCFG_LOG ENVCFG_LOG_ENDS
envcfg_log() { # make the folder of this step, into which each process writes NCCL's log
  envcfg_keep "$ENVCFG_LOG" "nccl-$ENVCFG_JOB.$BASHPID" \
    || envcfg_fault "cannot make the folder $ENVCFG_LOG/nccl-$ENVCFG_JOB.$BASHPID for NCCL's log" \
      'name a folder that you may write to, and that all nodes see: --nccl-debug DIR'
}

envcfg_log_end() { # of a step that has succeeded they have nothing to tell any more
  if [[ -n $ENVCFG_LOG_ENDS && $ENVCFG_CODE == 0 ]]; then rm -rf -- "$ENVCFG_LOG/nccl-$ENVCFG_JOB.$BASHPID"; fi
}
