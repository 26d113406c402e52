# shellcheck shell=sh

# Who this task is, as Flux says; not which node it is on. That follows, as each node has
# the same number of tasks (flux run -N -n), numbered node by node (its default task map).
envcfg_need FLUX_TASK_RANK "${FLUX_TASK_RANK-}"
envcfg_need FLUX_TASK_LOCAL_ID "${FLUX_TASK_LOCAL_ID-}"
envcfg_need FLUX_JOB_SIZE "${FLUX_JOB_SIZE-}"
envcfg_need FLUX_JOB_NNODES "${FLUX_JOB_NNODES-}"
export RANK="$FLUX_TASK_RANK" LOCAL_RANK="$FLUX_TASK_LOCAL_ID" WORLD_SIZE="$FLUX_JOB_SIZE"
export LOCAL_WORLD_SIZE="$((FLUX_JOB_SIZE / FLUX_JOB_NNODES))"
export NODE_RANK="$((RANK / LOCAL_WORLD_SIZE))"
# envcfg:begin nodes
envcfg_nodes=$FLUX_JOB_NNODES
# envcfg:end nodes
[ "$LOCAL_RANK" -eq "$((RANK % LOCAL_WORLD_SIZE))" ] || envcfg_fail \
  "task $RANK is number $LOCAL_RANK on its node, so tasks are not numbered node by node" \
  'envcfg needs the task map block, which is what Flux takes by itself'
if ! envcfg_is_preset MASTER_ADDR; then
  export MASTER_ADDR="$ENVCFG_MASTER_ADDR$envcfg_suffix"
fi
if ! envcfg_is_preset MASTER_PORT; then # below the ephemeral range, from the step's own id
  envcfg_need FLUX_JOB_ID "${FLUX_JOB_ID-}"
  envcfg_rest=$FLUX_JOB_ID
  envcfg_number=0
  while [ -n "$envcfg_rest" ]; do # the id is a number to base 58; taken modulo a prime
    envcfg_digit=${envcfg_rest%"${envcfg_rest#?}"}
    envcfg_rest=${envcfg_rest#?}
    envcfg_lower=123456789abcdefghijkmnopqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ
    envcfg_lower=${envcfg_lower%%"$envcfg_digit"*}
    envcfg_number=$(((envcfg_number * 58 + ${#envcfg_lower}) % 19997))
  done
  export MASTER_PORT="$((10000 + envcfg_number))"
fi
envcfg_need MASTER_ADDR "${MASTER_ADDR-unset}" # the job's own, maybe
envcfg_need MASTER_PORT "${MASTER_PORT-unset}"
