# shellcheck shell=sh

# accelerate starts one plain process where its configuration says distributed_type: NO.
[ -n "${RANK-}" ] || envcfg_fail 'this process was not started as a rank' \
  'let --config_file say distributed_type: MULTI_GPU, or leave it out'
export NODE_RANK="$GROUP_RANK" # as torchrun has ordered the nodes
