# shellcheck shell=bash # worker_cores 2: bind each rank that an agent starts to its own cores
envcfg_in_rank <<'ENVCFG_TEXT'
# The mask of this rank, from those of the node: "0x7f,0x3f80". A rank that cannot be bound runs all the same.
if [ -n "${ENVCFG_CORES-}" ]; then
  envcfg_rest=$ENVCFG_CORES
  envcfg_count=0
  while [ "$envcfg_count" -lt "$LOCAL_RANK" ]; do
    envcfg_rest=${envcfg_rest#*,}
    envcfg_count=$((envcfg_count + 1))
  done
  if ! command -v taskset >/dev/null 2>&1; then
    [ "$RANK" -ne 0 ] || echo 'envcfg: note: ranks are not bound to the cores next to their GPUs: the image has no taskset' >&2
  elif ! taskset -p "${envcfg_rest%%,*}" "$$" >/dev/null 2>&1; then
    echo "envcfg: note: rank $RANK is not bound to its cores: this task may not use those of the mask ${envcfg_rest%%,*}" >&2
  fi
fi
unset -v ENVCFG_CORES
ENVCFG_TEXT
