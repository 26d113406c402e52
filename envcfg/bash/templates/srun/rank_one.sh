# shellcheck shell=sh

# "4(x2),3": four tasks on two nodes, three on the next. How many are on this one?
envcfg_need SLURM_STEP_TASKS_PER_NODE "${SLURM_STEP_TASKS_PER_NODE-}"
envcfg_rest=$SLURM_STEP_TASKS_PER_NODE
envcfg_skip=$SLURM_NODEID
while :; do
  envcfg_item=${envcfg_rest%%,*}
  case $envcfg_item in
    *'(x'*)
      envcfg_count=${envcfg_item#*(x}
      envcfg_count=${envcfg_count%)}
      ;;
    *) envcfg_count=1 ;;
  esac
  if [ "$envcfg_skip" -lt "$envcfg_count" ] || [ "$envcfg_rest" = "$envcfg_item" ]; then
    break
  fi
  envcfg_skip=$((envcfg_skip - envcfg_count))
  envcfg_rest=${envcfg_rest#*,}
done
envcfg_need SLURM_LOCALID "${SLURM_LOCALID-}"
envcfg_need SLURM_STEP_NUM_TASKS "${SLURM_STEP_NUM_TASKS-}"
export RANK="$SLURM_PROCID" LOCAL_RANK="$SLURM_LOCALID"
export WORLD_SIZE="$SLURM_STEP_NUM_TASKS" LOCAL_WORLD_SIZE="${envcfg_item%%(*}"
