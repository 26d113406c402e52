# shellcheck shell=bash # worker_cores 1: bind each rank that an agent starts to its own cores
envcfg_in_rank <<'ENVCFG_TEXT'
# The mask of this rank, from those of the node: "0x7f,0x3f80". taskset becomes the program.
if [ -n "${ENVCFG_CORES-}" ]; then
  envcfg_rest=$ENVCFG_CORES
  envcfg_count=0
  while [ "$envcfg_count" -lt "$LOCAL_RANK" ]; do
    envcfg_rest=${envcfg_rest#*,}
    envcfg_count=$((envcfg_count + 1))
  done
  if command -v taskset >/dev/null 2>&1; then
    set -- taskset "${envcfg_rest%%,*}" "$@"
  elif [ "$RANK" -eq 0 ]; then
    echo 'envcfg: note: ranks are not bound to the cores next to their GPUs: the image has no taskset' >&2
  fi
fi
unset -v ENVCFG_CORES
ENVCFG_TEXT
