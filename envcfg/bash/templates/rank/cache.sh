# shellcheck shell=sh

# mkdir without -p: what is there already, a link too, is not taken over but checked.
# envcfg:begin host
envcfg_host=local
# envcfg:end host
export ENVCFG_CACHE="$ENVCFG_CACHE_BASE-$envcfg_host"
if [ ! -d "$ENVCFG_CACHE" ] && ! envcfg_mkdir -- "$ENVCFG_CACHE" 2>/dev/null; then
  [ -e "$ENVCFG_CACHE" ] || [ -h "$ENVCFG_CACHE" ] || envcfg_fail \
    "cannot make the folder $ENVCFG_CACHE for caches" \
    'is its parent there and yours to write, and mkdir in the image?'
fi
envcfg_own "$ENVCFG_CACHE"
