# shellcheck shell=bash disable=SC1090

with_envcfg() { # LAUNCH LINE: do what it says, with what the system needs
  # A variable that is empty starts nothing.
  if (($# == 0)); then return; fi
  local - ENVCFG_NOTES
  { set +xE; } 2>/dev/null # what is traced and trapped is the script's own
  ENVCFG_NOTES=2
  # In "2>&1 | sort" the program's lines are data: envcfg's own go to the stderr of the script,
  # except to a file that is not open to append, which later lines would overwrite.
  if [[ -p /dev/fd/2 && ! /dev/fd/2 -ef /proc/$$/fd/2 ]] \
    && [[ ! -f /proc/$$/fd/2 || $(<"/proc/$$/fdinfo/2") == *flags:*[2367][0-7][0-7][0-7]$'\n'* ]]; then
    { exec {ENVCFG_NOTES}>>"/proc/$$/fd/2"; } 2>/dev/null || ENVCFG_NOTES=2
  fi
  ENVCFG_NOTES[1]=$ENVCFG_NOTES # an array: core.sh takes no such name from the environment
  source <(ENVCFG_WRAP --launch-line -- "$@" 2>&"${ENVCFG_NOTES[1]}" || echo exit $?) || return $?
}
