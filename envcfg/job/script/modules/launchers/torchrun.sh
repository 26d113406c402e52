# shellcheck shell=bash # launchers/torchrun 2: torchrun: one agent per node starts the ranks
# ranks: RANK set by torchrun, LOCAL_RANK set by torchrun, WORLD_SIZE nodes x ranks per node by torchrun
ENVCFG_RANK+=$(\builtin declare -f envcfg_task_settings)$'\n'
envcfg_in_rank <<'ENVCFG_TEXT'
envcfg_task_settings
unset -v RANK LOCAL_RANK WORLD_SIZE LOCAL_WORLD_SIZE
# One agent per node, which starts the ranks; in each, the worker part runs first.
envcfg_python=$1
set -- --no-python /bin/sh -c "$ENVCFG_WORKER" envcfg-rank "$@"
ENVCFG_TEXT
ENVCFG_RANK+=$ENVCFG_AGENT_OPTIONS
envcfg_in_rank <<'ENVCFG_TEXT'
if [ -n "$envcfg_address" ]; then set -- --local-addr="$envcfg_address" "$@"; fi
set -- --nnodes="$envcfg_nodes" --nproc-per-node="$ENVCFG_LOCAL_RANKS" \
  --rdzv-backend=c10d --rdzv-id="$envcfg_id" --rdzv-endpoint="$MASTER_ADDR:$MASTER_PORT" \
  --rdzv-conf="is_host=$((NODE_RANK == 0))" "$@"
unset -v ENVCFG_WORKER
case ${envcfg_python##*/} in
  python | python[0-9]*) exec "$envcfg_python" -m torch.distributed.run "$@" ;;
  *) exec torchrun "$@" ;;
esac
ENVCFG_TEXT
