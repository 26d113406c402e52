# shellcheck shell=bash

# Each sourcing has caches of its own, so that nothing side by side shares any. They belong
# to the shell that sources; a subshell does not inherit them.
if [[ ${ENVCFG_OWNER-} != "$BASHPID" ]]; then
  ENVCFG_OWNER=$BASHPID
  ENVCFG_CACHES=()
fi
envcfg_name_job
ENVCFG_CACHE_BASE=$ENVCFG_SCRATCH/envcfg-$UID-${ENVCFG_JOB%%-*}-$BASHPID.${#ENVCFG_CACHES[@]}
ENVCFG_CACHES+=("$ENVCFG_CACHE_BASE")
