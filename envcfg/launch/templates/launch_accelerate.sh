# shellcheck shell=sh

# One agent per node, which starts the ranks; in each, the worker part runs first. The
# agents meet at the first node, each knowing its number: torchrun's static rendezvous.
# envcfg:begin nodes
envcfg_nodes=$SLURM_STEP_NUM_NODES
# envcfg:end nodes
envcfg_python=$1
set -- --no_python /bin/sh -c "$ENVCFG_WORKER" envcfg-rank "$@"
# envcfg:begin options
# envcfg:end options
# envcfg:begin mode
# Of one rank alone accelerate would say that it needs two.
[ "$((envcfg_nodes * ENVCFG_LOCAL_RANKS))" -eq 1 ] || set -- --multi_gpu "$@"
# envcfg:end mode
set -- --num_machines="$envcfg_nodes" --num_processes="$((envcfg_nodes * ENVCFG_LOCAL_RANKS))" \
  --machine_rank="$NODE_RANK" --main_process_ip="$MASTER_ADDR" --main_process_port="$MASTER_PORT" \
  --rdzv_backend=static --same_network "$@"
unset -v ENVCFG_WORKER
case ${envcfg_python##*/} in
  python | python[0-9]*) exec "$envcfg_python" -m accelerate.commands.launch "$@" ;;
  *) exec accelerate launch "$@" ;;
esac
