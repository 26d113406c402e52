# shellcheck shell=bash # affinity 3: print the CPUs and GPUs of each rank (--report-affinity)
envcfg_in_rank <<'ENVCFG_TEXT'
# Which CPUs this rank may use, and which GPUs it sees: as the kernel and the masks say.
envcfg_mask='?'
while read -r envcfg_key envcfg_value; do
  case $envcfg_key in
    Cpus_allowed:) envcfg_mask=$envcfg_value ;;
    Cpus_allowed_list:) envcfg_mask="$envcfg_mask ($envcfg_value)" ;;
  esac
done </proc/self/status
read -r envcfg_host </proc/sys/kernel/hostname || :
envcfg_seen=${ROCR_VISIBLE_DEVICES+, ROCR_VISIBLE_DEVICES=$ROCR_VISIBLE_DEVICES}
envcfg_seen=$envcfg_seen${HIP_VISIBLE_DEVICES+, HIP_VISIBLE_DEVICES=$HIP_VISIBLE_DEVICES}
envcfg_seen=$envcfg_seen${CUDA_VISIBLE_DEVICES+, CUDA_VISIBLE_DEVICES=$CUDA_VISIBLE_DEVICES}
envcfg_seen=$envcfg_seen${ZE_AFFINITY_MASK+, ZE_AFFINITY_MASK=$ZE_AFFINITY_MASK}
printf 'envcfg: rank %s on %s: cpus %s, local rank %s%s\n' \
  "$RANK" "$envcfg_host" "$envcfg_mask" "$LOCAL_RANK" "$envcfg_seen" >&2
ENVCFG_TEXT
