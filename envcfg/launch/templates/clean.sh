# shellcheck shell=bash

envcfg_end() { # remove the node-local caches of this job, on every node
  local IFS=$' \t\n'
  (
    ENVCFG_FAULTS=0
    envcfg_survey
    if ((ENVCFG_FAULTS > 0)); then exit 0; fi # never a job: nothing was made
    envcfg_locate_cache
    # shellcheck disable=SC2016 # to be expanded on the node
    envcfg_host bash -c 'rm -rf -- "$1-${SLURMD_NODENAME:-local}"' envcfg-end "$ENVCFG_CACHE_BASE" \
      || envcfg_note "could not remove the caches $ENVCFG_CACHE_BASE-*"
  )
}
