# shellcheck shell=sh
# envcfg:begin local
if [ "$NODE_RANK" -eq 0 ]; then set -- --local-addr="$MASTER_ADDR" "$@"; fi
# envcfg:end local
