# shellcheck shell=bash

ENVCFG_MASKING=(ROCR_VISIBLE_DEVICES HIP_VISIBLE_DEVICES CUDA_VISIBLE_DEVICES GPU_DEVICE_ORDINAL ZE_AFFINITY_MASK)

envcfg_collect() { # NAME...: set envcfg_given to those that are set, as arguments
  local envcfg_name
  envcfg_given=()
  for envcfg_name; do
    if [[ -n ${!envcfg_name+set} ]]; then envcfg_given+=("$envcfg_name=${!envcfg_name}"); fi
  done
}
