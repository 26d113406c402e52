# shellcheck shell=bash # bundles 3: variables and options that only work together: set all or none
# needs: force; defines: envcfg_agrees
envcfg_agrees() { # BUNDLE NAME VALUE...: whether the job itself sets none of it otherwise
  local envcfg_bundle=$1 envcfg_shown
  shift
  while (($# > 0)); do
    if [[ -n ${!1+set} && ${!1} != "$2" ]]; then
      envcfg_show "$1" "${!1}"
      envcfg_bundle+=" is left out as a whole: the job sets $1=$envcfg_shown"
      envcfg_show "$1" "$2"
      envcfg_note "$envcfg_bundle, not $envcfg_shown"
      return 1
    fi
    shift 2
  done
}
