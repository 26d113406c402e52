# shellcheck shell=bash

envcfg_end() { # [BASE...]: remove these node-local caches, or all of this shell, everywhere
  local IFS=$' \t\n'
  if (($# == 0)); then set -- ${ENVCFG_CACHES[@]+"${ENVCFG_CACHES[@]}"}; fi
  (
    ENVCFG_FAULTS=0
    envcfg_survey 2>/dev/null
    if (($# == 0 || ENVCFG_FAULTS > 0)); then exit 0; fi # never a job: nothing was made
    # envcfg:begin remove
    # shellcheck disable=SC2016 # to be expanded on the node
    envcfg_host bash -c 'rm -rf -- "${@/%/-${SLURMD_NODENAME:-local}}"' envcfg-end "$@" \
      || envcfg_note "could not remove the caches $*"
    # envcfg:end remove
  )
}
