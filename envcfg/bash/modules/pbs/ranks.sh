# shellcheck shell=bash
# envcfg module pbs/ranks 2
# One task of mpiexec for each rank.

envcfg_launch() { # COMMAND...: one task per rank
  local envcfg_ranks
  envcfg_per_node || return $?
  envcfg_sized "$envcfg_ranks"
  if [[ -z $ENVCFG_CPUS ]] || ! envcfg_pin "$envcfg_ranks"; then envcfg_unbind; fi
  envcfg_mpiexec "$envcfg_ranks" "$@"
}

ENVCFG_RANK+=$'envcfg_inside\n'
