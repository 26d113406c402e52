# shellcheck shell=bash

# --- Run it; where the end is near, save and go on in another start -----------------

envcfg_next() { # OPTION...: what check-log advises by the job's own output, whatever its name; empty if it cannot be asked
  if [[ -f /proc/$$/fd/1 ]] && command -v envcfg >/dev/null; then
    envcfg check-log --next --unknown restart "$@" "/proc/$$/fd/1" 2>/dev/null || :
  fi
}

envcfg_job() { # SIGNAL START...: start the step; the scheduler's warning goes to every rank
  local envcfg_code=0 envcfg_said=''
  "${@:2}" || envcfg_code=$?
  if [[ " ${ENVCFG_CAUGHT-}" != *" $1 "* ]]; then return "$envcfg_code"; fi
  if ((envcfg_code != 0)); then
    printf 'envcfg: error: warned by %s, the program ended with %s: no other start\n' "$1" "$envcfg_code" >&2
    printf '  hint: it must catch the signal, save, and exit with 0\n' >&2
    return "$envcfg_code"
  fi
  printf 'envcfg: note: warned by %s, the program has stopped\n' "$1" >&2
  envcfg_said=$(envcfg_next --no-default all)
  if [[ $envcfg_said =~ ^fix\ first:\  ]]; then # such as the limit twice at the same step
    printf 'envcfg: error: no other start: %s\n' "$envcfg_said" >&2
    return 1
  fi
  printf 'envcfg: note: the job starts again\n' >&2
  if [[ $(trap -p EXIT) == *envcfg_end* ]]; then
    trap - EXIT # it would do the same, while the scheduler ends this start
    envcfg_end
  fi
  scontrol requeue "$SLURM_JOB_ID"
}
