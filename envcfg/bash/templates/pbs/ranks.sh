# shellcheck shell=bash

envcfg_launch() { # COMMAND...: one task per rank
  local envcfg_ranks=${ENVCFG_RANKS:-$ENVCFG_GPUS}
  if [[ -z $envcfg_ranks ]]; then
    envcfg_error 'how many ranks per node? the profile has no GPUs' 'give --ranks N'
    return 2
  fi
  envcfg_sized "$envcfg_ranks"
  envcfg_pin "$envcfg_ranks"
  envcfg_mpiexec "$envcfg_ranks" "$@"
}
