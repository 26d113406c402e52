# shellcheck shell=bash # pbs/task 2: PBS: pass the task's variables to a container that hides them
IFS= builtin read -r -d '' ENVCFG_TASK <<'ENVCFG_TEXT' || builtin :
# In each task, outside the container: hand on what mpiexec told it, as arguments, where the
# runtime keeps variables from the container: behind so many words, else 0.
envcfg_given=()
if (($1 > 0)); then
  for envcfg_name in "${!PALS@}" "${!PMI@}" "${!MPI_LOCAL@}" "${!OMPI_@}" PBS_JOBID {ROCR,HIP,CUDA}_VISIBLE_DEVICES \
    GPU_DEVICE_ORDINAL ZE_AFFINITY_MASK; do
    if [[ -n ${!envcfg_name+set} ]]; then envcfg_given+=("$envcfg_name=${!envcfg_name}"); fi
  done
  envcfg_given+=("ENVCFG_GIVEN=${envcfg_given[*]%%=*}")
fi
set -- "${@:2:$1}" "${envcfg_given[@]}" "${@:$1+2}"
if [[ -z ${PMI_FD-} ]]; then exec "$@"; fi
# Hydra lets the others run on when a rank fails, unless one asks it by PMI to end all.
# Signals come to the program, too, as it is of the same group. Those that end all have
# come to all: each may take its time to save.
envcfg_ended='' envcfg_code=0
trap 'envcfg_ended=yes' HUP INT QUIT TERM
trap : USR1 USR2
"$@" || envcfg_code=$?
trap : PIPE
if ((envcfg_code != 0)) && [[ -z $envcfg_ended ]]; then
  { printf 'cmd=abort exitcode=%d\n' "$envcfg_code" >&"$PMI_FD"; } 2>/dev/null || :
fi
exit "$envcfg_code"
ENVCFG_TEXT
