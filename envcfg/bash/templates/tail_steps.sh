# shellcheck shell=bash

if envcfg_is_script; then envcfg_run "$@"; fi # run as a file: its arguments are the command
