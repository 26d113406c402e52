# shellcheck shell=bash # srun/task 2: Slurm: pass the task's variables to a container that hides them
# Each task runs this outside the container, with the number of words before the rank part's arguments.
IFS= builtin read -r -d '' ENVCFG_TASK <<'ENVCFG_TEXT' || builtin :
for envcfg_name in "${!SLURM@}" "${!PMI@}" {ROCR,HIP,CUDA}_VISIBLE_DEVICES GPU_DEVICE_ORDINAL ZE_AFFINITY_MASK; do
  if [[ -n ${!envcfg_name+set} ]]; then envcfg_given+=("$envcfg_name=${!envcfg_name}"); fi
done
exec "${@:2:$1}" "${envcfg_given[@]}" "ENVCFG_GIVEN=${envcfg_given[*]%%=*}" "${@:$1+2}"
ENVCFG_TEXT
