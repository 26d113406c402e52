# shellcheck shell=bash # hosts 2: choose nodes of a step from the job's list of nodes
envcfg_chosen() { # the step's nodes are these of the job's, in ENVCFG_HOSTS, and ranks meet on the first
  local envcfg_number
  local -a envcfg_names=()
  for envcfg_number in "${ENVCFG_CHOSEN[@]}"; do envcfg_names+=("${ENVCFG_HOSTS[envcfg_number]}"); done
  ENVCFG_HOSTS=("${envcfg_names[@]}")
  ENVCFG_MASTER_ADDR=${ENVCFG_HOSTS[0]}
}
