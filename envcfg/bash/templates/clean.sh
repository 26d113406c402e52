# shellcheck shell=bash

envcfg_end() { # [BASE...]: remove these node-local caches, or all of this shell, on every node
  (
    builtin trap '' HUP INT QUIT TERM USR1 USR2 # a signal does not cut this short
    envcfg_plain
    if (($# == 0)); then set -- ${ENVCFG_CACHES[@]+"${ENVCFG_CACHES[@]}"}; fi
    ENVCFG_FAULTS=0
    envcfg_survey 2>/dev/null
    if (($# == 0 || ENVCFG_FAULTS > 0)); then exit 0; fi # never a job: nothing was made
    # Not what the ranks have refused: a link, a file, a folder of somebody else.
    # shellcheck disable=SC2016 # to be expanded on the node
    envcfg_host bash -c 'trap "" HUP INT QUIT TERM USR1 USR2
# envcfg:begin host
envcfg_host=local
# envcfg:end host
    for cache in "${@/%/-$envcfg_host}"; do
      if [[ -d $cache && ! -h $cache && -O $cache ]]; then rm -rf -- "$cache" || exit; fi
    done' envcfg-end "$@" || envcfg_note "could not remove the caches $*"
  )
}
