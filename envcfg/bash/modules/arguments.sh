# shellcheck shell=bash
# envcfg module arguments 1
# The first words of a rank are its settings: behind its preparation, which they win over.

IFS= builtin read -r -d '' ENVCFG_PART <<'ENVCFG_TEXT' || builtin :
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
ENVCFG_RANK+=$ENVCFG_PART
