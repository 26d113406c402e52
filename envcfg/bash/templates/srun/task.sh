# shellcheck shell=bash
# In each task, outside the container: hand on what srun told it, as arguments.
envcfg_given=()
for envcfg_name in "${!SLURM@}" "${!PMI@}" ROCR_VISIBLE_DEVICES HIP_VISIBLE_DEVICES \
  CUDA_VISIBLE_DEVICES GPU_DEVICE_ORDINAL ZE_AFFINITY_MASK; do
  if [[ -n ${!envcfg_name+set} ]]; then envcfg_given+=("$envcfg_name=${!envcfg_name}"); fi
done
exec "${@:2:$1}" "${envcfg_given[@]}" "${@:$1+2}"
