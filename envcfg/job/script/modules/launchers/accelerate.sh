# shellcheck shell=bash # launchers/accelerate 2: accelerate: one agent per node starts the ranks
# ranks: RANK set by accelerate, LOCAL_RANK set by accelerate, WORLD_SIZE nodes x ranks per node by accelerate
ENVCFG_RANK+=$(\builtin declare -f envcfg_task_settings)$'\n'
envcfg_in_rank <<'ENVCFG_TEXT'
envcfg_task_settings
unset -v RANK LOCAL_RANK WORLD_SIZE LOCAL_WORLD_SIZE
# One agent per node, which starts the ranks; in each, the worker part runs first. The
# agents meet at the first node, each knowing its number: torchrun's static rendezvous.
envcfg_python=$1
set -- --no_python /bin/sh -c "$ENVCFG_WORKER" envcfg-rank "$@"
ENVCFG_TEXT
ENVCFG_RANK+=$ENVCFG_AGENT_OPTIONS
envcfg_in_rank <<'ENVCFG_TEXT'
if [ "$((envcfg_nodes * ENVCFG_LOCAL_RANKS))" -eq 1 ]; then # a plain process, as it starts that
  export RANK=0 LOCAL_RANK=0 WORLD_SIZE=1 LOCAL_WORLD_SIZE=1 GROUP_RANK=0
fi
# What to start says the user's own configuration, if there is one that names more than ranks.
envcfg_mode=--multi_gpu
[ -z "$envcfg_has_mode" ] || envcfg_mode=''                          # the command's own options say it
[ "$((envcfg_nodes * ENVCFG_LOCAL_RANKS))" -gt 1 ] || envcfg_mode='' # it wants two at least
envcfg_config=${HF_HOME-${XDG_CACHE_HOME-${HOME-}/.cache}/huggingface}/accelerate/default_config.yaml
if [ -z "$envcfg_has_mode" ] && [ -f "$envcfg_config" ] && [ -r "$envcfg_config" ]; then
  while read -r envcfg_key envcfg_value || [ -n "$envcfg_key" ]; do
    case $envcfg_key$envcfg_value in
      distributed_type:*DEEPSPEED* | distributed_type:*FSDP* | distributed_type:*MEGATRON_LM*)
        envcfg_mode=''
        [ "$NODE_RANK" -ne 0 ] || printf 'envcfg: note: %s\n' \
          "accelerate starts $envcfg_value, as $envcfg_config says" >&2
        ;;
    esac
  done <"$envcfg_config"
fi
[ -z "$envcfg_mode" ] || set -- "$envcfg_mode" "$@"
# By itself it would start the other nodes of DeepSpeed by pdsh.
set -- --num_machines="$envcfg_nodes" --num_processes="$((envcfg_nodes * ENVCFG_LOCAL_RANKS))" \
  --machine_rank="$NODE_RANK" --main_process_ip="$MASTER_ADDR" --main_process_port="$MASTER_PORT" \
  --rdzv_backend=static --same_network --deepspeed_multinode_launcher=standard --gpu_ids=all "$@"
unset -v ENVCFG_WORKER
case ${envcfg_python##*/} in
  python | python[0-9]*) exec "$envcfg_python" -m accelerate.commands.launch "$@" ;;
  *) exec accelerate launch "$@" ;;
esac
ENVCFG_TEXT
