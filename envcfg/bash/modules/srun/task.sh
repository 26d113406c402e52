# shellcheck shell=bash
# envcfg module srun/task 1
# What srun tells a task, handed on where the runtime keeps it from the container.

# Each task runs this outside the container, with the number of words before the rank part's arguments.
IFS= builtin read -r -d '' ENVCFG_PART <<'ENVCFG_TEXT' || builtin :
envcfg_collect "${!SLURM@}" "${!PMI@}"
exec "${@:2:$1}" "${envcfg_given[@]}" "${@:$1+2}"
ENVCFG_TEXT
ENVCFG_TASK=$(\builtin declare -f envcfg_collect)$'\n'$ENVCFG_PART
