# shellcheck shell=bash

envcfg_log() { # make the folder of this step, into which each process writes NCCL's log
  envcfg_keep "$ENVCFG_LOG" "nccl-$ENVCFG_JOB.$BASHPID" \
    || envcfg_fault "cannot make the folder $ENVCFG_LOG/nccl-$ENVCFG_JOB.$BASHPID for NCCL's log" \
      'name a folder that you may write to, and that all nodes see: --nccl-debug DIR'
}

envcfg_log_end() { # the step has succeeded: its logs have nothing to tell any more
  rm -rf -- "$ENVCFG_LOG/nccl-$ENVCFG_JOB.$BASHPID"
}
