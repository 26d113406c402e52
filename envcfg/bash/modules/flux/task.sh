# shellcheck shell=bash
# envcfg module flux/task 1
# What Flux tells a task, handed on where the runtime keeps it from the container.

# Each task runs this outside the container, with the number of words before the rank part's arguments.
IFS= builtin read -r -d '' ENVCFG_PART <<'ENVCFG_TEXT' || builtin :
envcfg_collect "${!FLUX_JOB@}" "${!FLUX_TASK@}" FLUX_URI "${!PALS@}" "${!PMI@}"
exec "${@:2:$1}" "${envcfg_given[@]}" "${@:$1+2}"
ENVCFG_TEXT
ENVCFG_TASK=$(\builtin declare -f envcfg_collect)$'\n'$ENVCFG_PART
