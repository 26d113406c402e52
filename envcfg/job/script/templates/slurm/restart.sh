# shellcheck shell=bash

# --- If the step fails, start again, unless check-log knows that this does not help ---

envcfg_restart() { # MOST LIST START...: run START; if it fails, the job starts again, MOST times at most, without LIST
  local envcfg_code=0 envcfg_said='' envcfg_nodes='' envcfg_try=${SLURM_RESTART_COUNT-}
  "${@:3}" || envcfg_code=$?
  # A signal is the scheduler's, or of whoever cancels the job.
  if ((envcfg_code == 0)) || [[ -n ${ENVCFG_CAUGHT-} ]]; then return "$envcfg_code"; fi
  if [[ $envcfg_try =~ ^[0-9]{1,9}$ ]] && ((10#$envcfg_try >= $1)); then
    printf 'envcfg: error: the step ended with %s, and the job has started again %s times: no other start\n' \
      "$envcfg_code" "$envcfg_try" >&2
    return "$envcfg_code"
  fi
  # --requeue=N requests a restart if the cause is unknown.
  envcfg_said=$(envcfg_next --no-default all ${2:+--exclude-from "$2"})
  if [[ $envcfg_said =~ ^(done|fix\ first|wait):\  ]]; then
    printf 'envcfg: error: no other start: %s\n' "$envcfg_said" >&2
    return "$envcfg_code"
  fi
  if [[ $envcfg_said =~ ^restart\ without\ ([A-Za-z0-9][][A-Za-z0-9_.,-]*):\  ]]; then envcfg_nodes=${BASH_REMATCH[1]}; fi
  printf 'envcfg: note: the step ended with %s; the job starts again%s\n' \
    "$envcfg_code" "${envcfg_nodes:+ without $envcfg_nodes}" >&2
  if [[ $(trap -p EXIT) == *envcfg_end* ]]; then
    trap - EXIT # it would do the same, while the scheduler ends this start
    envcfg_end
  fi
  if [[ -z $envcfg_nodes ]]; then
    scontrol requeue "$SLURM_JOB_ID"
    return
  fi
  trap : TERM # by which the scheduler ends this start; only a job that waits takes other nodes
  envcfg_said=$(scontrol show job "$SLURM_JOB_ID") || :
  if [[ $envcfg_said =~ ExcNodeList=([^[:space:]\(]+) ]]; then envcfg_nodes=${BASH_REMATCH[1]},$envcfg_nodes; fi
  scontrol requeue "$SLURM_JOB_ID" || return
  for ((envcfg_try = 0; envcfg_try < 8; envcfg_try++)); do
    if scontrol update JobId="$SLURM_JOB_ID" ExcNodeList="$envcfg_nodes" 2>/dev/null; then return "$envcfg_code"; fi
    sleep 0.5
  done
  printf 'envcfg: warning: the scheduler did not take that %s be left out\n' "$envcfg_nodes" >&2
  return "$envcfg_code"
}
