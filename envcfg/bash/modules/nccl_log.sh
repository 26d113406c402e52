# shellcheck shell=bash
# envcfg module nccl_log 1
# NCCL's log, a file per process.

envcfg_log() { # make the folder of this step, into which each process writes NCCL's log
  envcfg_keep "$ENVCFG_LOG" "nccl-$ENVCFG_JOB.$BASHPID" \
    || envcfg_fault "cannot make the folder $ENVCFG_LOG/nccl-$ENVCFG_JOB.$BASHPID for NCCL's log" \
      'name a folder that you may write to, and that all nodes see: --nccl-debug DIR'
}

if [[ -n $ENVCFG_LOG_ENDS ]]; then ENVCFG_AFTER+=' envcfg_log_end'; fi

envcfg_log_end() { # of a step that has succeeded they have nothing to tell any more
  if ((ENVCFG_CODE == 0)); then rm -rf -- "$ENVCFG_LOG/nccl-$ENVCFG_JOB.$BASHPID"; fi
}
