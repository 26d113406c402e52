# What each rank begins with: which Python an image has, and who says that it has none.
for envcfg_python in python3 python; do
  if command -v "$envcfg_python" >/dev/null 2>&1; then exec "$envcfg_python" -c "$@"; fi
done
read -r envcfg_host </proc/sys/kernel/hostname
printf 'envcfg-rank %s %s lacks no Python\n' "$RANK" "${SLURMD_NODENAME:-$envcfg_host}"
