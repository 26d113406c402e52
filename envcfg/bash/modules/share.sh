# shellcheck shell=bash
# envcfg module share 2
# What a step takes from the job's shell, for other programs of envcfg.

envcfg_share() { # in its own shell: export what a step takes from the job's shell, exported there or not
  local envcfg_name
  for envcfg_name in "${ENVCFG_TAKEN[@]}"; do
    if [[ -n ${!envcfg_name+set} ]]; then export "${envcfg_name?}"; fi
  done
}
