# shellcheck shell=bash # launchers/deepspeed 3: set the variables that DeepSpeed's own launcher sets
# sets: LOCAL_SIZE CROSS_RANK CROSS_SIZE
envcfg_in_rank <<'ENVCFG_TEXT'
# What DeepSpeed's own launcher would set, besides RANK, WORLD_SIZE and the others.
envcfg_set LOCAL_SIZE "$LOCAL_WORLD_SIZE"
envcfg_set CROSS_RANK "$NODE_RANK"
envcfg_set CROSS_SIZE "$envcfg_nodes"
ENVCFG_TEXT
