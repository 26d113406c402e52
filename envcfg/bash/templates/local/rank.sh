# shellcheck shell=sh

# Who this task is, its shell has said by arguments.
# envcfg:begin nodes
envcfg_nodes=1
# envcfg:end nodes
# envcfg:begin id
envcfg_id=local-$MASTER_PORT
# envcfg:end id
# envcfg:begin address
envcfg_address=127.0.0.1
# envcfg:end address
