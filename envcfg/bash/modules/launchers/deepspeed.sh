# shellcheck shell=bash
# envcfg module launchers/deepspeed 2
# DeepSpeed: what its own launcher would set.

IFS= builtin read -r -d '' ENVCFG_PART <<'ENVCFG_TEXT' || builtin :
# What DeepSpeed's own launcher would set, besides RANK, WORLD_SIZE and the others.
envcfg_in_set LOCAL_SIZE "$LOCAL_WORLD_SIZE"
envcfg_in_set CROSS_RANK "$NODE_RANK"
envcfg_in_set CROSS_SIZE "$envcfg_nodes"
ENVCFG_TEXT
ENVCFG_RANK+=$ENVCFG_PART
