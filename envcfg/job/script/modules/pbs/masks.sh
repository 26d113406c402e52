# shellcheck shell=bash # pbs/masks 3: PBS: bind ranks to the cores next to their GPUs (mpiexec of PALS)
# reads: ENVCFG_CPU_LISTS
envcfg_pin() { # RANKS: bind each of a node to the cores next to its GPU, if the node is all ours
  local -a envcfg_cpus
  if envcfg_is_bound; then return 1; fi
  if [[ $ENVCFG_DIALECT != pals ]]; then
    envcfg_note 'ranks are not bound to the cores next to their GPUs: that is known of the mpiexec of PALS only'
  elif envcfg_may_pin "$1"; then
    envcfg_numbers "${ENVCFG_CPU_LISTS%%:*}"
    # Without a depth, loaders of Aurora's users had one CPU: argonne-lcf/user-guides issue 901.
    ENVCFG_SIZED+=(--cpu-bind "list:$ENVCFG_CPU_LISTS" -d "${#envcfg_cpus[@]}")
    envcfg_set_threads
    return
  fi
  return 1
}
