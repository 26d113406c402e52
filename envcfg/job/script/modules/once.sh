# shellcheck shell=bash # once 1: run the program on the first node only
envcfg_in_rank <<'ENVCFG_TEXT'
[ "$NODE_RANK" -eq 0 ] || exit 0
ENVCFG_TEXT
