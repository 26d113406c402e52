# shellcheck shell=bash
# What other templates hold in place of their own where Flux launches.

# envcfg:begin job
envcfg_name_job
ENVCFG_CACHE_BASE=$ENVCFG_SCRATCH/envcfg-$UID-$ENVCFG_JOB-$BASHPID.${#ENVCFG_CACHES[@]}
# envcfg:end job

# envcfg:begin names
for envcfg_name in "${!FLUX_JOB@}" "${!FLUX_TASK@}" FLUX_URI "${!PALS@}" "${!PMI@}" ROCR_VISIBLE_DEVICES \
  HIP_VISIBLE_DEVICES CUDA_VISIBLE_DEVICES GPU_DEVICE_ORDINAL ZE_AFFINITY_MASK; do
  # envcfg:end names
  :
done

# envcfg:begin node
read -r envcfg_node </proc/sys/kernel/hostname # Flux does not tell
export ENVCFG_CACHE="$ENVCFG_CACHE_BASE-$envcfg_node"
# envcfg:end node

envcfg_end() {
  (
    # envcfg:begin remove
    # shellcheck disable=SC2016 # to be expanded on the node
    envcfg_host bash -c 'trap "" HUP INT QUIT TERM USR1 USR2
    read -r node </proc/sys/kernel/hostname || exit
    for cache in "${@/%/-$node}"; do
      if [[ -d $cache && ! -h $cache && -O $cache ]]; then rm -rf -- "$cache" || exit; fi
    done' envcfg-end "$@" || envcfg_note "could not remove the caches $*"
    # envcfg:end remove
  )
}
