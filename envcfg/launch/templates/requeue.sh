# shellcheck shell=bash

# --- Run it; where the end is near, save and go on in another start -----------------

envcfg_job() { # SIGNAL START...: start the step; the scheduler's warning goes to every rank
  local envcfg_pid envcfg_warned='' envcfg_caught envcfg_code='' envcfg_later
  # shellcheck disable=SC2064 # the signal's name is meant to be written in now
  trap "envcfg_caught=yes envcfg_warned=yes; kill -s $1 \"\$envcfg_pid\" 2>/dev/null || :" "$1"
  "${@:2}" &
  envcfg_pid=$!
  while :; do # a signal cuts the wait short
    envcfg_caught='' envcfg_later=0
    wait "$envcfg_pid" || envcfg_later=$?
    if [[ $envcfg_later != 127 || -z $envcfg_code ]]; then envcfg_code=$envcfg_later; fi # 127: had it already
    if [[ -z $envcfg_caught ]]; then break; fi
  done
  trap - "$1"
  if [[ -z $envcfg_warned ]]; then return "$envcfg_code"; fi
  if ((envcfg_code != 0)); then
    printf 'envcfg: error: warned by %s, the program ended with %s: no other start\n' "$1" "$envcfg_code" >&2
    printf '  hint: it must catch the signal, save, and exit with 0\n' >&2
    return "$envcfg_code"
  fi
  printf 'envcfg: note: warned by %s, the program has stopped; the job starts again\n' "$1" >&2
  if declare -F envcfg_end >/dev/null; then
    trap - EXIT # it would do the same, while the scheduler ends this start
    envcfg_end
  fi
  scontrol requeue "$SLURM_JOB_ID"
}
