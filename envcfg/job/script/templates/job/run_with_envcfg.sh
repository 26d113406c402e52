# shellcheck shell=bash disable=SC2034

# For a program that starts a launch line: it knows no functions of this shell.
run_with_envcfg=$(declare -f with_envcfg exec_with_envcfg)$'\nexec_with_envcfg "$@"'
