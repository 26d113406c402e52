# shellcheck shell=bash # ray 6: make one Ray cluster of the nodes, and run the program on the first when all are there
# ranks: MASTER_ADDR unset: Ray starts its own ranks
# adds: SET=envcfg_ray
IFS= builtin read -r -d '' ENVCFG_RAY <<'ENVCFG_TEXT' || builtin :
@ray_cluster.py@
ENVCFG_TEXT
envcfg_ray() {
  ENVCFG_ARGS+=("ENVCFG_RAY=$ENVCFG_RAY" "ENVCFG_RAY_SECONDS=${ENVCFG_RAY_SECONDS-}" "ENVCFG_RAY_HEAD=${ENVCFG_RAY_HEAD-}")
}

envcfg_in_rank <<'ENVCFG_TEXT'
envcfg_python=$(command -v python3 || command -v python) || envcfg_fail 'this image has no python3' \
  'use an image with Ray'
set -- "$envcfg_python" -c "$ENVCFG_RAY" "$WORLD_SIZE" "$NODE_RANK" "$MASTER_ADDR" "$MASTER_PORT" \
  "${envcfg_id:-$ENVCFG_JOB}" "$@"
unset -v ENVCFG_RAY MASTER_ADDR MASTER_PORT
ENVCFG_TEXT
