# shellcheck shell=sh

# mkdir without -p: what is there already, a link too, is not taken over but checked.
# envcfg:begin node
export ENVCFG_CACHE="$ENVCFG_CACHE_BASE-${SLURMD_NODENAME:-local}"
# envcfg:end node
if [ ! -d "$ENVCFG_CACHE" ] && ! envcfg_mkdir -- "$ENVCFG_CACHE" 2>/dev/null; then
  [ -e "$ENVCFG_CACHE" ] || [ -h "$ENVCFG_CACHE" ] || envcfg_fail \
    "cannot make the folder $ENVCFG_CACHE for caches" \
    'is its parent there and yours to write, and mkdir in the image?'
fi
envcfg_own "$ENVCFG_CACHE"
