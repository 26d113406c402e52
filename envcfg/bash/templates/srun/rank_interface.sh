# shellcheck shell=sh
# Blocks of rank.sh where ranks meet at the address of an interface.
# envcfg:begin master
[ "$envcfg_node" = "$ENVCFG_MASTER_NODE" ] || envcfg_fail \
  "this step begins on $envcfg_node, but only the address of $ENVCFG_MASTER_NODE is known" \
  'let the step begin on the first node of the job, or set MASTER_ADDR'
export MASTER_ADDR="$ENVCFG_MASTER_ADDR"
# envcfg:end master
# envcfg:begin address
envcfg_address=''
if [ "$NODE_RANK" -eq 0 ]; then envcfg_address=$MASTER_ADDR; fi
# envcfg:end address
