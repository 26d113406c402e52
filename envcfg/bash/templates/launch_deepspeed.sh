# shellcheck shell=sh

# What DeepSpeed's own launcher would set, beside RANK, WORLD_SIZE and the others.
# envcfg:begin nodes
envcfg_need SLURM_STEP_NUM_NODES "${SLURM_STEP_NUM_NODES-}"
envcfg_nodes=$SLURM_STEP_NUM_NODES
# envcfg:end nodes
envcfg_set LOCAL_SIZE "$LOCAL_WORLD_SIZE"
envcfg_set CROSS_RANK "$NODE_RANK"
envcfg_set CROSS_SIZE "$envcfg_nodes"
