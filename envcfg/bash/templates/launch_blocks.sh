# shellcheck shell=sh
# What templates of launchers hold in place of their own where the tasks are not srun's.

# envcfg:begin local_meet
set -- --standalone --nnodes=1 --nproc-per-node="$ENVCFG_LOCAL_RANKS" "$@"
# envcfg:end local_meet
# envcfg:begin local_nodes
envcfg_nodes=1
# envcfg:end local_nodes
# envcfg:begin flux_nodes
envcfg_nodes=$FLUX_JOB_NNODES
# envcfg:end flux_nodes
