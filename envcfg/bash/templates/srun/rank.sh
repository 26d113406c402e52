# shellcheck shell=sh

# Who this task is, as srun says. The step's first node is found here because only the
# step has its list; the port is the job's and the step's own, below the ephemeral range.
envcfg_need SLURM_PROCID "${SLURM_PROCID-}"
envcfg_need SLURM_NODEID "${SLURM_NODEID-}"
export NODE_RANK="$SLURM_NODEID"
# envcfg:begin nodes
envcfg_need SLURM_STEP_NUM_NODES "${SLURM_STEP_NUM_NODES-}"
envcfg_nodes=$SLURM_STEP_NUM_NODES
# envcfg:end nodes
# envcfg:begin id
envcfg_need SLURM_JOB_ID "${SLURM_JOB_ID-}"
envcfg_need SLURM_STEP_ID "${SLURM_STEP_ID-}"
envcfg_id=$SLURM_JOB_ID.$SLURM_STEP_ID # of what this step starts together
# envcfg:end id
if ! envcfg_is_preset MASTER_ADDR; then
  envcfg_need SLURM_STEP_NODELIST "${SLURM_STEP_NODELIST-}"
  envcfg_first_node "$SLURM_STEP_NODELIST" || envcfg_fail \
    "SLURM_STEP_NODELIST is no list of nodes: '$SLURM_STEP_NODELIST'" 'set MASTER_ADDR'
  # envcfg:begin master
  export MASTER_ADDR="$envcfg_node$envcfg_suffix"
  # envcfg:end master
fi
if ! envcfg_is_preset MASTER_PORT; then
  envcfg_need SLURM_JOB_ID "${SLURM_JOB_ID-}"
  envcfg_need SLURM_STEP_ID "${SLURM_STEP_ID-}"
  export MASTER_PORT="$((10000 + (SLURM_JOB_ID * 101 + SLURM_STEP_ID) % 20000))"
fi
envcfg_need MASTER_ADDR "${MASTER_ADDR-unset}" # the job's own, maybe
envcfg_need MASTER_PORT "${MASTER_PORT-unset}"
# envcfg:begin address
envcfg_address=$SLURMD_NODENAME$envcfg_suffix # of this node, for its agent
# envcfg:end address
