# shellcheck shell=bash

envcfg_launch() { # COMMAND...: one task per rank
  local envcfg_ranks
  envcfg_per_node || return
  envcfg_sized "$envcfg_ranks"
  envcfg_pin "$envcfg_ranks"
  envcfg_mpiexec "$envcfg_ranks" "$@"
}
