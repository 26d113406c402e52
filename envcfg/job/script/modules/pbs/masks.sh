# shellcheck shell=bash # pbs/masks 2: PBS: bind ranks to the cores next to their GPUs (mpiexec of PALS)
# reads: ENVCFG_CPU_LISTS
envcfg_pin() { # RANKS: bind each of a node to the cores next to its GPU, if the node is all ours
  local -a envcfg_cpus
  if envcfg_is_bound; then return 1; fi
  IFS=: read -r -a envcfg_cpus <<<"$ENVCFG_CPU_LISTS"
  if [[ $ENVCFG_DIALECT != pals ]]; then
    envcfg_note 'ranks are not bound to the cores next to their GPUs: that is known of the mpiexec of PALS only'
  elif (($1 > ${#envcfg_cpus[@]})); then
    envcfg_note "ranks are not bound to cores: $1 per node, but the profile has masks for ${#envcfg_cpus[@]}"
  elif envcfg_may_pin; then
    ENVCFG_SIZED+=(--cpu-bind "list:$ENVCFG_CPU_LISTS")
    return
  fi
  return 1
}
