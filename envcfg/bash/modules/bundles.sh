# shellcheck shell=bash
# envcfg module bundles 1
# Variables and options that work together only, so all of them are set or none.

envcfg_agrees() { # BUNDLE NAME VALUE...: whether the job itself sets none of it otherwise
  local envcfg_bundle=$1 envcfg_shown
  shift
  while (($# > 0)); do
    if [[ -n ${!1+set} && ${!1} != "$2" ]]; then
      envcfg_show "${!1}"
      envcfg_note "$envcfg_bundle is left out as a whole: the job sets $1=$envcfg_shown, not $2"
      return 1
    fi
    shift 2
  done
}
