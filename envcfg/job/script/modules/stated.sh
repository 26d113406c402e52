# shellcheck shell=bash # stated 2: check the number of nodes given by --fact nodes=N
# adds: SHAPE=envcfg_stated; reads: ENVCFG_NODES_STATED
envcfg_stated() {
  if [[ $ENVCFG_NODES_STATED != "$ENVCFG_NODES" ]]; then
    envcfg_fault "made for $ENVCFG_NODES_STATED nodes, but the job has $ENVCFG_NODES" \
      'leave out --fact nodes=..., then the job decides'
  fi
}
