# shellcheck shell=bash
# In each task, outside the container: hand on what srun told it, as arguments.
envcfg_collect "${!SLURM@}" "${!PMI@}" "${ENVCFG_MASKING[@]}"
exec "${@:2:$1}" "${envcfg_given[@]}" "${@:$1+2}"
