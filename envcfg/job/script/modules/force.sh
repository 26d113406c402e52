# shellcheck shell=bash # force 1: settings that override the job's environment
# defines: envcfg_force
envcfg_force() { # {NAME VALUE | -u NAME} [WHOSE]: what the job has set does not count
  envcfg_differs "${3-the profile}" "$1" "$2"
  if [[ $1 == -u ]]; then ENVCFG_ARGS+=(-u "$2"); else ENVCFG_ARGS+=("$1=$2"); fi
}
