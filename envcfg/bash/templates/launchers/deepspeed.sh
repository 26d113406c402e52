# shellcheck shell=sh

# What DeepSpeed's own launcher would set, beside RANK, WORLD_SIZE and the others.
envcfg_in_set LOCAL_SIZE "$LOCAL_WORLD_SIZE"
envcfg_in_set CROSS_RANK "$NODE_RANK"
envcfg_in_set CROSS_SIZE "$envcfg_nodes"
