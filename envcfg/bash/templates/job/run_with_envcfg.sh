# shellcheck shell=bash disable=SC2034

run_with_envcfg=$(declare -f with_envcfg)$'\nwith_envcfg "$@"' # for programs that start a launch line
