# shellcheck shell=bash

exec_with_envcfg() { # LAUNCH LINE: the same in the place of this shell, whose traps end with it
  { set +x; } 2>/dev/null
  local signal
  for signal in EXIT HUP INT QUIT TERM USR1 USR2; do
    if [[ $(trap -p "$signal") != "trap -- '' "* ]]; then trap - "$signal"; fi
  done
  with_envcfg "$@" || exit $?
  exit 0
}
