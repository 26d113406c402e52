# shellcheck shell=bash
# envcfg module worker 1
# What each rank does that an agent starts: what stands behind this is the worker's.

ENVCFG_AGENT=$ENVCFG_RANK
IFS= builtin read -r -d '' ENVCFG_PART <<'ENVCFG_TEXT' || builtin :
# accelerate starts one plain process where its configuration says distributed_type: NO.
[ -n "${RANK-}" ] || envcfg_fail 'this process was not started as a rank' \
  'let --config_file say distributed_type: MULTI_GPU, or leave it out'
export NODE_RANK="$GROUP_RANK" # as torchrun has ordered the nodes
envcfg_inside
ENVCFG_TEXT
ENVCFG_RANK=$ENVCFG_INSIDE_RANK$ENVCFG_CORE$ENVCFG_FOLDERS$ENVCFG_PART
