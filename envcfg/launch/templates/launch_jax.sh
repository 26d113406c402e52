# shellcheck shell=sh

# jax.distributed.initialize() learns the ranks from Slurm, but would look for its
# coordinator at the step's first name and take device SLURM_LOCALID, also where this task
# sees one device only, or has all of a node to itself.
envcfg_set JAX_COORDINATOR_ADDRESS "$MASTER_ADDR:$MASTER_PORT"
envcfg_visible=${CUDA_VISIBLE_DEVICES-${HIP_VISIBLE_DEVICES-${ROCR_VISIBLE_DEVICES-}}}
case $LOCAL_WORLD_SIZE:$envcfg_visible in
  1:*,*) # one task, several devices: all of them
    envcfg_count=0
    envcfg_ids=''
    while :; do
      envcfg_ids="${envcfg_ids:+$envcfg_ids,}$envcfg_count"
      case $envcfg_visible in *,*) envcfg_visible=${envcfg_visible#*,} ;; *) break ;; esac
      envcfg_count=$((envcfg_count + 1))
    done
    envcfg_set JAX_LOCAL_DEVICE_IDS "$envcfg_ids"
    ;;
  *:*,* | *:) # all are seen: one each
    envcfg_set JAX_LOCAL_DEVICE_IDS "$LOCAL_RANK"
    ;;
  *) # masked to one, which is then the first
    envcfg_set JAX_LOCAL_DEVICE_IDS 0
    ;;
esac
