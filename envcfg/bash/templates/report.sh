# shellcheck shell=bash

envcfg_report() { # begin the file of each rank that reports its environment: plan and job
  local envcfg_rank envcfg_name=envcfg-environment-$ENVCFG_JOB.$BASHPID
  local envcfg_file=$PWD/$envcfg_name/rank
  ENVCFG_ARGS+=("ENVCFG_REPORT=$envcfg_file")
  for envcfg_rank in $ENVCFG_REPORTED; do
    if ! {
      envcfg_keep "$PWD" "$envcfg_name" && {
        printf '%s\0' envcfg:environment "profile=$ENVCFG_PROFILE" "rank=$envcfg_rank" \
          "nodes=$ENVCFG_NODES" envcfg:plan "${ENVCFG_PLANNED[@]}"
        # Of a process that starts now.
        (envcfg_share && exec cat /proc/self/environ) | envcfg_told job
      } >"$envcfg_file$envcfg_rank"
    }; then
      envcfg_fault "cannot write $envcfg_file$envcfg_rank" \
        'start the job in a folder that you may write to, and that the nodes see'
    fi
  done
}
