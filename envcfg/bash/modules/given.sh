# shellcheck shell=bash
# envcfg module given 2
# What a task was given, as arguments: for runtimes that keep variables from the container.

# shellcheck disable=SC2120 # one starter has no own names
envcfg_collect() { # NAME...: set envcfg_given to those that are set, and to what masks GPUs
  envcfg_given=()
  for envcfg_name in "$@" ROCR_VISIBLE_DEVICES HIP_VISIBLE_DEVICES CUDA_VISIBLE_DEVICES GPU_DEVICE_ORDINAL ZE_AFFINITY_MASK; do
    if [[ -n ${!envcfg_name+set} ]]; then envcfg_given+=("$envcfg_name=${!envcfg_name}"); fi
  done
  envcfg_given+=("ENVCFG_GIVEN=${envcfg_given[*]%%=*}")
}
