# shellcheck shell=bash disable=SC1090

with_envcfg() { # LAUNCH LINE: do what it says, with what the system needs
  # A variable that is empty starts nothing.
  if (($# == 0)); then return; fi
  local -
  { set +xE; } 2>/dev/null # what is traced and trapped is the script's own
  source <(ENVCFG_WRAP --launch-line -- "$@" || echo exit $?) || return $?
}
