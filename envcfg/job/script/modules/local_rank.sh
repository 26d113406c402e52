# shellcheck shell=bash # local_rank 2: pass the local rank to the program as an argument
envcfg_in_rank <<'ENVCFG_TEXT'
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
