# shellcheck shell=bash # pbs/agent 5: PBS: one task per node, in which an agent starts the ranks
# needs: per_node; reads: ENVCFG_CPU_MASKS
envcfg_launch() { # COMMAND...: one task per node, in which an agent starts the ranks
  local envcfg_hosts envcfg_ranks
  envcfg_per_node || return $?
  envcfg_sized 1
  envcfg_unbind
  unset -v ENVCFG_CORES # of an outer step
  printf -v envcfg_hosts '%s,' "${ENVCFG_HOSTS[@]:0:ENVCFG_NODES}"
  if [[ -n $ENVCFG_CPU_MASKS ]] && ! envcfg_is_bound && envcfg_may_pin "$envcfg_ranks"; then
    ENVCFG_ARGS+=("ENVCFG_CORES=$ENVCFG_CPU_MASKS")
    envcfg_set_threads
  fi
  ENVCFG_ARGS+=("ENVCFG_LOCAL_RANKS=$envcfg_ranks" "ENVCFG_WORKER=$ENVCFG_WORKER" "ENVCFG_HOSTS=$envcfg_hosts")
  envcfg_mpiexec 1 "$@"
}
