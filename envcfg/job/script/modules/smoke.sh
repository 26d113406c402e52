# shellcheck shell=bash # smoke 3: count the GPUs of each node before any rank starts
# needs: before; adds: READY=envcfg_smoke; reads: ENVCFG_GPUS ENVCFG_RANKS
envcfg_smoke() { # count the GPUs that answer on each node; a node that lacks one ends the step
  local envcfg_wanted envcfg_code=0
  envcfg_wanted=$(envcfg_gpus)
  envcfg_wanted=${envcfg_wanted:-${ENVCFG_GPUS:-$ENVCFG_RANKS}}
  if [[ -z $envcfg_wanted || $envcfg_wanted == 0 ]]; then
    envcfg_error 'how many GPUs should each node have? neither the job nor the profile says' 'ask for GPUs, or leave out --smoke-test'
    return 4
  fi
  envcfg_before envcfg_host bash -c "$ENVCFG_SMOKE" envcfg-smoke "$envcfg_wanted" || envcfg_code=$?
  if [[ -n $ENVCFG_CAUGHT ]]; then # a signal ended it, and ends the step
    envcfg_wait
    return
  elif ((envcfg_code == 0)); then
    return
  fi
  envcfg_error 'the smoke test has failed, and no rank was started' \
    'start again without the nodes that are named above: sbatch --exclude=NODE'
  return 4
}

IFS= builtin read -r -d '' ENVCFG_SMOKE <<'ENVCFG_TEXT' || builtin :
# On each node, outside the container: do as many GPUs answer as the job should have?
read -r envcfg_node </proc/sys/kernel/hostname
PATH=$PATH:/opt/rocm/bin
envcfg_count=0
if type -P nvidia-smi >/dev/null; then
  envcfg_tool=(nvidia-smi --list-gpus) # GPU 0: NVIDIA A100-SXM4-40GB (UUID: ...)
  envcfg_sign='GPU [0-9]*: *(UUID: *'
elif type -P rocm-smi >/dev/null; then
  envcfg_tool=(rocm-smi --showuniqueid) # GPU[0]		: Unique ID: 0x...
  envcfg_sign='GPU\[[0-9]*\]*: Unique ID:*'
else
  printf 'envcfg: error: %s: neither nvidia-smi nor rocm-smi is there to count GPUs\n' "$envcfg_node" >&2
  exit 1
fi
envcfg_said=$(timeout -k 5 60 "${envcfg_tool[@]}" 2>&1) # a lost GPU can make it wait for ever
envcfg_code=$?
while IFS= read -r envcfg_line; do
  # shellcheck disable=SC2254 # a pattern
  case $envcfg_line in $envcfg_sign) envcfg_count=$((envcfg_count + 1)) ;; esac
done <<<"$envcfg_said"
if ((envcfg_code == 0 && envcfg_count >= $1)); then exit 0; fi
printf 'envcfg: error: %s: %d of %d GPUs answer (%s, exit code %d)\n' \
  "$envcfg_node" "$envcfg_count" "$1" "${envcfg_tool[0]}" "$envcfg_code" >&2
while IFS= read -r envcfg_line; do # what it says besides the GPUs
  # shellcheck disable=SC2254
  case $envcfg_line in $envcfg_sign | '' | ==*) ;; *) printf '  %s\n' "$envcfg_line" >&2 ;; esac
done <<<"$envcfg_said"
exit 1
ENVCFG_TEXT
