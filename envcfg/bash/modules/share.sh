# shellcheck shell=bash
# envcfg module share 1
# What a step takes from the job's shell, for other programs of envcfg.

envcfg_share() { # in a shell of its own: export what a step takes from the job's shell, exported there or not
  local envcfg_name
  for envcfg_name in "${ENVCFG_TAKEN[@]}"; do
    if [[ -n ${!envcfg_name+set} ]]; then export "${envcfg_name?}"; fi
  done
}
