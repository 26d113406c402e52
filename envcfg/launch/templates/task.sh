# shellcheck shell=bash
# In each task, outside the container: hand on what srun told it, as arguments.
given=()
for name in "${!SLURM@}" "${!PMI@}" ROCR_VISIBLE_DEVICES HIP_VISIBLE_DEVICES \
  CUDA_VISIBLE_DEVICES GPU_DEVICE_ORDINAL ZE_AFFINITY_MASK; do
  if [[ -n ${!name+set} ]]; then given+=("$name=${!name}"); fi
done
exec "${@:2:$1}" "${given[@]}" "${@:$1+2}"
