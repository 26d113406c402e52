# shellcheck shell=bash # worker 2: the part of each rank that an agent starts
ENVCFG_AGENT=$ENVCFG_RANK ENVCFG_RANK=$(\builtin declare -f envcfg_rank_settings)$'\n'$ENVCFG_CORE
envcfg_in_rank <<'ENVCFG_TEXT'
# accelerate starts one plain process where its configuration says distributed_type: NO.
[ -n "${RANK-}" ] || envcfg_fail 'this process was not started as a rank' \
  'let --config_file say distributed_type: MULTI_GPU, or leave it out'
export NODE_RANK="$GROUP_RANK" # as torchrun has ordered the nodes
envcfg_rank_settings
ENVCFG_TEXT
