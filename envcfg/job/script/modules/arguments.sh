# shellcheck shell=bash # arguments 2: apply the settings that a rank gets as its first arguments
envcfg_in_rank <<'ENVCFG_TEXT'
while [ "$1" != -- ]; do # NAME=VALUE | -u NAME, then -- COMMAND
  if [ "$1" = -u ]; then
    shift
    unset -v "$1"
  else
    export "${1?}"
  fi
  shift
done
shift
ENVCFG_TEXT
