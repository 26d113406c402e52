# shellcheck shell=bash # unranked 1: hide the task's variables of a rank from a program that is no rank
# ranks: RANK unset, LOCAL_RANK unset, WORLD_SIZE unset
envcfg_in_rank <<'ENVCFG_TEXT'
unset -v RANK LOCAL_RANK WORLD_SIZE LOCAL_WORLD_SIZE
ENVCFG_TEXT
