# shellcheck shell=sh

# One agent per node, which starts the ranks; in each, the worker part runs first.
envcfg_python=$1
set -- --no-python /bin/sh -c "$ENVCFG_WORKER" envcfg-rank "$@"
# envcfg:begin options
# envcfg:end options
# envcfg:begin local
set -- --local-addr="$SLURMD_NODENAME" "$@"
# envcfg:end local
# envcfg:begin meet
envcfg_need SLURM_STEP_NUM_NODES "${SLURM_STEP_NUM_NODES-}"
set -- --nnodes="$SLURM_STEP_NUM_NODES" --nproc-per-node="$ENVCFG_LOCAL_RANKS" \
  --rdzv-backend=c10d --rdzv-id="$SLURM_JOB_ID.$SLURM_STEP_ID" \
  --rdzv-endpoint="$MASTER_ADDR:$MASTER_PORT" \
  --rdzv-conf="is_host=$((NODE_RANK == 0))" "$@"
# envcfg:end meet
unset -v ENVCFG_WORKER
case ${envcfg_python##*/} in
  python | python[0-9]*) exec "$envcfg_python" -m torch.distributed.run "$@" ;;
  *) exec torchrun "$@" ;;
esac
