# shellcheck shell=bash
# envcfg module srun/task 1
# What srun tells a task, handed on where the runtime keeps it from the container.

# Each task runs this outside the container, with the number of words before the rank part's arguments.
IFS= builtin read -r -d '' ENVCFG_TASK <<'ENVCFG_TEXT' || builtin :
envcfg_given=()
for envcfg_name in "${!SLURM@}" "${!PMI@}" ROCR_VISIBLE_DEVICES HIP_VISIBLE_DEVICES CUDA_VISIBLE_DEVICES GPU_DEVICE_ORDINAL ZE_AFFINITY_MASK; do
  if [[ -n ${!envcfg_name+set} ]]; then envcfg_given+=("$envcfg_name=${!envcfg_name}"); fi
done
exec "${@:2:$1}" "${envcfg_given[@]}" "${@:$1+2}"
ENVCFG_TEXT
