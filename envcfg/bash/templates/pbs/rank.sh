# shellcheck shell=sh

# Who this task is, as its mpiexec says; not which node it is on. That follows, as each node
# has the same number of tasks, numbered node by node.
case $ENVCFG_DIALECT in
  pals)
    envcfg_need PALS_RANKID "${PALS_RANKID-}"
    envcfg_need PALS_LOCAL_RANKID "${PALS_LOCAL_RANKID-}"
    export RANK="$PALS_RANKID" LOCAL_RANK="$PALS_LOCAL_RANKID"
    ;;
  hydra)
    envcfg_need PMI_RANK "${PMI_RANK-}"
    envcfg_need MPI_LOCALRANKID "${MPI_LOCALRANKID-}"
    export RANK="$PMI_RANK" LOCAL_RANK="$MPI_LOCALRANKID"
    ;;
  openmpi)
    envcfg_need OMPI_COMM_WORLD_RANK "${OMPI_COMM_WORLD_RANK-}"
    envcfg_need OMPI_COMM_WORLD_LOCAL_RANK "${OMPI_COMM_WORLD_LOCAL_RANK-}"
    export RANK="$OMPI_COMM_WORLD_RANK" LOCAL_RANK="$OMPI_COMM_WORLD_LOCAL_RANK"
    ;;
esac
export LOCAL_WORLD_SIZE="$ENVCFG_TASKS" WORLD_SIZE="$((ENVCFG_TASKS * ENVCFG_STEP_NODES))"
export NODE_RANK="$((RANK / LOCAL_WORLD_SIZE))"
# envcfg:begin nodes
envcfg_nodes=$ENVCFG_STEP_NODES
# envcfg:end nodes
# envcfg:begin id
envcfg_id=$ENVCFG_STEP # of what this step starts together
# envcfg:end id
[ "$LOCAL_RANK" -eq "$((RANK % LOCAL_WORLD_SIZE))" ] || envcfg_fail \
  "task $RANK is number $LOCAL_RANK on its node, so tasks are not numbered node by node" \
  'has an option or a variable told mpiexec to place them otherwise?'
if ! envcfg_is_preset MASTER_ADDR; then
  export MASTER_ADDR="$ENVCFG_MASTER_ADDR$envcfg_suffix"
fi
if ! envcfg_is_preset MASTER_PORT; then
  export MASTER_PORT="$ENVCFG_MASTER_PORT"
fi
envcfg_need MASTER_ADDR "${MASTER_ADDR-unset}" # the job's own, maybe
envcfg_need MASTER_PORT "${MASTER_PORT-unset}"
# envcfg:begin address
envcfg_rest=$ENVCFG_HOSTS
envcfg_skip=$NODE_RANK
while [ "$envcfg_skip" -gt 0 ]; do
  envcfg_rest=${envcfg_rest#*,}
  envcfg_skip=$((envcfg_skip - 1))
done
envcfg_address=${envcfg_rest%%,*}$envcfg_suffix # of this node, for its agent
# envcfg:end address
unset -v ENVCFG_DIALECT ENVCFG_TASKS ENVCFG_STEP_NODES ENVCFG_STEP ENVCFG_MASTER_PORT \
  ENVCFG_HOSTS
