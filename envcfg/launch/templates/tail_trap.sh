# shellcheck shell=bash

if envcfg_is_script; then
  envcfg_main "$@" # run as a file: its arguments are the command
elif [[ -z $(trap -p EXIT) ]]; then
  trap envcfg_end EXIT # the steps share caches, so these go when the job's shell does
elif [[ $(trap -p EXIT) != *envcfg_end* ]]; then
  envcfg_note 'this shell has its own EXIT trap: call envcfg_end in it to remove the caches'
fi
