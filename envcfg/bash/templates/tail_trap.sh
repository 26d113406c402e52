# shellcheck shell=bash

if envcfg_is_script; then
  envcfg_run "$@" # run as a file: its arguments are the command
elif [[ ${ENVCFG_TRAPPED-} != "$BASHPID" ]]; then
  # The steps share caches, which go when this shell does. In a subshell trap -p shows what
  # is not its own, and a subshell's own EXIT trap is rarer than a cache that stays.
  if [[ $BASHPID == "$$" && -n $(builtin trap -p EXIT) ]]; then
    envcfg_note 'this shell has its own EXIT trap: call envcfg_end in it to remove the caches'
  else
    builtin trap envcfg_end EXIT
  fi
  ENVCFG_TRAPPED=$BASHPID
fi
