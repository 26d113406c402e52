# shellcheck shell=bash # launchers/jax 2: variables for jax.distributed
# sets: JAX_COORDINATOR_ADDRESS JAX_LOCAL_DEVICE_IDS
envcfg_in_rank <<'ENVCFG_TEXT'
# jax.distributed.initialize() learns the ranks from the scheduler, but would look for its
# coordinator at the step's first name and take the device of the task's number, also where
# this task sees one device only, or has all that it sees to itself.
envcfg_set JAX_COORDINATOR_ADDRESS "$MASTER_ADDR:$MASTER_PORT"
envcfg_rest=${CUDA_VISIBLE_DEVICES-${HIP_VISIBLE_DEVICES-${ROCR_VISIBLE_DEVICES-}}}
envcfg_count=0
envcfg_ids=''
while [ -n "$envcfg_rest" ]; do
  envcfg_ids="${envcfg_ids:+$envcfg_ids,}$envcfg_count"
  envcfg_count=$((envcfg_count + 1))
  case $envcfg_rest in *,*) envcfg_rest=${envcfg_rest#*,} ;; *) break ;; esac
done
case $LOCAL_WORLD_SIZE:$envcfg_count in
  *:0) envcfg_ids=$LOCAL_RANK ;; # no mask: one each
  *:1 | 1:*) ;;                  # masked to one, which is then the first; or alone on the node
  *) [ "${envcfg_own##*:}" = "$envcfg_count" ] || envcfg_ids=$LOCAL_RANK ;;
esac
envcfg_set JAX_LOCAL_DEVICE_IDS "$envcfg_ids"
ENVCFG_TEXT
