# shellcheck shell=bash # share 3: export variables of the job's shell for other programs of envcfg
# reads: ENVCFG_TAKEN
envcfg_share() { # in its own shell: export it, exported there or not
  local envcfg_name
  for envcfg_name in $ENVCFG_TAKEN; do
    if [[ -n ${!envcfg_name+set} ]]; then export "${envcfg_name?}"; fi
  done
}
