# shellcheck shell=bash
# In each task, outside the container: hand on what Flux told it, as arguments.
envcfg_collect "${!FLUX_JOB@}" "${!FLUX_TASK@}" FLUX_URI "${!PALS@}" "${!PMI@}" "${ENVCFG_MASKING[@]}"
exec "${@:2:$1}" "${envcfg_given[@]}" "${@:$1+2}"
