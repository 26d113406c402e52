# shellcheck shell=bash

# --- Run it; where the end is near, save and go on in another start -----------------

envcfg_job() { # SIGNAL START...: start the step; the scheduler's warning goes to every rank
  local envcfg_code=0
  "${@:2}" || envcfg_code=$?
  if [[ " ${ENVCFG_CAUGHT-}" != *" $1 "* ]]; then return "$envcfg_code"; fi
  if ((envcfg_code != 0)); then
    printf 'envcfg: error: warned by %s, the program ended with %s: no other start\n' "$1" "$envcfg_code" >&2
    printf '  hint: it must catch the signal, save, and exit with 0\n' >&2
    return "$envcfg_code"
  fi
  printf 'envcfg: note: warned by %s, the program has stopped; the job starts again\n' "$1" >&2
  if [[ $(trap -p EXIT) == *envcfg_end* ]]; then
    trap - EXIT # it would do the same, while the scheduler ends this start
    envcfg_end
  fi
  scontrol requeue "$SLURM_JOB_ID"
}
