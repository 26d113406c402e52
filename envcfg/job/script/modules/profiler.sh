# shellcheck shell=bash # profiler 2: run chosen ranks under a profiler
# adds: SET=envcfg_name_profile
envcfg_name_profile() { ENVCFG_ARGS+=("ENVCFG_JOB=$ENVCFG_JOB"); } # by which its files are named

envcfg_in_rank <<'ENVCFG_TEXT'
case $envcfg_profiled in
  *" $RANK "*)
    command -v "$envcfg_profiler" >/dev/null || envcfg_fail "$envcfg_profiler is not on PATH here" \
      'install it in the image, or bring it by --setup or --bind'
    ;;
esac
[ "$RANK" -ne 0 ] || [ "$WORLD_SIZE" -gt "$envcfg_last" ] || printf \
  'envcfg: warning: no rank %s to run under %s: there are %s\n' "$envcfg_last" "$envcfg_profiler" "$WORLD_SIZE" >&2
ENVCFG_TEXT
ENVCFG_RANK+=$ENVCFG_PROFILER
