# shellcheck shell=bash
# envcfg module local_rank 1
# The local rank as an argument of the program.

IFS= builtin read -r -d '' ENVCFG_PART <<'ENVCFG_TEXT' || builtin :
# Some launchers give each program its local rank, as the first argument.
envcfg_left=$#
while [ "$envcfg_left" -gt 0 ]; do
  [ "$envcfg_at" -ne 0 ] || set -- "$@" "$envcfg_option=$LOCAL_RANK"
  set -- "$@" "$1"
  shift
  envcfg_at=$((envcfg_at - 1))
  envcfg_left=$((envcfg_left - 1))
done
[ "$envcfg_at" -ne 0 ] || set -- "$@" "$envcfg_option=$LOCAL_RANK"
ENVCFG_TEXT
ENVCFG_RANK+=$ENVCFG_PART
