# shellcheck shell=sh

# deepspeed gives each program its local rank, as the first argument.
envcfg_left=$#
while [ "$envcfg_left" -gt 0 ]; do
  [ "$envcfg_at" -ne 0 ] || set -- "$@" --local_rank="$LOCAL_RANK"
  set -- "$@" "$1"
  shift
  envcfg_at=$((envcfg_at - 1))
  envcfg_left=$((envcfg_left - 1))
done
[ "$envcfg_at" -ne 0 ] || set -- "$@" --local_rank="$LOCAL_RANK"
