# shellcheck shell=bash
# envcfg module stated 1
# Made for a stated number of nodes, by --fact nodes=N.

ENVCFG_SHAPE+=' envcfg_stated'

envcfg_stated() {
  if [[ $ENVCFG_NODES_STATED != "$ENVCFG_NODES" ]]; then
    envcfg_fault "made for $ENVCFG_NODES_STATED nodes, but the job has $ENVCFG_NODES" \
      'leave out --fact nodes=..., then the job decides'
  fi
}
