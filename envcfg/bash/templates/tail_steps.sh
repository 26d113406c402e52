# shellcheck shell=bash

if envcfg_is_script; then envcfg_main "$@"; fi # run as a file: its arguments are the command
