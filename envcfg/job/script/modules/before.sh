# shellcheck shell=bash # before 1: run a program before the ranks
envcfg_before() { # COMMAND...: run it; a signal reaches it
  local envcfg_code=0
  envcfg_spawn "$@"
  envcfg_wait "${ENVCFG_PIDS[@]}" || envcfg_code=$?
  ENVCFG_PIDS=()
  return "$envcfg_code"
}
