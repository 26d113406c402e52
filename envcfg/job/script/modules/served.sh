# shellcheck shell=bash # served 2: report when a server of the first node answers
# adds: SET=envcfg_served
IFS= builtin read -r -d '' ENVCFG_HEALTH <<'ENVCFG_TEXT' || builtin :
@server_health.py@
ENVCFG_TEXT
envcfg_served() {
  ENVCFG_ARGS+=("ENVCFG_HEALTH=$ENVCFG_HEALTH" "ENVCFG_SERVER_SECONDS=${ENVCFG_SERVER_SECONDS-}")
}

envcfg_in_rank <<'ENVCFG_TEXT'
if [ "$NODE_RANK" -eq 0 ] && envcfg_python=$(command -v python3 || command -v python); then
  set -- "$envcfg_python" -c "$ENVCFG_HEALTH" "$envcfg_server" "$envcfg_port" "$envcfg_path" "$@"
fi
unset -v ENVCFG_HEALTH
ENVCFG_TEXT
