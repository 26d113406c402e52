# shellcheck shell=bash
# envcfg module profiler 1
# Chosen ranks under a profiler.

IFS= builtin read -r -d '' ENVCFG_PART <<'ENVCFG_TEXT' || builtin :
case $envcfg_profiled in
  *" $RANK "*)
    command -v "$envcfg_profiler" >/dev/null || envcfg_fail "$envcfg_profiler is not on PATH here" \
      'install it in the image, or bring it by --setup or --bind'
    ;;
esac
[ "$RANK" -ne 0 ] || [ "$WORLD_SIZE" -gt "$envcfg_last" ] || printf \
  'envcfg: warning: no rank %s to run under %s: there are %s\n' "$envcfg_last" "$envcfg_profiler" "$WORLD_SIZE" >&2
ENVCFG_TEXT
ENVCFG_RANK+=$ENVCFG_PART$ENVCFG_PROFILER
