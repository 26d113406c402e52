# shellcheck shell=bash
# envcfg module pbs/task 1
# What mpiexec tells a task, handed on where the runtime keeps it from the container.

IFS= builtin read -r -d '' ENVCFG_PART <<'ENVCFG_TEXT' || builtin :
# In each task, outside the container: hand on what mpiexec told it, as arguments, where the
# runtime keeps variables from the container: behind so many words, else 0.
envcfg_given=()
if (($1 > 0)); then envcfg_collect "${!PALS@}" "${!PMI@}" "${!MPI_LOCAL@}" "${!OMPI_@}" PBS_JOBID; fi
set -- "${@:2:$1}" "${envcfg_given[@]}" "${@:$1+2}"
if [[ -z ${PMI_FD-} ]]; then exec "$@"; fi
# Hydra lets the others run on when a rank fails, unless one asks it by PMI to end all.
# Signals come to the program, too, as it is of the same group. Those that end all have
# come to all: each may take its time to save.
envcfg_ended=''
trap 'envcfg_ended=yes' HUP INT QUIT TERM
trap : USR1 USR2
envcfg_code=0
"$@" || envcfg_code=$?
trap : PIPE
if ((envcfg_code != 0)) && [[ -z $envcfg_ended ]]; then
  { printf 'cmd=abort exitcode=%d\n' "$envcfg_code" >&"$PMI_FD"; } 2>/dev/null || :
fi
exit "$envcfg_code"
ENVCFG_TEXT
ENVCFG_TASK=$(\builtin declare -f envcfg_collect)$'\n'$ENVCFG_PART
