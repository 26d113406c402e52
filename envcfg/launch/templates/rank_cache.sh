# shellcheck shell=sh

# mkdir without -p: what is there already, a link too, is not taken over but checked.
export ENVCFG_CACHE="$ENVCFG_CACHE_BASE-${SLURMD_NODENAME:-local}"
if [ ! -d "$ENVCFG_CACHE" ]; then mkdir -m 700 -- "$ENVCFG_CACHE" 2>/dev/null || :; fi
envcfg_folders "$ENVCFG_CACHE"
