# shellcheck shell=sh

# Who this task is, as srun says. The step's first node is found here because only the
# step has its list; the port is the job's and the step's own, below the ephemeral range.
[ -n "${SLURM_PROCID-}" ] \
  || envcfg_fail 'SLURM_PROCID is not set in this task' 'start it by srun'
export NODE_RANK="$SLURM_NODEID"
if ! envcfg_is_preset MASTER_ADDR; then
  envcfg_first_node "$SLURM_STEP_NODELIST"
  # envcfg:begin master
  export MASTER_ADDR="$envcfg_node"
  # envcfg:end master
fi
if ! envcfg_is_preset MASTER_PORT; then
  export MASTER_PORT="$((10000 + (SLURM_JOB_ID * 101 + SLURM_STEP_ID) % 20000))"
fi
