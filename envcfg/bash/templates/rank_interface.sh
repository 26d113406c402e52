# shellcheck shell=sh
# envcfg:begin master
[ "$envcfg_node" = "$ENVCFG_MASTER_NODE" ] || envcfg_fail \
  "this step begins on $envcfg_node, but only the address of $ENVCFG_MASTER_NODE is known" \
  'let the step begin on the first node of the job, or set MASTER_ADDR'
export MASTER_ADDR="$ENVCFG_MASTER_ADDR"
# envcfg:end master
